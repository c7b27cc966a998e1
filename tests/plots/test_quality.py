"""Quality of calls, videos and pages: each number is a metric of sweeps and of figures, with its interval."""

import csv
import io
from statistics import fmean

import pytest

import airpath
from airpath.experiments.replicate import simulation_of
from airpath.experiments.sweep.plan import read_plan
from airpath.experiments.sweep.run import run_sweep
from airpath.runs.metrics import named

CALL = "flows.0.call.downlink"
METRICS = (
    *(f"{CALL}.receiver.{name}" for name in ("freezes", "freeze_s", "longest_freeze_s", "frames_late")),
    *(f"{CALL}.receiver.frame_delay_ms.{which}" for which in ("p50", "p95", "mean")),
    *(f"{CALL}.receiver.{name}" for name in ("received_bps", "harmonic_fps")),
    f"{CALL}.sender.target_bps",
    *(f"flows.1.video.{name}" for name in ("startup_s", "stalls", "stall_s", "switches")),
    *(f"flows.1.video.{name}" for name in ("mean_rate_bps", "qoe_linear")),
    *(f"flows.2.web.{name}" for name in ("page_load_s", "blocking_s", "first_byte_s", "connect_s", "tls_s")),
    "flows.2.web.waterfall.*.complete_s",
)
RATE = "radio.dch.downlink.rate"
MEDIA = f"""
scenario = "umts-384"
metrics = {list(METRICS)}
runs = 2
[set]
duration = "20 s"
flow = '''[
    {{ app = {{ call = {{ both_ways = false }} }} }},
    {{ app = {{ adaptive_video = {{}} }} }},
    {{ app = {{ web = {{ http = "3", objects = 2 }} }} }},
]'''
[axes]
"{RATE}" = ["1280 kbit/s", "3200 kbit/s"]
"""


def test_every_number_of_quality_is_drawn_with_its_interval(tmp_path):
    file, out = tmp_path / "media.toml", tmp_path / "out"
    file.write_text(MEDIA)
    plan = read_plan(file)
    assert not run_sweep(plan, out, workers=1).failures
    made = [[simulation_of(point.text)(seed) for seed in (1, 2)] for point in plan.points]
    for metric in METRICS:
        rows = list(csv.DictReader(io.StringIO(airpath.plot_sweep(out, RATE, metric).csv())))
        means = [fmean(map(named(metric), results)) for results in made]
        assert [float(row[metric]) for row in rows] == pytest.approx(means), metric
        assert all(float(row[f"{metric}_lower"]) <= float(row[f"{metric}_upper"]) for row in rows)
        assert {row[f"{metric}_n"] for row in rows} == {"2"}
