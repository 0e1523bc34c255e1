"""Pods that wait for their turn: active, backing off, unschedulable, gated, in flight.

May touch: its own heaps; the clock, the sort key, the back-off, the gate, the hints and the meter it was given.
Never: the cluster, the cache; of plugins only their hints. Only `pop` awaits. A pod is known by its UID.
From the bottom: pod_info (a pod and its history), heap, backoff, hints, inflight, changes (updates as events), queue.
"""
