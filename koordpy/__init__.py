"""koordpy: a Kubernetes scheduler host in Python, run beside kube-scheduler for GPU clusters.

The rooms, from the outside in: cli (what a person types), testing (the kit for plugin authors), scheduler (the walk of
one Pod), framework (plugins: find, check, order, call), cache and queue (what the scheduler believes), cluster and
config (the outside world and the user's wishes), telemetry, clock and errors. intree holds the default plugins, which
are found by entry point like any other. A room may import only rooms further in; `.importlinter` holds that.
"""
