"""What the scheduler believes of nodes and assigned pods, each node as a value and all of them as columns.

May touch: its own maps; the listeners it was given.
Never: the cluster, plugins by name, the queue. Everything happens between cycles on the one event loop, so there are
no locks.
"""
