"""NodeResourcesFit: does the Pod fit on the node, and how empty would the node stay.

May touch: koordpy_api and what the hooks are given. Never: the host, the cluster, another plugin.
"""
