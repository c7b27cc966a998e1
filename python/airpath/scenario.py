"""Scenarios: where their text comes from and how values in it are changed.

What a scenario may say is defined, with its defaults, in the Rust core alone; this module finds the
text and hands it over. Errors are `ScenarioError`s with `args` = (key, what is wrong, what would be
right).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from airpath import _core
from airpath.errors import ScenarioError
from airpath.textfile import is_descriptor, read_text

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, repr=False)
class Scenario:
    """A valid scenario; `with_` makes a changed copy.

    Attributes
    ----------
    name : str
        Bundled name, or the file's name without its suffix.
    source : str
        TOML as written.
    overrides : tuple of (str, str)
        Changes on top of `source`: dotted key and TOML value or bare text with a unit.
    folder : Path or None
        Where the files are that the scenario names, such as traces; the current directory if None.
    text : str
        Fully resolved TOML: every default written out, and files replaced by what they hold.

    Raises
    ------
    ScenarioError
        If the core refuses the scenario.
    """

    name: str
    source: str
    overrides: tuple[tuple[str, str], ...] = ()
    folder: Path | None = None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        """Resolve and so validate the text."""
        object.__setattr__(self, "text", _core.resolve(self.source, list(self.overrides), self.folder))

    def with_(self, path: str, value: str | int | float | bool) -> Scenario:
        """Make a copy in which one value is changed.

        Parameters
        ----------
        path : str
            Dotted key, such as ``"radio.dch.downlink.rate"``.
        value : str, int, float or bool
            New value; quantities are text with their unit, such as ``"128 kbit/s"``.

        Raises
        ------
        ScenarioError
            If there is no such key or the value does not suit it.
        """
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return Scenario(self.name, self.source, (*self.overrides, (path, text)), self.folder)

    def __repr__(self) -> str:
        changes = "".join(f", {path}={value}" for path, value in self.overrides)
        return f"Scenario({self.name!r}{changes})"

    def _repr_html_(self) -> str:
        from airpath.notebook import scenario_rows, table

        changed = [(f"changed: {path}", value) for path, value in self.overrides]
        return table(self.name, (), [*scenario_rows(tomllib.loads(self.text)), *changed])


def load(name_or_path: str | Path) -> Scenario:
    """Load a scenario that is bundled with airpath, or a file.

    Files that a scenario names are looked for in the folder of its file; in the current one if the scenario
    comes through a descriptor, such as ``/dev/stdin``.

    Parameters
    ----------
    name_or_path : str or Path
        Bundled name such as ``"umts-384"``, or the path of a TOML file.

    Raises
    ------
    ScenarioError
        If there is no such scenario, it cannot be read, or the core refuses it.
    """
    name = str(name_or_path)
    bundled_file = _folder() / f"{name}.toml"
    path = Path(name_or_path)
    if name in _names():
        return Scenario(name, _read(name, bundled_file))
    if path.suffix != ".toml" and not path.exists():
        known = ", ".join(_names())
        raise ScenarioError(name, "no such scenario", f"write the path of a .toml file, or one of {known}")
    folder = None if is_descriptor(path) else path.parent
    return Scenario(path.stem, _read(name, path), folder=folder)


def bundled() -> dict[str, str]:
    """Names of the bundled scenarios and what each shows (its first comment line)."""
    texts = {name: _read(name, _folder() / f"{name}.toml") for name in _names()}
    return {name: text.splitlines()[0].lstrip("# ") for name, text in texts.items()}


def _folder() -> Traversable:
    return resources.files("airpath") / "scenarios"


def _names() -> list[str]:
    files = (file.name for file in _folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def _read(name: str, file: Path | Traversable) -> str:
    try:
        return read_text(Path(str(file)))
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
        raise ScenarioError(name, message, "a scenario is TOML, a text file in UTF-8") from error
    except OSError as error:
        hint = "check the path, or see 'airpath list' for bundled scenarios"
        raise ScenarioError(name, f"cannot be read: {error.strerror}", hint) from error
