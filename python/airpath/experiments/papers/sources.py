"""Source files that the runs of a paper depend on, so that a change in one paper keeps other papers' runs.

The engine is every module outside the papers' folders. A paper is its own folder, and what its modules import
from the folders of other papers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from airpath.experiments.papers import PAPERS

FOLDER = Path(__file__).parent
"""Folder of the engine and of every paper."""

_PACKAGE = __name__.rpartition(".")[0]


def sources_of(paper: str) -> list[Path]:
    """List the engine's modules and the modules of the paper with this name, sorted."""
    engine = [path for path in FOLDER.rglob("*.py") if not _is_of_a_paper(path)]
    found: set[Path] = set()
    new = set((FOLDER / paper).rglob("*.py"))
    while new:
        found |= new
        new = {path for source in new for path in _imports(source) if _is_of_a_paper(path)} - found
    return sorted([*engine, *found])


def _is_of_a_paper(path: Path) -> bool:
    return path.relative_to(FOLDER).parts[0] in PAPERS


def _imports(source: Path) -> Iterator[Path]:
    """Find the files below `FOLDER` that a module imports; a package is its `__init__.py`."""
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            # A name may be a module, too.
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith(f"{_PACKAGE}."):
                path = FOLDER.joinpath(*name.removeprefix(f"{_PACKAGE}.").split("."))
                yield from (
                    file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()
                )
