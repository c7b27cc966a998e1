"""The simulator as WebAssembly: it imports nothing, and gives the same octets as the extension module."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

import airpath
from airpath import _core
from airpath.scenario import bundled

wasmtime = pytest.importorskip("wasmtime")

TEXT, LIST = 0, 1
MOST_GZIP_BYTES = 1_600_000


class Engine:
    """An instance: arguments and answers are text, octets and JSON."""

    def __init__(self, file: str) -> None:
        engine = wasmtime.Engine()
        module = wasmtime.Module.from_file(engine, file)
        self.imports = list(module.imports)
        self.store = wasmtime.Store(engine)
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)

    def call(self, name: str, *numbers: float, text: bytes | str = b"", items: Any = ()) -> Any:
        memory = self.exports["memory"]
        for which, value in (TEXT, text), (LIST, json.dumps(items)):
            octets = value if isinstance(value, bytes) else value.encode()
            memory.write(self.store, octets, self.exports["input"](self.store, which, len(octets)))
        return self.exports[name](self.store, *numbers)

    def answer(self) -> bytes:
        at = self.exports["answer"](self.store)
        return bytes(self.exports["memory"].read(self.store, at, at + self.exports["answer_len"](self.store)))


@pytest.fixture(scope="module")
def engine(wasm) -> Iterator[Engine]:
    yield Engine(str(wasm))


@pytest.mark.slow
def test_it_imports_nothing(engine):
    assert engine.imports == []


@pytest.mark.slow
def test_it_is_small_enough_to_be_loaded(wasm):
    assert len(gzip.compress(wasm.read_bytes())) < MOST_GZIP_BYTES


@pytest.mark.slow
def test_it_knows_version_streams_and_bundled_scenarios(engine):
    engine.call("about")
    told = {"airpath": _core.version(), "rng": _core.RNG_VERSION, "scenarios": _core.bundled()}
    assert json.loads(engine.answer()) == told


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled())
def test_same_seed_same_octets_as_native(engine, name):
    text, seed, probes = airpath.load(name).text, 7, list(_core.probes())
    assert engine.call("resolve", text=_core.bundled()[name]) == 0
    assert json.loads(engine.answer())["scenario"] == text
    answer = json.loads(engine.answer())
    assert (answer["path"], answer["edges"]) == _core.path(text)
    native = _core.Simulation(text, seed, probes)
    assert engine.call("start", seed, 0, text=text, items=probes) == 0
    is_over, events = False, 0
    while not is_over:
        is_over = native.advance(10.0)
        assert engine.call("advance", 10.0) == is_over
        events += native.recorded
        assert engine.call("recorded") == native.recorded
        assert (engine.call("now_s"), engine.call("progress")) == (native.now_s, native.progress)
        engine.call("take_chunk")
        assert engine.answer() == native.take_chunk()[0]
    assert events > 1000
    engine.call("results")
    assert engine.answer().decode() == native.results()


@pytest.mark.slow
def test_the_same_errors(engine):
    text = _core.bundled()["umts-384"]
    for changes in (
        [("radio.dch.downlink.rate", "384")],
        [("nothing", "1")],
        [("wired.rate.trace_file.file", "x")],
    ):
        with pytest.raises(airpath.ScenarioError) as raised:
            _core.resolve(text, changes, None, confined=True)
        assert engine.call("resolve", text=text, items=changes) == 1
        error = raised.value
        told = {"path": error.key, "message": error.problem, "hint": error.remedy}
        assert json.loads(engine.answer()) == told
    assert engine.call("start", 1, 0, text=text, items=["nothing"]) == 1
    assert json.loads(engine.answer())["message"] == "there is no probe nothing"
    assert engine.call("resolve", text=b"\xff") == 1
    assert json.loads(engine.answer())["hint"] == "write text in UTF-8"


@pytest.mark.slow
def test_a_capture_is_analysed_as_native(engine, tmp_path):
    file = tmp_path / "capture.pcapng"
    file.write_bytes(airpath.run("umts-384", capture=True, probes=()).capture)
    assert engine.call("analyze", 100, text=file.read_bytes()) == 0
    assert engine.answer().decode() == _core.analyze(file)
    assert engine.call("analyze", 100, text=b"no capture") == 1
    assert json.loads(engine.answer())["path"] == "capture"
