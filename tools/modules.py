"""Which modules use which, read from the code, and pictures of it for docs/architecture.md: `make images`.

A picture has a box for each module, the lowest at the bottom, and a line from a module to each that it uses.
The line from A to C is left out where A uses B and B uses C.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from xml.sax.saxutils import escape

TOP = Path(__file__).resolve().parent.parent
PACKAGE = TOP / "python" / "airpath"
CRATES = TOP / "crates"

Uses = Mapping[str, set[str]]
"""What each module uses."""


def sources() -> dict[str, Path]:
    """Modules of the Python package by their names within it; a package goes by the name of its folder."""
    files = {file.relative_to(PACKAGE).with_suffix(""): file for file in sorted(PACKAGE.rglob("*.py"))}
    return {".".join(part for part in path.parts if part != "__init__"): file for path, file in files.items()}


SOURCES = sources()


@cache
def uses(name: str) -> set[str]:
    """The modules that a Python module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(SOURCES[name].read_text())):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: imports of the package are absolute"
            found |= {module_of(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {module_of(alias.name) for alias in node.names}
    return {used for used in found if used is not None} - {name}


def module_of(imported: str) -> str | None:
    """The module of the package that holds what is imported; None if it is not of the package or compiled."""
    package, _, path = imported.partition(".")
    if package != "airpath" or path.split(".")[0] == "_core":
        return None
    while path not in SOURCES:
        path = path.rpartition(".")[0]
    return path


LAYERS = (
    "errors",
    "studies",
    "files",
    "interrupt",
    "terminal",
    "progress",
    "drawing",
    "notebook",
    "scenario",
    "runs",
    "net",
    "gym",
    "stats",
    "models",
    "captures",
    "recordings",
    "live",
    "runner",
    "experiments.replicate",
    "experiments.paired",
    "experiments.sweep",
    "experiments.difference",
    "experiments.versus_kernel",
    "experiments.scorecard",
    "plots",
    "report",
    "studio",
    "pytest_plugin",
    "cli",
)
"""Layers of the Python package, lower ones first: a module uses only modules of earlier lines.

A name is a module, or a package with all its modules.
"""


def layers() -> list[str]:
    """The layers of Python as prefixes of modules, lower ones first."""
    return list(LAYERS)


def rank(name: str) -> int | None:
    """Place of a module's layer; None above all of them: the package itself and its start."""
    if name in ("", "__main__"):
        return len(layers())
    places = [place for place, layer in enumerate(layers()) if f"{name}.".startswith(f"{layer}.")]
    return places[0] if places else None


def python() -> Uses:
    """The layers of the Python package."""
    named = dict(enumerate(layers()))
    found: dict[str, set[str]] = {layer: set() for layer in named.values()}
    for name in SOURCES:
        if (user := named.get(rank(name))) is not None:
            found[user] |= {named[place] for used in uses(name) if (place := rank(used)) in named} - {user}
    return found


def core() -> Uses:
    """The modules of the core."""
    source = CRATES / "core" / "src"
    names = re.findall(r"^(?:pub )?mod (\w+);", (source / "lib.rs").read_text(), re.MULTILINE)
    found: dict[str, set[str]] = {}
    for name in names:
        files = [source / f"{name}.rs", *sorted((source / name).rglob("*.rs"))]
        own = {file: file.relative_to(source).with_suffix("").parts for file in files if file.exists()}
        kept = [file for file, parts in own.items() if "tests" not in parts]
        code = "\n".join(map(_untested, kept))
        groups = re.findall(r"\bcrate::(\w+|\{[^;]*\});?", code)
        named = {word for group in groups for word in re.findall(r"(?<!:)\b(\w+)", group)}
        found[name] = (named & set(names)) - {name}
    del found["testing"]
    return found


def crates() -> Uses:
    """The crates, and the Python package on top of them."""
    found = {"python": {"py"}}
    for manifest in sorted(CRATES.glob("*/Cargo.toml")):
        text = manifest.read_text().split("[dev-dependencies]")[0]
        found[manifest.parent.name] = set(re.findall(r'path = "\.\./(\w+)"', text))
    return found


def _untested(file: Path) -> str:
    lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("//")]
    return re.split(r"#\[cfg\(test\)\]\nmod \w+ \{", "\n".join(lines))[0]


def without_detours(found: Uses) -> Uses:
    """Leave out what a module uses by way of another, too."""
    reached: dict[str, set[str]] = {}
    kept: dict[str, set[str]] = {}
    for name in TopologicalSorter(found).static_order():
        used = found.get(name, set())
        kept[name] = {each for each in used if not any(each in reached[other] for other in used)}
        reached[name] = used.union(*(reached[other] for other in used))
    return kept


ROW, HEIGHT, LETTER, GAP, MARGIN = 58, 26, 7.4, 34, 12
"""Pixels: between rows, of a box, of a letter, between boxes, around the picture."""


def drawing(found: Uses, title: str) -> str:
    """Draw who uses whom as SVG; nothing in it depends on fonts or on time."""
    lines = without_detours(found)
    rows = _rows(lines)
    width = {name: LETTER * len(name) + 16 for name in lines}
    span = [sum(width[name] for name in row) + GAP * (len(row) - 1) for row in rows]
    total = max(span) + 2 * MARGIN
    place: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        spare = (total - 2 * MARGIN - span[number]) / (len(row) + 1)
        x = MARGIN + spare
        for name in row:
            place[name] = (x + width[name] / 2, MARGIN + ROW * (len(rows) - 1 - number))
            x += width[name] + GAP + spare
    high = ROW * (len(rows) - 1) + HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {high}" width="{total:.0f}" '
        f'font-family="monospace" font-size="12" text-anchor="middle">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{total:.0f}" height="{high}" fill="#fff"/>',
    ]
    for name in sorted(lines):
        x, y = place[name]
        for used in sorted(lines[name]):
            below, top = place[used]
            bend = (top - y - HEIGHT) / 2
            parts.append(
                f'<path d="M{x:.0f} {y + HEIGHT:.0f}C{x:.0f} {y + HEIGHT + bend:.0f} '
                f'{below:.0f} {top - bend:.0f} {below:.0f} {top:.0f}" fill="none" stroke="#7a93ad"/>'
            )
    for name in sorted(lines):
        x, y = place[name]
        parts.append(
            f'<rect x="{x - width[name] / 2:.0f}" y="{y:.0f}" width="{width[name]:.0f}" '
            f'height="{HEIGHT}" rx="4" fill="#eef3f8" stroke="#3b5b7a"/>'
            f'<text x="{x:.0f}" y="{y + 17:.0f}" fill="#1c2b3a">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _rows(lines: Uses) -> list[list[str]]:
    """Modules by level, the lowest first; in a row, each near the middle of what it is joined to."""
    level: dict[str, int] = {}
    for name in TopologicalSorter(lines).static_order():
        level[name] = 1 + max((level[used] for used in lines[name]), default=-1)
    users = {name: {user for user in lines if name in lines[user]} for name in lines}
    # A module moves up to just below its lowest user: shorter lines.
    for name in sorted(lines, key=lambda name: -level[name]):
        if users[name]:
            level[name] = min(level[user] for user in users[name]) - 1
    rows = [sorted(name for name in lines if level[name] == at) for at in range(max(level.values()) + 1)]
    for _ in range(8):
        for neighbours in (lines, users):
            for row in rows if neighbours is lines else reversed(rows):
                at = {name: (row.index(name) + 1) / (len(row) + 1) for row in rows for name in row}
                row.sort(key=lambda name: (_mean(at[each] for each in neighbours[name]) or at[name], name))
    return rows


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


DRAWN = {
    "crates.svg": (crates, "Crates and the Python package"),
    "core.svg": (core, "Modules of the core"),
    "python.svg": (python, "Modules of the Python package"),
}
"""The pictures in docs/images."""


def main() -> None:
    """Draw all pictures."""
    for name, (read, title) in DRAWN.items():
        (TOP / "docs" / "images" / name).write_text(drawing(read(), title), encoding="utf-8")


if __name__ == "__main__":
    main()
