"""Folders of runs that are damaged: commands end with an error and not with a traceback."""

from __future__ import annotations

import json
import os
import resource
import shutil
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import airpath
from airpath import _core
from airpath.cli import main as cli
from airpath.errors import ScenarioError
from airpath.files.text import misfit
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.runs.trace import WORD_COLUMNS, schema_of

COMMANDS = {
    "results.json": (["predict"], ["export", "--format", "ns2"], ["export", "--format", "mm-link"]),
    "scenario.resolved.toml": (["predict"], ["export", "--format", "ns2"], ["export", "--format", "mm-link"]),
    "manifest.json": (["predict"], ["export", "--format", "csv"]),
    "trace/segment_sent.parquet": (["export", "--format", "ns2"], ["export", "--format", "csv"]),
}
WORDS = [
    "",
    "\0",
    "{",
    "[]",
    "5",
    "null",
    "nan",
    '"',
    "[" * 100_000,
    '{"a":' * 100_000,
    "a = " + "[" * 100_000,
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    run_to_folder(airpath.load("umts-64-simple").with_("duration", "3 s"), 1, out)
    return out


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def check_refused(outcome, file):
    """One line on standard error that names the file or its folder; some output may be written before."""
    assert outcome.code == cli.BAD_INPUT
    assert outcome.err.startswith("error: ") and outcome.err.count("\n") == 1, outcome.err
    assert str(file.parent).removesuffix("/trace") in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_is_missing_or_something_else_is_named(name, folder, airpath_command):
    file = folder / name
    for command, *options in COMMANDS[name]:
        for text in WORDS:
            file.write_text(text)
            outcome = airpath_command(command, folder, *options)
            # An empty file is TOML.
            if (name, text) != ("scenario.resolved.toml", ""):
                assert str(file) in outcome.err
            check_refused(outcome, file)
        file.unlink()
        outcome = airpath_command(command, folder, *options)
        check_refused(outcome, file)
        assert f"holds no {name}" in outcome.err


@pytest.mark.parametrize("key", ["seed", "complete", "simulated_s", "flows", "elements"])
def test_results_with_something_else_under_a_key_are_refused(key, folder, airpath_command):
    file = folder / "results.json"
    summary = json.loads(file.read_text())
    for value in (None, "", 10**400, [5], [[]], {"x": 1}, [{"ue": 0, "flow": True, "direction": ""}]):
        if isinstance(value, list) and key == "elements" and value != [5] and value != [[]]:
            continue
        if key == "seed" and isinstance(value, int):
            continue
        file.write_text(json.dumps({**summary, key: value}))
        check_refused(airpath_command("predict", folder), file)
    file.write_text(json.dumps({name: value for name, value in summary.items() if name != key}))
    outcome = airpath_command("predict", folder)
    check_refused(outcome, file)
    assert f"has no {key}" in outcome.err


@pytest.mark.slow
def test_results_with_something_else_below_a_flow_are_refused_or_read(folder, airpath_command):
    file = folder / "results.json"
    summary = json.loads(file.read_text())
    (flow,) = summary["flows"]
    for key in flow:
        for value in (None, "", -1, 0, 10**400, [], {}, [5]):
            file.write_text(json.dumps({**summary, "flows": [{**flow, key: value}]}))
            outcome = airpath_command("predict", folder)
            if outcome.code:
                check_refused(outcome, file)


@pytest.mark.slow
def test_mutated_text_is_refused_or_read(folder, airpath_command):
    random = Random(1)
    for name in ("results.json", "scenario.resolved.toml", "manifest.json"):
        file = folder / name
        before = file.read_bytes()
        for _ in range(25):
            content = bytearray(before)
            for _ in range(random.randint(1, 4)):
                content[random.randrange(len(content))] = random.choice(b'\0"[]{}09.-eE\\\n\xff,:')
            file.write_bytes(content)
            outcome = airpath_command("predict", folder)
            if outcome.code:
                check_refused(outcome, file)
        file.write_bytes(before)


@pytest.mark.slow
def test_a_trace_with_a_flipped_bit_is_refused_or_says_the_same(folder, airpath_command):
    random, file = Random(2), folder / "trace" / "segment_sent.parquet"
    before = file.read_bytes()
    said = airpath_command("export", folder, "--format", "csv").out
    refused = 0
    for _ in range(25):
        content = bytearray(before)
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        file.write_bytes(content)
        for format_ in ("ns2", "csv"):
            out = folder.parent / "out"
            outcome = airpath_command("export", folder, "--format", format_, "--out", out)
            if outcome.code:
                check_refused(outcome, file)
                assert not out.exists()
                refused += 1
            elif format_ == "csv":
                assert out.read_text().count("\n") == said.count("\n")
            out.unlink(missing_ok=True)
    assert refused > 25


def replaced(table, name, column):
    return table.set_column(table.schema.get_field_index(name), name, column)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns(["time_ns"]), "has no column time_ns"),
        (lambda table: table.drop_columns(["seq"]), "has no column seq"),
        (lambda table: replaced(table, "seq", table["seq"].cast("string")), "column seq holds string"),
        (lambda table: replaced(table, "time_ns", pa.nulls(len(table), "uint64")), "time_ns may lack values"),
        (lambda table: replaced(table, "seq", pa.nulls(len(table), "uint64")), "seq may lack values"),
    ],
)
def test_a_table_that_is_no_trace_is_refused(change, words, folder, airpath_command):
    file = folder / "trace" / "segment_sent.parquet"
    pq.write_table(change(pq.read_table(file)), file)
    outcome = airpath_command("export", folder, "--format", "ns2")
    check_refused(outcome, file)
    assert words in outcome.err


