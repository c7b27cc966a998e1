"""Source files that the runs of a paper depend on, so that a change in one paper keeps other papers' runs.

The engine is every module outside the papers' folders that `reproduction` imports, by way of others too,
except the list of papers. A paper is its own folder, and what its modules import from the folders of others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from airpath_studies.papers import PAPERS

FOLDER = Path(__file__).parent
"""Folder of the engine and of every paper."""

_PACKAGE = __name__.rpartition(".")[0]


def sources_of(paper: str) -> list[Path]:
    """List the engine's modules and the modules of the paper with this name, sorted."""
    engine = _reached([FOLDER / "reproduction.py"], papers=False)
    return sorted((engine | _reached((FOLDER / paper).rglob("*.py"), papers=True)) - {FOLDER / "papers.py"})


def _reached(new: Iterable[Path], papers: bool) -> set[Path]:
    """Find what modules import, by way of others too; modules of `papers` only if wanted."""
    found: set[Path] = set()
    wanted = set(new)
    while wanted:
        found |= wanted
        imported = {path for source in wanted for path in imports(source)}
        if not papers:
            imported = {path for path in imported if path.relative_to(FOLDER).parts[0] not in PAPERS}
        wanted = imported - found
    return found


def imports(source: Path) -> Iterator[Path]:
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
