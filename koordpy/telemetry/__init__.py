"""What koordpy says about itself: metrics, logs, the problems it met, and the small server that shows them.

May touch: counters, the log, its own server thread.
Never: scheduling decisions; nothing here may raise into the cycle. prometheus_client enters by metrics.py only.
"""