def bomb(file, rows, word):
    """Write a small trace of many rows and one long word."""
    columns = _core.probes()["segment_sent"]
    schema = schema_of(columns)
    numbers = np.zeros(rows, np.uint64)
    words = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [word])
    with pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=True) as writer:
        table = pa.table([words if name in WORD_COLUMNS else numbers for name in schema.names], schema=schema)
        for _ in range(3):
            writer.write_table(table)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "word", "because"),
    [(32, "w" * 50_000_000, "holds 50 MB in 32 rows"), (40_000_000, "new", "more than 200 million numbers")],
)
def test_a_small_trace_that_unfolds_to_much_memory_is_refused(rows, word, because, folder):
    file = folder / "trace" / "segment_sent.parquet"
    bomb(file, rows // 3 + 1 if rows > 1_000 else rows, word)
    assert file.stat().st_size < 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ScenarioError, match=because):
        for _ in FinishedRun.open(folder).events({"segment_sent": _core.probes()["segment_sent"]}):
            pass
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kb < 300_000


@pytest.mark.parametrize("command", [["export", "--format", "ns2"], ["page", "--force"]])
def test_a_column_whose_name_is_not_utf_8_is_refused(command, folder, airpath_command):
    file = folder / "trace" / "segment_sent.parquet"
    octets = file.read_bytes()
    assert b"payload_bytes" in octets
    # In the schemas at its end, once as Parquet's and once as Arrow's.
    file.write_bytes(octets.replace(b"payload_bytes", b"payload\xffbytes"))
    check_refused(airpath_command(command[0], folder, *command[1:]), file)


@pytest.mark.parametrize(
    "words", [["page", "--force"], ["export", "--format", "csv", "--out", "{folder}/loop", "--force"]]
)
def test_links_that_lead_in_a_circle_are_named(words, folder, airpath_command):
    loops = [folder / "loop", folder / "trace" / "segment_sent.parquet"]
    loops[1].unlink()
    for loop in loops:
        loop.symlink_to(loop.name)
    outcome = airpath_command(words[0], folder, *(word.format(folder=folder) for word in words[1:]))
    assert outcome.code == cli.BAD_INPUT
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: ") and str(folder) in line


def test_predict_says_what_is_wrong_with_a_scenario_that_it_cannot_read(folder, airpath_command):
    (folder / "scenario.resolved.toml").write_text("duration =\n")
    outcome = airpath_command("predict", folder)
    check_refused(outcome, folder / "scenario.resolved.toml")
    assert "Error(" not in outcome.err and "not of one run" not in outcome.err


def made_hostile(file, kind):
    """Replace a file by something else."""
    content = file.read_bytes()
    file.unlink()
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "circle":
            file.symlink_to(file.name)
        case "endless":
            file.symlink_to("/dev/zero")
        case "folder":
            file.mkdir()
        case "sparse":
            with file.open("wb") as sparse:
                sparse.truncate(20_000_000_000)
        case "deep":
            file.write_text("[" * 1_000_000)
        case "wide":
            file.write_text("[" + "0," * 6_000_000 + "0]")
        case "types":
            file.write_bytes(content.replace(b": ", b": -").replace(b"= ", b"= -").replace(b"PAR1", b"PAR2"))


@pytest.mark.parametrize(
    "kind",
    [
        *("pipe", "circle", "endless", "folder", "deep", "wide", "types", "missing"),
        pytest.param("sparse", marks=pytest.mark.slow),
    ],
)
def test_overlay_refuses_a_hostile_folder_with_one_line(kind, whole, tmp_path, airpath_command):
    read = ["manifest.json", "results.json", "scenario.resolved.toml", "trace/tcp_state.parquet"]
    for number, name in enumerate(read):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        made_hostile(folder / name, kind)
        outcome = airpath_command("overlay", whole, folder, "--out", tmp_path / f"{number}.svg")
        assert outcome.code in ((0, 2) if "manifest" in name else (2,)), (name, outcome)
        assert outcome.code == 0 or (outcome.err.count("\n"), str(folder) in outcome.err) == (1, True), (
            outcome
        )


@pytest.mark.parametrize("name", ["manifest.json", "results.json", "trace/segment_sent.parquet"])
def test_a_pipe_in_place_of_a_file_is_refused_at_once(name, folder, airpath_command):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    outcome = airpath_command("page", folder, "--force")
    assert outcome.code == cli.BAD_INPUT
    assert outcome.err.startswith("error: ")


def test_a_whole_folder_is_read(whole):
    run = FinishedRun.open(whole)
    assert run.summary["seed"] == run.manifest["seed"] == 1
    assert run.scenario["duration"] == "3 s"
    assert sum(piece.num_rows for kind in run.kinds for piece in run.pieces(kind)) > 100


@pytest.mark.parametrize(
    ("content", "shape", "said"),
    [
        ({"a": 1.5}, {"a": float}, ""),
        ({"a": 1}, {"a": float}, ""),
        ({"a": True}, {"a": int}, "a is true"),
        ({"a": [{"b": 1}, {"b": "x" * 99}]}, {"a": [{"b": int}]}, f'a[1].b is "{"x" * 39}...'),
        ({"a": []}, {"a": [{"b": int}]}, ""),
        ({}, {"a": int}, "it has no a"),
        ([], {"a": int}, "it is []"),
        ({"a": 10**400}, {"a": float}, f"a is 1{'0' * 39}..."),
    ],
)
def test_where_json_differs_from_a_shape_is_said(content, shape, said):
    assert misfit(content, shape) == said
