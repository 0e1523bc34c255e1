"""The configuration file: what is read, what is refused with file, line, path and value, and what may not start."""
