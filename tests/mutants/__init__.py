"""Bugs on purpose: a copy of DeviceShare with one wrong line has to fail its tests. `make mutants`.

Lives here: the bugs (seeds), and what plays them (__main__). May touch: a copy of the plugin in a temporary folder.
Must never: change the plugin itself.
"""
