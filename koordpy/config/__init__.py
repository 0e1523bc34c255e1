"""The user's wishes: a KubeSchedulerConfiguration file, the default profile, and what both come to.

Lives here: the models of the YAML, the loader that says file, line and path of every mistake, the default profile, the
expansion to one ResolvedProfile per schedulerName.
May touch: files that it is told to read.
Never: the cluster, plugins' code; a plugin's name is only a string here.
"""
