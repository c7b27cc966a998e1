"""Whatever stands in a file that airpath reads, there is a result or one error that names the file or a key.

Files that airpath wrote are damaged at random, as data (another value at some key) and as text; sweeps are
made of the words of sweeps. Slow tests do so often.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import airpath
from airpath.cli import main as cli
from airpath.errors import AirpathError
from airpath.experiments.sweep.plan import Plan, read_plan
from airpath.experiments.sweep.results import read_results
from airpath.experiments.sweep.run import run_sweep
from airpath.files.text import parse_toml
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page
from airpath.studio.reading import reading
from airpath.studio.sources import Sources
from airpath_studies.lundsten import PAPER

SWEEP = """\
scenario = "umts-64-simple"
metrics = ["goodput_bps", "timeouts"]
runs = 2
set.duration = "3 s"
axes."radio.dch.downlink.channel.bernoulli.bler" = ["0 %", "10 %"]
"""

# Texts, numbers and tables where others belong.
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 50)
    | st.sampled_from([2**63, -(2**63) - 1, 10**400])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(
        ["0 s", "1 ms", "-1 kB", "5 kbit/s", "200 %", "../x", "umts-384", "goodput_bps", "a.b"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def toml(value: Any) -> str:
    """A value as TOML; a null, which it has not, as text."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    # A JSON string is a TOML string, except for one character.
    return json.dumps(str(value) if value is None else value, ensure_ascii=False).replace("\x7f", "\\u007f")


def lines(table: dict[str, Any]) -> str:
    """A table as a file of TOML."""
    return "".join(f"{toml(key)} = {toml(value)}\n" for key, value in table.items())


