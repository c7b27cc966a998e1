"""What is told when a sweep cannot be done."""

from __future__ import annotations


class SweepError(Exception):
    """A sweep's file or folder cannot be used; `args` = (key, what is wrong, what would be right)."""
