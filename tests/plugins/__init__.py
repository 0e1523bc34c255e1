"""Plugins as their authors ship them: real distributions, good and broken, installed beside the host.

broken/ holds one distribution per mistake, good/ the one that docs/plugins.md writes; `installing` makes wheels of them
and installs these into a folder of their own, and `driver` is what runs there, in a process of its own.
"""
