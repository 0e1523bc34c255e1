"""What is wrong, before or without a running scheduler, and how to mend it.

Lives here: the check of files that people write (`koordpy check`), and of a cluster's books (`koordpy fsck`).
May touch: files, koordpy.config, the plugins of a profile by their hook `check`.
Never: any write, a cluster to change, the loop of a running scheduler. A rule about an object belongs to the plugin
that knows; here only file, line and place are added.
"""