def places(content: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Where something stands in nested data."""
    items = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, *path, key)


@st.composite
def changed(draw: st.DrawFn, content: Any) -> Any:
    """Make other data of data: at some places another value, nothing, or a further key."""
    content = json.loads(json.dumps(content))
    for _ in range(draw(st.integers(1, 3))):
        if not (there := list(places(content))):
            break
        *path, last = draw(st.sampled_from(there))
        inside = content
        for key in path:
            inside = inside[key]
        match draw(st.integers(0, 3)):
            case 0:
                del inside[last]
            case 1 if isinstance(inside, dict):
                inside[draw(st.text(max_size=3))] = draw(VALUES)
            case _:
                inside[last] = draw(VALUES)
    return content


@st.composite
def spoiled(draw: st.DrawFn, octets: bytes) -> bytes:
    """Replace octets, or end early."""
    content = bytearray(octets)
    for _ in range(draw(st.integers(1, 4))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.sampled_from(b'\0"[]{}9.-eE\\\n\xff,:'))
    return bytes(content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content)


OFTEN = pytest.mark.parametrize("examples", [25, pytest.param(600, marks=pytest.mark.slow)])


def check(examples: int, strategy: st.SearchStrategy[Any], read: Callable[[Any], object]) -> None:
    """Read random input; any error must be a complete airpath error."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def all_examples(drawn: Any) -> None:
        try:
            read(drawn)
        except AirpathError as error:
            assert error.problem and (error.key or error.remedy), repr(error)

    all_examples()


@OFTEN
def test_a_sweep_of_any_words_is_a_plan_or_an_error(examples, tmp_path):
    keys = st.sampled_from(["scenario", "metrics", "runs", "precision", "confidence", "min_runs", "max_runs"])
    keys |= st.sampled_from(["seed", "set", "axes", "together", "list", "random", "latin_hypercube", "x"])
    whole = parse_toml(SWEEP)
    of_keys = st.sampled_from(["tcp.cc", "wired.delay", "points", "seed", "duration", "a", ""])
    ends = st.integers(-2, 5) | st.sampled_from(["1 ms", "5 ms", "5 kB", "x", ".", "1e999 s", "-1e-5 s"])
    ranges = st.fixed_dictionaries(
        {"min": ends, "max": ends}, optional={"scale": st.sampled_from(["log", 5])}
    )
    tables = st.dictionaries(of_keys, VALUES | ranges | st.lists(VALUES, max_size=3), max_size=3)
    entries = st.dictionaries(keys, VALUES | tables | st.lists(tables, max_size=2), max_size=4)
    file = tmp_path / "sweep.toml"

    def read(entries: dict[str, Any]) -> None:
        file.write_text(lines(entries), encoding="utf-8")
        assert isinstance(read_plan(file), Plan)

    check(examples, entries | entries.map(lambda own: whole | own) | changed(whole), read)


@OFTEN
def test_a_sweeps_file_of_any_octets_is_a_plan_or_an_error(examples, tmp_path):
    file = tmp_path / "sweep.toml"

    def read(octets: bytes) -> None:
        file.write_bytes(octets)
        read_plan(file)

    check(examples, st.binary() | spoiled(SWEEP.encode()), read)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Folders as airpath writes them: of a run, a sweep and a reproduction."""
    out = tmp_path_factory.mktemp("written")
    run_to_folder(airpath.load("umts-64-simple").with_("duration", "3 s"), 1, out / "run")
    (out / "sweep.toml").write_text(SWEEP)
    run_sweep(read_plan(out / "sweep.toml"), out / "sweep", 1)
    (out / "paper").mkdir()
    values = [{"place": "table 3", "id": name, "measured": 1.5, "unit": "s"} for name in PAPER.published]
    claim = PAPER.claims[0]
    own = [{"of": quantity.name, "measured": 2.0, "runs": 5} for quantity in claim.quantities]
    claims = [{"place": "text", "id": claim.id, "claim": "so", "verdict": "holds", "measured": own}]
    (out / "paper" / "report.json").write_text(json.dumps(values[:5] + claims))
    return out


def see_run(folder: Path) -> None:
    run = FinishedRun.open(folder)
    list(reading(run))
    page(run)


def see_in_studio(folder: Path) -> None:
    sources = Sources([str(folder)])
    json.dumps([sources.studies, sources.scenarios()])
    sources.open(None)
    for name in [own["name"] for own in sources.scenarios() if own["group"] == "Runs"]:
        sources.scenario(name, [])


def see_sweep(folder: Path) -> None:
    json.dumps(read_results(folder).as_json())


READ = {
    "run/manifest.json": (see_run, see_in_studio),
    "run/results.json": (see_run, see_in_studio),
    "run/scenario.resolved.toml": (see_run, see_in_studio),
    "sweep/manifest.json": (see_sweep, see_in_studio),
    "paper/report.json": (see_in_studio,),
}
COMMANDS = {
    "run": [
        ["predict"],
        ["export", "--format", "mm-link"],
        ["export", "--format", "qlog"],
        ["page", "--force"],
    ],
    "sweep": [["results"], ["plot", "--x", "goodput_bps", "--force"]],
    "paper": [],
}


@pytest.mark.slow
@pytest.mark.parametrize("examples", [10, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READ)
def test_a_damaged_file_is_read_or_refused(name, examples, written, tmp_path):
    file = tmp_path / name
    shutil.copytree((written / name).parent, file.parent)
    before = file.read_bytes()
    is_toml = file.suffix == ".toml"
    data = changed((parse_toml if is_toml else json.loads)(before.decode())).map(
        lines if is_toml else json.dumps
    )

    def read(content: str | bytes) -> None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        errors = []
        for see in READ[name]:
            try:
                see(file.parent)
            except AirpathError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    check(examples, data | spoiled(before), read)


@OFTEN
def test_damaged_runs_of_a_sweep_are_read_or_left_out(examples, written, tmp_path):
    shutil.copytree(written / "sweep", tmp_path / "sweep")
    (file,) = (tmp_path / "sweep" / "runs").iterdir()
    whole = read_results(tmp_path / "sweep").as_json()
    before = file.read_bytes()

    def read(octets: bytes) -> None:
        file.write_bytes(octets)
        results = read_results(tmp_path / "sweep")
        assert results.warnings or results.as_json() == whole

    check(examples, st.binary() | spoiled(before), read)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [5, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name for name in READ if COMMANDS[name.partition("/")[0]]])
def test_commands_end_with_one_line_on_damaged_files(name, examples, written, tmp_path, capsys):
    file = tmp_path / name
    shutil.copytree((written / name).parent, file.parent)
    before = file.read_bytes()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(spoiled(before))
    def all_examples(octets: bytes) -> None:
        file.write_bytes(octets)
        for command, *options in COMMANDS[name.partition("/")[0]]:
            with pytest.raises(SystemExit) as exit_, contextlib.chdir(tmp_path):
                cli.main([command, str(file.parent), *options])
            said = capsys.readouterr().err
            assert exit_.value.code in (None, 0) or exit_.value.code == cli.BAD_INPUT
            assert not exit_.value.code or said.splitlines()[-1].startswith("error: "), said

    all_examples()
