"""What a person types: a file per command. Parse, call, print; no logic.

Exit codes: 0 done, 1 something failed while running, 2 what was asked for cannot be done as it was asked.
"""
