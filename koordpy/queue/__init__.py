"""Pods that wait for their turn: active, backing off, unschedulable, in flight.

May touch: its own heaps; the clock, the sort key and the back-off it was given.
Never: the cluster, plugins, the cache. Only `pop` awaits. A pod is known by its UID.
"""
