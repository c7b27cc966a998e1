"""Scenarios: where their text comes from and how values in it are changed.

What a scenario may say is defined, with its defaults, in the Rust core alone; this module finds the
text and hands it over. Errors are `ScenarioError`s with `args` = (key, what is wrong, what would be
right).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airpath import _core
from airpath.errors import ScenarioError, suggestion
from airpath.files.atomic import is_descriptor
from airpath.files.text import read_text
from airpath.terminal import clean


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
        Fully resolved TOML: every default written out, and files replaced by their contents.

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

    def with_(self, path: str, value: object) -> Scenario:
        """Make a copy in which one value is changed.

        Parameters
        ----------
        path : str
            Dotted key, such as ``"radio.dch.downlink.rate"``.
        value : str, int, float, bool, or a dictionary or list of these
            New value. Quantities are text with their unit, such as ``"128 kbit/s"``; a component is its name,
            such as ``"cubic"``, or a dictionary with its parameters, such as ``{"red": {"ecn": True}}``. One
            that is in use already keeps its other parameters; `path` may end at its name instead, such as
            ``"tcp.cc.cubic"``, to write all of them.

        Raises
        ------
        ScenarioError
            If there is no such key or the value does not suit it.
        """
        try:
            text = value if isinstance(value, str) else inline(value)
        except TypeError as error:
            hint = "write text, a number, True or False, or a dictionary or list of these"
            raise ScenarioError(path, str(error), hint) from error
        return Scenario(self.name, self.source, (*self.overrides, (path, text)), self.folder)

    def __repr__(self) -> str:
        changes = "".join(f", {path}={value}" for path, value in self.overrides)
        return f"Scenario({self.name!r}{changes})"

    def _repr_html_(self) -> str:
        from airpath.notebook import scenario_rows, table

        changed = [(f"changed: {path}", value) for path, value in self.overrides]
        return table(self.name, (), [*scenario_rows(tomllib.loads(self.text)), *changed])


def inline(value: object) -> str:
    """Write a value as TOML on one line.

    Raises
    ------
    TypeError
        If TOML has no such value.
    """
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(str(key))} = {inline(own)}" for key, own in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        # TOML has JSON's escapes, and requires one more.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(inline, value))}]"
    raise TypeError(f"a {type(value).__name__} is no value of a scenario")


def load(name_or_path: str | Path, overrides: Sequence[tuple[str, str]] = ()) -> Scenario:
    """Load a scenario that is bundled with airpath, or a file.

    Files that a scenario names are looked for in the folder of its file; in the current one if the scenario
    comes through a descriptor, such as ``/dev/stdin``.

    Parameters
    ----------
    name_or_path : str or Path
        Bundled name such as ``"umts-384"``, or the path of a TOML file.
    overrides : sequence of (str, str)
        Changes, made before the scenario is checked; see `Scenario`.

    Raises
    ------
    ScenarioError
        If there is no such scenario, it cannot be read, or the core refuses it.
    """
    name, source, folder = read(name_or_path)
    return Scenario(name, source, tuple(overrides), folder)


def read(name_or_path: str | Path) -> tuple[str, str, Path | None]:
    """Read a scenario that may be of use only when it has been changed: its name, its text and its folder."""
    name, path, texts = str(name_or_path), Path(name_or_path), _core.bundled()
    if name in texts:
        return name, texts[name], None
    if path.suffix != ".toml" and not path.exists():
        if path.suffix[1:].isalpha() or path.name != name:
            raise ScenarioError(name, "no such file or folder", "write the path of a .toml file")
        remedy = suggestion(name, texts, "write the path of a .toml file, or one of")
        raise ScenarioError(name, "no such scenario", remedy)
    return clean(path.stem), _read(name, path), None if is_descriptor(path) else path.parent


def bundled() -> dict[str, str]:
    """Names of the bundled scenarios and what each shows (its first comment line)."""
    return {name: text.splitlines()[0].lstrip("# ") for name, text in _core.bundled().items()}


def _read(name: str, file: Path) -> str:
    try:
        return read_text(file)
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
        raise ScenarioError(name, message, "a scenario is TOML, a text file in UTF-8") from error
    except OSError as error:
        hint = "check the path, or see 'airpath list' for bundled scenarios"
        raise ScenarioError(name, f"cannot be read: {error.strerror}", hint) from error
