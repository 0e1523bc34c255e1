"""Ends the program while it is imported."""

raise SystemExit("no licence")
