"""The documentation tells the truth: its YAML works, its commands print what it shows, what it names exists."""
