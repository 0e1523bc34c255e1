"""The default plugins. Found by entry point like anybody's, and allowed to import koordpy_api and nothing of the host.

Each file is one plugin and could move to a distribution of its own. They know nothing of each other. Nobody imports
them.
"""
