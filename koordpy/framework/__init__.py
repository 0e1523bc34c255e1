"""Plugins: find them, check them, order them, call them.

Lives here: the registry (entry points), the build (a profile becomes a Framework), the runner (class Framework: one
method per extension point), the merge of bind plans, the Handle that plugins are given.
May touch: plugins, pluggy (in build.py only), entry points.
Never: the cluster, the order of the queue, the clock of the machine. A plugin's exception is caught in runner.py, while
it is constructed in build.py, and nowhere else.
"""
