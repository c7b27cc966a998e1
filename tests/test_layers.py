"""The order of modules in docs/architecture.md is a rule: a module of the package uses only those above it.

Imports inside of functions and for types alone count too.
"""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
PACKAGE = TOP / "python" / "airpath"


def sources() -> dict[str, Path]:
    """Modules by their names within the package; a package goes by the name of its folder."""
    files = {file.relative_to(PACKAGE).with_suffix(""): file for file in sorted(PACKAGE.rglob("*.py"))}
    return {".".join(part for part in path.parts if part != "__init__"): file for path, file in files.items()}


SOURCES = sources()


def uses(name: str) -> set[str]:
    """The modules that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(SOURCES[name].read_text())):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: imports of the package are absolute"
            found |= {module_of(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {module_of(alias.name) for alias in node.names}
    return found - {None, name}


def module_of(imported: str) -> str | None:
    """The module of the package that holds what is imported; None if it is not of the package or compiled."""
    package, _, path = imported.partition(".")
    if package != "airpath" or path.split(".")[0] == "_core":
        return None
    while path not in SOURCES:
        path = path.rpartition(".")[0]
    return path


def layers() -> list[str]:
    """The layers of docs/architecture.md as prefixes of modules, lower ones first."""
    text = (TOP / "docs" / "architecture.md").read_text()
    table = text.split("### Python")[1].split("## ")[0]
    named = re.findall(r"^\| `([\w/]+)` \|", table, re.MULTILINE)
    return [name.strip("/").replace("/", ".") for name in named]


def rank(name: str) -> int | None:
    """Place of a module's layer; None above all of them: the package itself and its start."""
    if name in ("", "__main__"):
        return len(layers())
    places = [place for place, layer in enumerate(layers()) if f"{name}.".startswith(f"{layer}.")]
    return places[0] if places else None


def test_every_module_has_a_layer():
    without = [name for name in SOURCES if rank(name) is None and SOURCES[name].name != "__init__.py"]
    assert not without


@pytest.mark.parametrize("layer", layers())
def test_a_module_uses_only_layers_above_its_own_in_the_table(layer):
    mine = layers().index(layer)
    wrong = [
        f"{name} uses {used}"
        for name in SOURCES
        if rank(name) == mine
        for used in sorted(uses(name))
        if rank(used) is None or rank(used) > mine
    ]
    assert not wrong


def test_no_modules_use_each_other():
    try:
        TopologicalSorter({name: uses(name) for name in SOURCES}).prepare()
    except CycleError as error:
        pytest.fail(" uses ".join(reversed(error.args[1])))
