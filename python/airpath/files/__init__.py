"""Files: written whole or not at all, and read up to a limit."""
