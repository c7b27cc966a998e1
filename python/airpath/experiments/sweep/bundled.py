"""Sweeps that have a name: every experiment of the papers, where `airpath-studies` is installed."""

from __future__ import annotations

from pathlib import Path

from airpath.errors import SweepError
from airpath.experiments.sweep.plan import Written
from airpath.studies import installed, studies

MARK = ":"
"""In the name of every bundled sweep, between the paper and the experiment."""


def bundled() -> dict[str, str]:
    """Names of the bundled sweeps, such as ``chan:figure-11``, and what each shows."""
    sweeps: dict[str, str] = studies("sweeps", "sweeps").sweeps() if installed() else {}
    return sweeps


def find(name_or_path: str) -> Written | Path:
    """Find a sweep: a bundled name such as ``chan:figure-11``, or the path of a TOML file.

    Raises
    ------
    SweepError
        If it is neither.
    """
    # All papers are imported to know their sweeps, which takes longer than to plan one.
    if MARK in name_or_path and installed():
        written: Written | None = studies("sweeps", "sweeps").sweep(name_or_path)
        if written is not None:
            return written
    path = Path(name_or_path)
    if path.suffix != ".toml" and not path.exists():
        known = f"one of {', '.join(bundled())}" if installed() else "install airpath-studies for some"
        raise SweepError(name_or_path, "no such sweep", f"write the path of a .toml file, or {known}")
    return path
