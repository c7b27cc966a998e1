"""Writes what the code knows about itself as Markdown: each function of `MADE` takes the place of a mark.

`<!-- made: NAME -->` in a document is such a mark. Nothing of this is copied by hand: commands come from the
command line, keys from the registry, columns and results from the documentation of their Rust types.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import airpath
from airpath import _core, errors
from airpath.cli.main import COMMANDS, load_command
from airpath.report.catalogue import component_name
from airpath.scenario import bundled
from website.models import has_engine
from website.pages import ROOT, PageError

CORE = ROOT / "crates/core/src"
MARK = re.compile(r"^<!-- made: (\S+) -->$", re.MULTILINE)
FOLDERS = {
    "": "The scenario",
    "tcp.cc": "Congestion control",
    "tcp.recovery": "Loss recovery",
    "tcp.undo": "Detection of spurious recoveries",
    "app": "Applications",
    "controller": "Rate controllers of calls",
    "queue": "Queues",
    "middlebox": "Boxes",
    "radio": "Cells",
    "rlc": "Link layers",
    "channel": "Channels",
    "fading": "Fading",
    "scheduler": "Schedulers",
    "multipath.scheduler": "Schedulers of paths",
}
"""Folders of components, in the order of the page."""
SCENARIO_PARTS = ("scenario", "flow", "tcp", "wired", "umts")
KINDS = {
    "60 ms": "time",
    "384 kbit/s": "rate",
    "64 kB": "size",
    "10 %": "share",
    "35 Hz": "frequency",
    "2.4 dB": "level",
}
"""What values are, by the example that the registry gives."""


def filled(text: str) -> str:
    """Fill the marks of a document.

    Raises
    ------
    PageError
        If a mark names what there is not.
    """

    def fill(mark: re.Match[str]) -> str:
        if mark[1] not in MADE:
            raise PageError(f"there is nothing made of the name {mark[1]}")
        return "\n".join(MADE[mark[1]]())

    return MARK.sub(fill, text)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Write a table."""
    heads = list(heads)
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        # A bar within code separates no cells.
        cells = (re.sub(r"(`[^`]*`)|\|", lambda bar: bar[1] or r"\|", cell) for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _line(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def command_line() -> Iterator[str]:
    """List every command with its arguments and options, from the commands themselves."""
    for name in COMMANDS:
        command = load_command(name)
        context = command.make_context(name, [], resilient_parsing=True)
        yield f"## airpath {name}\n"
        yield f"{command.help}\n".replace("\b", "")
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"```text\nairpath {name} {usage}\n```\n"
        records = [param.get_help_record(context) for param in command.params]
        rows = [(_code(_line(what)), _line(means)) for what, means in filter(None, records)]
        yield from table(("", "meaning"), rows)


def scenario() -> Iterator[str]:
    """List every key of a scenario, from the registry."""
    components = json.loads(_core.registry())
    for folder, title in FOLDERS.items():
        yield f"## {title}\n"
        of_folder = [component for component in components if component["folder"] == folder]
        for component in of_folder:
            yield f"### {component_name(component)}\n"
            yield f"{_line(component['description'])}\n"
            rows = [
                (
                    _code(known["name"]),
                    _kind(known, components),
                    _default(known["default"]),
                    _meaning(known),
                )
                for known in component["parameters"]
                # Nested tables have a section of their own.
                if component["name"] not in ("scenario", "flow")
                or known["name"].split(".")[0] not in SCENARIO_PARTS
            ]
            if rows:
                yield from table(("key", "value", "default", "meaning"), rows)
    listed = {component["folder"] for component in components}
    if unknown := listed - set(FOLDERS):
        raise PageError(f"the page of scenarios has no title for {', '.join(unknown)}")


def _kind(known: dict[str, Any], components: list[dict[str, Any]]) -> str:
    """Say what a key may be."""
    said = str(known["type"])
    choices = set(re.findall(r"\{ (\w+) \}", said))
    for folder, title in FOLDERS.items():
        if choices and choices == {each["name"] for each in components if each["folder"] == folder}:
            return f"{'list of ' if said.startswith('list') else ''}[{folder}](#{_anchor(title)})"
    example = re.fullmatch(r'such as "(.*)"', said)
    if example and example[1] in KINDS:
        return f"{KINDS[example[1]]}, such as `{example[1]}`"
    return re.sub(r"\{.*?\}|\w*\"[^\"]*\"", lambda part: _code(part[0].strip('"')), said)


def _meaning(known: dict[str, Any]) -> str:
    """Say what a key means, and each of the words that it may be."""
    words = _words().get(tuple(re.findall(r'"([^"]*)"', str(known["type"]))), {})
    return "".join([_line(known["description"]), *(f"<br>`{word}`: {said}." for word, said in words.items())])


@cache
def _words() -> dict[tuple[str, ...], dict[str, str]]:
    """Words that a key may be, with what each means; none where two keys give them other meanings."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    twice = set()
    for known in json.loads(_core.schema())["$defs"].values():
        choices = known.get("oneOf", [])
        if all(isinstance(choice.get("const"), str) and "description" in choice for choice in choices):
            means = {choice["const"]: _line(choice["description"]).rstrip(".") for choice in choices}
            if found.setdefault(tuple(means), means) != means:
                twice.add(tuple(means))
    return {words: means for words, means in found.items() if words not in twice}


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _default(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        # The component by its name: its own defaults are in its section.
        name = next(iter(value), "")
        return _code(
            name if len(value) == 1 and isinstance(value[name], dict) else "{ ... }" if value else "{}"
        )
    return _code(value if isinstance(value, str) else json.dumps(value))


def trace() -> Iterator[str]:
    """List every kind of event with its columns, from the core's schema of events."""
    for kind in json.loads(_core.trace_schema()):
        yield f"## {kind['name']}\n\n{_line(kind['meaning'])}\n"
        rows = [(_code(column["name"]), column["unit"], _column(column)) for column in kind["columns"]]
        yield from table(("column", "unit", "meaning"), rows)


def _column(column: dict[str, Any]) -> str:
    """Say what a column means, and each of its words."""
    words = "".join(f"<br>`{word['word']}`: {_line(word['meaning'])}" for word in column["words"])
    return _line(column["meaning"]) + words


FIELD = re.compile(r"((?: *///.*\n)+)(?: *#\[.*\]\n)* *(?:pub )?(\w+):(?: ([\w:<>&' ]+),)?")


def _docs(lines: str) -> str:
    return (
        _line(re.sub(r"^\s*/// ?", "", lines, flags=re.MULTILINE))
        .replace(r"\[", "[")
        .replace(r"\]", "]")
        .replace("`None`", "`null`")
    )


def results() -> Iterator[str]:
    """List the keys of `results.json`: of runs and flows from their Rust types, of elements from runs."""
    yield "## The run\n"
    yield from table(("key", "meaning"), _fields(CORE / "sim.rs", "Results", ""))
    yield "## A flow\n"
    yield from table(("key", "meaning"), _fields(CORE / "host/report.rs", "FlowReport", ""))
    yield "## Elements\n"
    yield "What each element of a path may have counted, in the bundled scenarios.\n"
    found: dict[str, dict[str, None]] = {}
    for name in bundled():
        summary = airpath.run(airpath.load(name).with_("duration", "3 s"), probes=()).summary
        for element in summary["elements"]:
            found.setdefault(element["element"], {}).update(dict.fromkeys(paths(element)))
    for element in sorted(found):
        yield f"### {element}\n"
        yield ", ".join(_code(path) for path in found[element] if path != "element") + "\n"


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Find the keys of results, with dots between."""
    if isinstance(value, dict) and value:
        for key, inside in value.items():
            yield from paths(inside, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inside in value:
            yield from paths(inside, f"{path}[]")
    else:
        yield path


def _fields(file: Path, struct: str, path: str) -> Iterator[tuple[str, str]]:
    """Fields of a Rust type and of those within, with what their documentation says."""
    text = file.read_text(encoding="utf-8")
    body = re.search(rf"struct {struct}(?:<.*?>)? \{{\n(.*?)\n\}}", text, re.DOTALL)
    if body is None:
        raise PageError(f"{file.relative_to(ROOT)}: no struct {struct}")
    for field in FIELD.finditer(body[1]):
        if "serde(skip)]" in field[0]:
            continue
        flat = "serde(flatten)" in field[0]
        name = f"{path}{field[2]}"
        inner = re.sub(r"^(?:Option|Vec)<(.*)>$", r"\1", (field[3] or "").strip())
        within = _source(inner, file, text)
        if within is None or inner == "FlowReport":
            yield _code(name), _docs(field[1])
            continue
        if not flat:
            yield _code(name), _docs(field[1])
        yield from _fields(*within, path if flat else f"{name}.")


def _source(name: str, file: Path, text: str) -> tuple[Path, str] | None:
    """Find where a type of the core is declared that results are made of; None of other types."""
    *modules, struct = name.split("::")
    used = re.search(
        rf"^use ([\w:]+)::(?:\{{[^}}]*)?\b(\w+)(?: as {struct})\b|^use ([\w:]+)::[^;]*\b{struct}\b",
        text,
        re.M,
    )
    if used and not modules:
        modules, struct = (used[1] or used[3]).split("::"), used[2] or struct
    declared = [there for there in _sources() if f"pub struct {struct} {{" in _sources()[there]]

    def nearness(there: Path) -> tuple[int, bool, bool]:
        parts = there.relative_to(CORE).with_suffix("").parts
        around = {*modules, *file.relative_to(CORE).with_suffix("").parts}
        return len(set(parts) & around), there == file, parts[-1] == struct.lower()

    return (max(declared, key=nearness), struct) if declared else None


@cache
def _sources() -> dict[Path, str]:
    return {file: file.read_text(encoding="utf-8") for file in sorted(CORE.rglob("*.rs"))}


def requirements() -> Iterator[str]:
    """List what airpath needs, from the files that say so to pip and cargo."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    rows = [
        ("Python", project["requires-python"]),
        ("with it", ", ".join(project["dependencies"])),
        ("Rust, to build", f">={cargo['workspace']['package']['rust-version']}"),
    ]
    extras = project["optional-dependencies"].items()
    rows += [(f"`airpath[{name}]`", ", ".join(wants)) for name, wants in extras if name != "dev"]
    yield from table(("", ""), rows)


def python() -> Iterator[str]:
    """List what `import airpath` offers, for mkdocstrings to write."""
    # The page of errors has these.
    places = {
        name: f"{module}.{name}" for name, module in airpath._MODULES.items() if not name.endswith("Error")
    }
    for name, place in {**places, **{package: package for package in airpath._PACKAGES}}.items():
        yield f"::: airpath.{place}\n    options:\n      heading: airpath.{name}\n      toc_label: {name}\n"
        if name == "Net":  # What it inherits is Rust, which mkdocstrings does not read.
            inherited = {name: inspect.getdoc(part) or "" for name, part in vars(_core.Net).items()}
            rows = [
                (_code(name), _line(said)) for name, said in inherited.items() if not name.startswith("_")
            ]
            yield from table(("of a `Net`", "meaning"), rows)
    # `import airpath` does not import it: it requires an extra.
    for name in ("gym", "gym.Environment"):
        yield f"::: airpath.{name}\n    options:\n      heading: airpath.{name}\n      toc_label: {name}"
        yield "      members: false\n" if name == "gym" else ""


def examples() -> Iterator[str]:
    """Show the examples in Python, in the order of the list of them."""
    folder = ROOT / "examples"
    for name in dict.fromkeys(
        re.findall(r"\((\w+\.(?:py|toml))\)", (folder / "README.md").read_text(encoding="utf-8"))
    ):
        language = "python" if name.endswith(".py") else "toml"
        yield f"## {name}\n\n```{language}\n{(folder / name).read_text(encoding='utf-8')}```\n"


def playground() -> Iterator[str]:
    """Lead to the playground where it was built, else to a run that was recorded."""
    if has_engine():
        yield "**[Open the playground](playground/index.html)**, or"
        yield "**[have a capture explained](playground/capture.html)**."
    else:
        yield "This site was made without the simulator in it, which needs Rust's target"
        yield "`wasm32-unknown-unknown`."
        yield "A recorded run has the same plots and the same path in motion:"
        yield "[one of `umts-384`](start/two-minutes/2.html)."


def error_classes() -> Iterator[str]:
    """List the errors, from their classes."""
    classes = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    yield from table(
        ("error", "when"),
        (
            (_code(f"airpath.{kind.__name__}"), _line((kind.__doc__ or "").split("\n\n")[0]))
            for kind in classes
        ),
    )


MADE: dict[str, Callable[[], Iterator[str]]] = {
    "command-line": command_line,
    "scenario": scenario,
    "playground": playground,
    "python": python,
    "trace": trace,
    "requirements": requirements,
    "results": results,
    "errors": error_classes,
    "examples": examples,
}
"""What takes the place of a mark, by its name."""
