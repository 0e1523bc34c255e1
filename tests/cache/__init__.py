"""What the scheduler believes: the states of a pod drawn in cache.py, ghosts, snapshots, and what listeners hear."""
