"""Sweeps that come with airpath: the parameter studies of the papers."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from airpath.errors import SweepError


def bundled() -> dict[str, str]:
    """Names of the bundled sweeps and what each shows (its first comment line)."""
    files = {file.stem: file for file in sorted(_folder().glob("*.toml"))}
    return {
        name: file.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") for name, file in files.items()
    }


def find(name_or_path: str) -> Path:
    """Find a sweep's file: a bundled name such as ``chan-buffer``, or the path of a TOML file.

    Raises
    ------
    SweepError
        If it is neither.
    """
    path = Path(name_or_path)
    file = _folder() / f"{name_or_path}.toml"
    if name_or_path == file.stem and file.is_file():
        return file
    if path.suffix != ".toml" and not path.exists():
        remedy = f"write the path of a .toml file, or one of {', '.join(bundled())}"
        raise SweepError(name_or_path, "no such sweep", remedy)
    return path


def _folder() -> Path:
    # A package with an extension module is never imported from an archive: its files are files.
    return Path(str(resources.files("airpath"))) / "sweeps"
