"""Plugins: find them, check them, order them, call them.

In the order of a start: registry finds a plugin by entry point and declaration checks its class; build makes the
plugins of a profile into one Framework, with a handle for them and their registrations. In the order of a Pod: runner
is the class Framework, one method per extension point of points.py; filtering and scoring ask about nodes, one by one
or all at once, and vector puts together what is said of all; calls is how one hook is called and blamed, verdicts what
all answers at a point come to; waiting holds Pods for Permit, plans merges what is written with a bind. examining asks
outside of any attempt; describe says what a person may ask of a plugin.
May touch: plugins, pluggy (in build.py only), entry points, the configuration's catalogue, the cache's columns.
Never: the cluster, the order of the queue, the clock of the machine. A plugin's exception is caught in calls, runner,
filtering, scoring and examining; what comes up before a profile stands becomes a PluginError in registry, declaration,
registrations, build.
"""
