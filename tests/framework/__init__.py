"""The build of a profile and the calls of its plugins.

Plugins are written down in the tests, hook by hook; everything else is real.
"""
