"""Links of live runs from recordings of other tools, and from fitted models."""

from __future__ import annotations

import gzip
import json
import tomllib

import pytest

from airpath import _core
from airpath.errors import ScenarioError
from airpath.live.link import Direction, Link

MODEL = {"counts": [5.0, 15.0], "time_constants_s": [1.0], "weights": [0.5]}


def resolved(path, **more) -> dict:
    text = Link(Direction(str(path)), Direction("1 Mbit/s"), **more).text()
    return tomllib.loads(_core.resolve(text, [], None))["radio"]["variable"]["downlink"]["channel"]


def test_compressed_opportunities_are_a_trace(tmp_path):
    file = tmp_path / "drive.ms.gz"
    file.write_bytes(gzip.compress(b"1\n3\n3\n"))
    assert resolved(file)["trace_file"]["trace"] == "1\n3\n3\n"
    assert resolved(file, once=True, offset="1 ms")["trace_file"]["once"] is True


def test_rates_of_a_phone_are_a_series_that_repeats(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("time_s,rate_kbps,rsrp_dbm\n0,100,-90\n1,200,-91\n")
    assert resolved(file)["series"]["rows"] == "time_s,rate_kbps\n0,100\n1,200\n"
    assert resolved(file)["series"]["repeat"] == "2 s"
    assert "repeat" not in resolved(file, once=True)["series"]


def test_a_model_is_a_process_without_beginning_and_end(tmp_path):
    file = tmp_path / "drive.json"
    file.write_text(json.dumps(MODEL))
    assert resolved(file)["process"]["model"]["counts"] == [5, 15]
    for wrong, more in (("--once", {"once": True}), ("--trace-offset", {"offset": "1 s"})):
        with pytest.raises(ScenarioError, match=f"{wrong}: --downlink-trace: a process has no beginning"):
            resolved(file, **more)


def test_a_wrong_model_is_refused_with_its_key(tmp_path):
    file = tmp_path / "drive.json"
    file.write_text(json.dumps(MODEL | {"weights": [2.0]}))
    with pytest.raises(ScenarioError, match="weights: are no shares of a whole"):
        resolved(file)
    file.write_text("{")
    with pytest.raises(ScenarioError, match="is no JSON"):
        resolved(file)
