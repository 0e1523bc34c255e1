"""Needs a library that is not on this machine."""

raise ImportError("libacme.so.3: cannot open shared object file: No such file or directory")
