"""What-if: why a Pod is where it is, or waits, asked of the real plugins away from the scheduler that decides.

Lives here: a cluster's objects as the plugins of a profile see them (explain), its cards as the annotations of bound
Pods tell them (cards), and both held against each other (recount).
May touch: a cluster, to read it; the framework, a cache of its own.
Never: any write; the loop of a running scheduler, whose own plugins are asked only when it has ended.
"""
