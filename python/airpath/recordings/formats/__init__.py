"""Formats of recordings: each has a function `find_*`, which recognises a file, and a function `read_*`."""
