"""Source files that the runs of a paper depend on, so that a change in one paper keeps other papers' runs.

They are the paper's own modules, and what these and `reproduction` import, by way of others too; the list of
papers is none of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
"""Folder of the engine and of every paper."""

_PACKAGE = __name__.rpartition(".")[0]


def sources_of(paper: str) -> list[Path]:
    """List the modules that the runs of the paper with this name depend on, sorted."""
    found: set[Path] = set()
    wanted = {FOLDER / "reproduction.py", *(FOLDER / paper).rglob("*.py")}
    while wanted:
        found |= wanted
        wanted = {path for source in wanted for path in imports(source)} - found - {FOLDER / "papers.py"}
    return sorted(found)


def imports(source: Path) -> Iterator[Path]:
    """Find the files below `FOLDER` that a module imports; a package is its `__init__.py`."""
    for name in _imported(source.read_bytes()):
        path = FOLDER.joinpath(*name.removeprefix(f"{_PACKAGE}.").split("."))
        yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())


@cache
def _imported(source: bytes) -> tuple[str, ...]:
    """Find what a module imports of this package, by its text."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            # A name may be a module, too.
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += (name for name in names if name.startswith(f"{_PACKAGE}."))
    return tuple(found)
