"""`airpath page`: the file of a run, what is in it, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import check_error
from programs import needs

import airpath
from airpath import studio
from airpath.errors import ScenarioError
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.runs.recorder import FILES
from airpath.runs.trace import SCHEMA
from airpath.studio import page as pages
from airpath.studio.document import KINDS, module, module_names, modules
from airpath.studio.page import page

SCENARIO, DROPS = "scenario.resolved.toml", "trace/dropped.parquet"
STATIC = Path(pages.__file__).parent / "static"


def unpacked(text: str, of: str) -> bytes:
    """What is in the one block of a kind in a page."""
    (block,) = re.findall(f'data-of="{of}">([^<]*)<', text)
    return zlib.decompress(base64.b64decode(block))


def facts_in(file: Path) -> dict:
    return json.loads(unpacked(file.read_text(), "run"))


def kinds_in(text: str) -> set[str]:
    """Kinds of event in a page."""
    kinds = set()
    for block in re.findall('data-of="events">([^<]*)<', text):
        chunk = zlib.decompress(base64.b64decode(block))
        kinds |= set(json.loads(chunk[4 : 4 + int.from_bytes(chunk[:4], "little")]))
    return kinds


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(run_folder):
    run = run_folder()
    assert page(FinishedRun.open(run)) == page(FinishedRun.open(run))


@pytest.mark.slow
def test_without_its_capture_a_run_has_no_waterfall(run_folder, tmp_path):
    shutil.copytree(run_folder(), tmp_path / "run")
    (row,) = json.loads(unpacked(page(FinishedRun.open(tmp_path / "run")).decode(), "run"))["waterfall"]
    assert row["phases"]["phase"][0] == "handshake"
    capture = tmp_path / "run" / "capture.pcapng"
    capture.write_bytes(b"nothing")
    with pytest.raises(ScenarioError, match="cannot be read"):
        page(FinishedRun.open(tmp_path / "run"))
    capture.unlink()
    assert json.loads(unpacked(page(FinishedRun.open(tmp_path / "run")).decode(), "run"))["waterfall"] == []


def test_a_minute_of_a_bearer_is_a_small_page(page_of):
    assert page_of("umts-384").stat().st_size < 400_000


def test_all_that_a_page_needs_is_in_it(page_of):
    text = page_of("umts-384").read_text()
    scripts = dict(json.loads(unpacked(text, "code")))
    imports = json.loads(scripts["importmap"])["imports"]
    assert {file.stem for file in STATIC.glob("*.js")} | {KINDS} == set(module_names())
    names = {f"studio/{name}" for name in pages.needed(dict(modules()))}
    assert set(imports) == names and "studio/form" not in names and "studio/plots" in names
    for name, address in imports.items():
        code = unquote(address.removeprefix("data:text/javascript,"))
        assert code == module(name.removeprefix("studio/"))
        assert set(re.findall(r'from "(.*?)"', code)) <= names
    for file in ("studio.css", "vendor/uplot/uPlot.min.css"):
        assert (STATIC / file).read_text() in text
    assert scripts["text/javascript"] == (STATIC / "vendor/uplot/uPlot.iife.min.js").read_text()
    licence = (STATIC / "vendor" / "uplot" / "LICENSE").read_text()
    assert licence in text


def test_uplot_is_as_its_authors_made_it():
    origin = (STATIC / "vendor" / "uplot" / "ORIGIN.md").read_text()
    for name in ("uPlot.iife.min.js", "uPlot.min.css"):
        digest = hashlib.sha256((STATIC / "vendor" / "uplot" / name).read_bytes()).hexdigest()
        assert f"| SHA-256 of `{name}` | {digest} |" in origin


def test_a_page_has_no_address_of_another_place(page_of):
    text = page_of("umts-384").read_text()
    assert re.findall(r"(?:src|href|action)=\S+", text.split("<script")[0]) == ['href="data:,">']
    policy = re.findall(r'Content-Security-Policy" content="(.*?)"', text)[0]
    assert policy.startswith("default-src &#x27;none&#x27;") and "unsafe" not in policy
    assert "connect-src" not in policy
    for name, code in modules():
        code = code.replace('"http://www.w3.org/2000/svg"', "")  # A name, which nothing asks.
        assert not re.search(r"https?:|innerHTML|fetch\(|eval\(|XMLHttpRequest", code), name
        # The server's source connects only to the server that the front came from.
        asked = re.findall(r"new WebSocket\(.*?\);", code)
        assert asked == ["new WebSocket(`ws://${location.host}/socket?key=${pageKey()}`);"] * (
            name == "source"
        ), name


def test_no_name_is_markup(run_folder, tmp_path):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    shutil.copytree(run_folder(), tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest | {"scenario": name}))
    text = page(FinishedRun.open(tmp_path / "run")).decode()
    assert "alert(1)</" not in text and "<img" not in text
    assert "<title>&lt;/script&gt;" in text


def test_changes_are_told_as_they_are_set(page_of):
    assert facts_in(page_of("umts-384"))["changes"] == []
    changed = page_of("umts-384", tcp__cc="reno", radio__dch__downlink__rate="128 kbit/s")
    assert set(facts_in(changed)["changes"]) == {
        "radio.dch.downlink.rate=128 kbit/s",
        next(change for change in facts_in(changed)["changes"] if change.startswith("tcp.cc=")),
    }


def test_the_name_of_the_machine_stays_out(page_of):
    assert "host" not in facts_in(page_of("umts-384"))["facts"]


def test_events_without_room_are_left_out_and_named(run_folder, tmp_path):
    run = FinishedRun.open(run_folder())
    whole = page(run)
    there = kinds_in(whole.decode())
    assert there == {kind for kind in run.kinds if run.count(kind)} | {"packet", "rlc_sdu"}
    short = tmp_path / "short.html"
    short.write_bytes(page(run, 25_000))
    left_out = facts_in(short)["left_out"]
    assert "tcp_state" not in left_out and left_out["rlc_data"] > 6000 and left_out["packet"] is None
    assert kinds_in(short.read_text()) == there - left_out.keys()
    assert len(whole) - short.stat().st_size > 60_000


@pytest.mark.slow
def test_packets_are_simulated_again_if_the_run_would_be_the_same(run_folder, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run_folder("umts-64-simple"), folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    results = json.loads((folder / "results.json").read_text())

    def told() -> tuple[str | None, bool]:
        text = page(FinishedRun.open(folder)).decode()
        return json.loads(unpacked(text, "run"))["not_again"], "packet" in kinds_in(text)

    assert told() == (None, True)
    for name, content, change, why in (
        ("manifest.json", manifest, {"airpath": "0.0.1"}, "another version of airpath made the run"),
        ("manifest.json", manifest, {"seed": 2}, "simulated again, the run has other results"),
        ("results.json", results, {"complete": False}, "the run was ended early"),
        ("results.json", results, {"live": {}}, "the run was live"),
    ):
        (folder / name).write_text(json.dumps(content | change))
        assert told() == (why, False)
        (folder / name).write_text(json.dumps(content))
    recorded = tmp_path / "recorded"
    run_to_folder(airpath.load("umts-64-simple"), 1, recorded, probes=["packet"])
    text = page(FinishedRun.open(recorded)).decode()
    assert kinds_in(text) == {"packet"}


def test_every_kind_has_its_place_and_words_of_its_own_only_where_the_schema_says_less():
    from airpath import _core

    assert sorted(pages.BY_NEED) == sorted(_core.probes())
    told = json.loads(module(KINDS).partition("= ")[2].rstrip(";\n"))
    assert list(told) == list(SCHEMA)
    for kind, columns in SCHEMA.items():
        assert list(told[kind]["columns"]) == list(columns)
        words = {word["word"]: word["meaning"] for column in columns.values() for word in column["words"]}
        own = {w: m for column in told[kind]["columns"].values() for w, m in column["words"].items()}
        assert own == words and all(
            meaning.endswith(".") for meaning in [told[kind]["meaning"], *own.values()]
        )
    source = (STATIC / "words.js").read_text()
    by_hand = [
        re.findall(r"^  (\w+): ", source.split(f"const {name} = {{\n")[1].split("\n};")[0], re.MULTILINE)
        for name in ("SHORT", "SENTENCE")
    ]
    assert by_hand[0] == by_hand[1] and len(set(by_hand[0])) == len(by_hand[0]) <= 9
    assert set(by_hand[0]) <= SCHEMA.keys()


@pytest.mark.slow
def test_the_command_writes_a_page(run_folder, airpath_command, tmp_path):
    shutil.copytree(run_folder(), tmp_path / "run")
    file = tmp_path / "run" / "page.html"
    file.unlink(missing_ok=True)
    assert airpath_command("page", tmp_path / "run") == (0, f"{file}\n", "")
    outcome = airpath_command("page", tmp_path / "run")
    check_error(outcome, "--out", "exists already", "--force")
    assert airpath_command("page", tmp_path / "run", "--force").code == 0
    other = tmp_path / "other.html"
    assert airpath_command("page", tmp_path / "run", "--out", other).code == 0
    assert other.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", ["results.json", "trace/tcp_state.parquet"])
def test_a_page_never_takes_the_place_of_a_file_of_the_run(run_folder, airpath_command, name):
    folder = run_folder()
    assert name in FILES
    outcome = airpath_command("page", folder, "--out", folder / name, "--force")
    check_error(outcome, "--out", "is a file of the run itself", "choose another name")


@pytest.mark.parametrize(
    ("spoil", "at", "cause"),
    [
        (lambda run: shutil.rmtree(run), "", "there is no such folder"),
        (lambda run: (run / "manifest.json").unlink(), "", "holds no manifest.json"),
        (lambda run: (run / "results.json").write_text("{"), "results.json", "cannot be read"),
        (
            lambda run: (run / SCENARIO).write_text("x = ["),
            "scenario.resolved.toml",
            "cannot",
        ),
        (
            lambda run: (run / "trace" / "dropped.parquet").write_bytes(b"x"),
            "trace/dropped.parquet",
            "cannot",
        ),
    ],
)
def test_folders_without_a_whole_run_are_refused(run_folder, airpath_command, tmp_path, spoil, at, cause):
    run = tmp_path / "run"
    shutil.copytree(run_folder(), run)
    (run / "page.html").unlink(missing_ok=True)
    spoil(run)
    check_error(airpath_command("page", run), str(run / at), cause, "")
    assert not (run / "page.html").exists()


@needs("git")
def test_every_file_of_the_front_is_shipped():
    """A wheel has the files of the package that git does not ignore."""
    there = sorted(str(file) for file in STATIC.rglob("*") if file.is_file())
    assert len(there) > 20
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", *there], cwd=STATIC, capture_output=True, text=True, check=False
    )
    assert ignored.stdout == "" and ignored.returncode in (1, 128)  # 128: no checkout


def test_modules_of_the_front_use_only_those_listed_before_them():
    text = studio.__doc__ or ""
    listed = re.findall(r"`(\w+)`", text.split("lower to higher:")[1].split("uPlot")[0])
    sources = dict(modules())
    assert sorted(listed) == sorted(sources)
    for place, name in enumerate(listed):
        assert set(re.findall(r'^import .* from "studio/(\w+)"', sources[name], re.M)) <= set(
            listed[:place]
        ), name
