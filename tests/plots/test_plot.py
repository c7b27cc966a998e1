"""Figures of sweeps: the numbers that are drawn, their files, and what is refused."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import matplotlib.image
import pytest
from conftest import check_error

import airpath
from airpath.drawing.style import print_style
from airpath.errors import SweepError
from airpath.experiments.sweep.plan import read_plan
from airpath.experiments.sweep.run import run_sweep
from airpath.experiments.sweep.store import Store
from airpath.plots.sweep.caption import caption_of
from airpath.plots.sweep.quantity import common_unit, metric_unit, quantities, quantity, same, scaled_unit
from airpath.plots.sweep.wording import key_label, metric_label, value_label

RATE = "radio.dch.downlink.rate"
BLER = "radio.dch.downlink.channel.bernoulli.bler"
GRID = f"""
scenario = "umts-384"
metrics = ["goodput_bps", "transfer_s", "rtt_ms.mean"]
runs = 3
[axes]
"{RATE}" = ["384 kbit/s", "128 kbit/s"]
"tcp.cc" = ["{{ reno = {{}} }}", "{{ westwood_plus = {{}} }}"]
"""
DRAWN = f"""
scenario = "umts-384"
metrics = ["goodput_bps", "rtt_ms.mean"]
runs = 2
[axes]
tcp.initial_window = [1, 4]
[random]
points = 5
"wired.delay" = {{ min = "10 ms", max = "200 ms" }}
"{BLER}" = {{ min = "1 %", max = "20 %" }}
"""


def values_of(number, parameters, seed):
    """Made-up results: goodput in bit/s, transfer time in s, mean round-trip time in ms."""
    goodput = 100_000 * (number + 1) + 10_000 * (seed - 2)
    return goodput, 1e6 / goodput, 100.0 * (number + 1) + seed


def swept(folder, text=GRID, values=values_of, keep=lambda number, seed: True):
    """Write a sweep's folder with made-up results."""
    folder.mkdir(exist_ok=True)
    path = folder / "sweep.toml"
    path.write_text(text)
    plan = read_plan(path)
    rows = [
        (number, (seed,), [tuple(values(number, point.parameters, seed))[: len(plan.metrics)]])
        for number, point in enumerate(plan.points)
        for seed in range(1, plan.rule.max_runs + 1)
        if keep(number, seed)
    ]
    with Store(folder / "out", plan) as store:
        store.append(rows)
    return folder / "out"


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return swept(tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return swept(tmp_path_factory.mktemp("drawn"), DRAWN, lambda n, _, seed: (1e5 + n, 2e2 + seed))


def points_of(figure, series=0):
    return figure.data["series"][series]["points"]


# Numbers that are drawn.


def test_a_line_has_means_with_students_intervals_in_the_units_of_its_axes(grid):
    figure = airpath.plot_sweep(grid, RATE, "goodput_bps", by="tcp.cc")
    data = figure.data
    assert [series["label"] for series in data["series"]] == ["Reno", "Westwood+"]
    assert data["axes"]["x"] == {"key": RATE, "label": "downlink rate", "unit": "kbit/s", "scale": "linear"}
    assert data["axes"]["y"]["label"] == "goodput" and data["axes"]["y"]["unit"] == "kbit/s"
    # Points 2 and 0 in order of the rate: 290, 300, 310 kbit/s and 90, 100, 110; Student's t of two degrees
    # of freedom is 4.30265.
    low, high = points_of(figure)
    half = 4.30265 * 10 / math.sqrt(3)
    assert (low["point"], low["x"], low["value"], low["y_n"]) == (2, 128.0, "128 kbit/s", 3)
    assert low["y"] == pytest.approx(300) and low["y_low"] == pytest.approx(300 - half, abs=1e-3)
    assert (high["point"], high["x"], high["y"]) == (0, 384.0, pytest.approx(100))
    assert high["y_high"] == pytest.approx(100 + half, abs=1e-3)
    assert points_of(figure, 1)[0]["y"] == pytest.approx(400)
    assert data["joined"] and figure.warnings == ()
    assert data["runs"]["there"] == 12 and data["runs"]["missing"] == 0


def test_the_confidence_is_that_of_the_sweep(tmp_path):
    text = GRID.replace("runs = 3", "precision = 0.9\nconfidence = 0.8\nmin_runs = 3\nmax_runs = 3")
    figure = airpath.plot_sweep(swept(tmp_path, text), "rate", "goodput_bps", by="cc")
    # Student's t of two degrees of freedom, 80 %: 1.88562.
    assert figure.data["confidence"] == 0.8
    assert points_of(figure)[0]["y_high"] == pytest.approx(300 + 1.88562 * 10 / math.sqrt(3), abs=1e-3)
    assert "80 % intervals" in caption_of(figure.content)


def test_lines_whose_words_are_the_same_are_called_as_they_are_written(tmp_path):
    text = GRID.replace(f'"{RATE}" = ["384 kbit/s", "128 kbit/s"]', "wired.loss = [0.00200001, 0.00200002]")
    figure = airpath.plot_sweep(swept(tmp_path, text), "cc", "goodput_bps", by="loss")
    assert [series["label"] for series in figure.data["series"]] == ["0.00200001", "0.00200002"]


def test_words_are_places_beside_each_other_in_the_order_of_the_file(grid):
    figure = airpath.plot_sweep(grid, "tcp.cc", "transfer_s", where={RATE: "384kbit/s"})
    assert figure.data["axes"]["x"]["categories"] == ["Reno", "Westwood+"]
    assert [(point["x"], point["point"]) for point in points_of(figure)] == [(0, 0), (1, 1)]
    # 1e6 over 90, 100 and 110 kbit/s.
    assert points_of(figure)[0]["y"] == pytest.approx((1000 / 90 + 1000 / 100 + 1000 / 110) / 3)


def test_a_plane_joins_the_points_along_the_one_key_that_is_left(grid):
    figure = airpath.plot_sweep(grid, "rtt_ms.mean", "goodput_bps", by="cc")
    data = figure.data
    assert (data["kind"], data["along"], data["joined"]) == ("plane", RATE, True)
    first, second = points_of(figure)
    # Points 2 and 0, along the rate; 301, 302, 303 ms have the mean 302 and the deviation 1.
    assert (first["point"], first["value"], first["x"]) == (2, "128 kbit/s", pytest.approx(302))
    assert first["x_high"] == pytest.approx(302 + 4.30265 / math.sqrt(3), abs=1e-3)
    assert (second["point"], second["x"], second["y"]) == (0, pytest.approx(102), pytest.approx(100))
    with print_style():
        axes = figure.draw().axes[0]
    assert axes.xaxis_inverted() and not axes.yaxis_inverted()
    assert "better" in [text.get_text() for text in axes.texts]


def test_an_arrow_says_better_only_where_that_is_known(tmp_path):
    text = GRID.replace("goodput_bps", "segments_sent")
    figure = airpath.plot_sweep(swept(tmp_path, text), "rtt_ms.mean", "segments_sent", by=["cc", "rate"])
    axes = figure.draw().axes[0]
    assert not axes.texts and not axes.xaxis_inverted()


def test_a_distribution_has_the_band_of_dvoretzky_kiefer_and_wolfowitz(tmp_path):
    out = swept(tmp_path, GRID.replace("runs = 3", "runs = 4"))
    figure = airpath.plot_sweep(out, "goodput_bps", by=["tcp.cc"], where=[f"{RATE}=384 kbit/s"])
    curve = figure.data["series"][0]["curve"]
    assert figure.data["kind"] == "cdf"
    assert curve["x"] == pytest.approx([90, 100, 110, 120])
    assert curve["share"] == [0.25, 0.5, 0.75, 1.0]
    # sqrt(ln(2 / 0.05) / (2 * 4)) = 0.679051
    assert curve["low"] == pytest.approx([0, 0, 0.75 - 0.679051, 1 - 0.679051], abs=1e-6)
    assert curve["high"] == pytest.approx([0.25 + 0.679051, 1, 1, 1], abs=1e-6)


def test_a_heat_map_has_a_cell_for_each_pair_and_hatches_what_is_missing(tmp_path):
    out = swept(tmp_path, keep=lambda number, seed: number != 1)
    figure = airpath.plot_sweep(out, "cc", "rate", z="goodput_bps")
    cells = {(point["x"], point["y"]): point["z"] for point in points_of(figure)}
    assert cells == {
        (0, 0): pytest.approx(300),
        (1, 0): pytest.approx(400),
        (0, 1): pytest.approx(100),
    }
    assert figure.data["axes"]["y"]["categories"] == ["128", "384"]
    axes = figure.draw().axes[0]
    assert sorted(text.get_text() for text in axes.texts) == ["100", "300", "400"]
    assert [patch.get_xy() for patch in axes.patches if patch.get_hatch()] == [(0.5, 0.5)]
    assert "hatched" in caption_of(figure.content)


@pytest.mark.slow
def test_each_value_of_by_is_a_panel_of_a_heat_map(tmp_path):
    text = GRID + f'"{BLER}" = ["1 %", "10 %", "20 %"]\n'
    figure = airpath.plot_sweep(swept(tmp_path, text), "rate", "bler", z="goodput_bps", by="cc")
    assert [len(series["points"]) for series in figure.data["series"]] == [6, 6]
    titles = [axes.get_title(loc="left") for axes in figure.draw().axes]
    assert titles[:2] == ["congestion control: Reno", "congestion control: Westwood+"]


def test_points_of_a_drawn_design_are_scattered_and_not_joined(drawn):
    figure = airpath.plot_sweep(drawn, "wired.delay", "goodput_bps", by="initial_window")
    assert not figure.data["joined"]
    x = [point["x"] for point in points_of(figure)]
    assert len(x) == 5 and x == sorted(x) and all(10 <= value <= 200 for value in x)
    assert (
        airpath.plot_sweep(drawn, "rtt_ms.mean", "goodput_bps", by="tcp.initial_window").data["joined"]
        is False
    )


@pytest.mark.slow
def test_a_sweep_that_ran_is_drawn_as_its_results_say(tmp_path, airpath_command):
    path = tmp_path / "sweep.toml"
    path.write_text(
        """
        scenario = "umts-384"
        metrics = ["goodput_bps", "rtt_ms.mean"]
        runs = 4
        [set]
        "flow.0.app.file.size" = "20 kB"
        [axes]
        tcp.initial_window = [4, 1]
        """
    )
    out = tmp_path / "out"
    run_sweep(read_plan(path), out, 1)
    words = ("plot", out, "--x", "initial_window", "--y", "goodput_bps")
    outcome = airpath_command(*words)
    assert (outcome.code, outcome.err) == (0, "")
    file = out / "figures" / "line_goodput_bps_tcp.initial_window.png"
    assert outcome.out.strip() == str(file) and file.is_file()
    check_error(airpath_command(*words), "--out", "exists already", "--force")
    numbers, means = airpath_command(*words, "--json", "--force"), airpath_command("results", out, "--json")
    assert means.err == ""  # The figure is no foreign file.
    drawn = json.loads(numbers.out)["series"][0]["points"]
    known = json.loads(means.out)["points"]
    assert [point["point"] for point in drawn] == [1, 0]
    for point in drawn:
        of = known[point["point"]]["metrics"]["goodput_bps"]
        assert point["x"] == known[point["point"]]["parameters"]["tcp.initial_window"]
        for name, key in (("y", "mean"), ("y_low", "ci_low"), ("y_high", "ci_high")):
            assert point[name] == pytest.approx(of[key] / 1000)


# Missing data.


def test_runs_without_a_value_are_left_out_counted_and_seen(tmp_path):
    def values(number, _, seed):
        return 1e5, math.nan if (number == 0 and seed < 3) or number == 1 else 10.0 + seed, 1.0

    figure = airpath.plot_sweep(swept(tmp_path, values=values), "rate", "transfer_s", by="cc")
    assert figure.data["runs"]["not_measured"] == {"transfer_s": 5}
    high = points_of(figure)[1]
    assert (high["point"], high["y"], high["y_low"], high["y_n"], high["not_measured"]) == (
        0,
        13.0,
        None,
        1,
        2,
    )
    # Of Westwood+ only the point that has values is there.
    assert [point["point"] for point in points_of(figure, 1)] == [3]
    assert figure.warnings == (
        "5 of 12 runs did not measure transfer_s; they are left out",
        "1 point without any value to draw",
    )
    caption = caption_of(figure.content)
    assert caption.startswith("1 to 3 runs") and "open marks" in caption and "5 of 12 runs without" in caption
    white = [line for line in figure.draw().axes[0].lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_xdata()) for line in white if len(line.get_xdata())] == [[384.0]]


def test_an_unfinished_sweep_is_drawn_and_says_what_is_missing(tmp_path):
    out = swept(tmp_path, keep=lambda number, seed: number < 2 or seed == 1)
    figure = airpath.plot_sweep(out, "rate", "goodput_bps", by="cc")
    assert figure.data["runs"] == {"there": 8, "missing": 4, "not_measured": {"goodput_bps": 0}}
    assert figure.warnings == ("the sweep is unfinished: 4 of 12 runs are missing",)
    assert "4 of 12 runs still missing" in caption_of(figure.content)
    single = points_of(figure)[0]
    assert (single["point"], single["y_low"], single["y_high"]) == (2, None, None)
    assert (
        airpath.plot_sweep(out, "rate", "goodput_bps", by="cc", where={"rate": "384 kbit/s"}).warnings == ()
    )


@pytest.mark.parametrize(("spread", "missing"), [(0.001, 0), (1.0, 4 * 10)])
def test_of_a_sweep_by_precision_runs_are_missing_until_its_rule_is_content(tmp_path, spread, missing):
    def values(_number, _, seed):
        return 1e5 * (1 + spread * (seed % 3)), 1.0 + seed % 2 / 1e3, 9.0 + seed % 2 / 1e3

    text = GRID.replace("runs = 3", "precision = 0.05\nmin_runs = 20\nmax_runs = 40")
    out = swept(tmp_path, text, values, lambda _, seed: seed <= 30)
    figure = airpath.plot_sweep(out, "rate", "goodput_bps", by="cc")
    assert figure.data["runs"]["missing"] == missing


def test_points_without_the_key_of_an_axis_are_left_out_and_counted(tmp_path):
    text = GRID + '[[list]]\n"wired.delay" = "200 ms"\n'
    out = swept(tmp_path, text)
    figure = airpath.plot_sweep(out, "rate", "goodput_bps", by="cc")
    assert figure.data["points_without_x"] == 1
    assert figure.warnings == (f"1 point left out, without a value of {RATE}",)
    only = airpath.plot_sweep(out, "wired.delay", "goodput_bps", where={"rate": None})
    assert [(point["point"], point["x"]) for point in points_of(only)] == [(4, 200.0)]
    labels = [
        s["label"]
        for s in airpath.plot_sweep(out, "rtt_ms.mean", "goodput_bps", by=["cc", "rate"]).data["series"]
    ]
    assert labels[-1] == "as in the scenario, as in the scenario"


def test_damaged_files_are_named(tmp_path, airpath_command):
    out = swept(tmp_path)
    (out / "runs" / "part-000002.parquet").write_bytes(b"nothing")
    outcome = airpath_command("plot", out, "--x", "rate", "--y", "goodput_bps", "--by", "cc")
    assert outcome.code == 0
    assert "part-000002.parquet: damaged" in outcome.err


# Files.


def command(out, file, *more):
    return ["plot", out, "--x", "rtt_ms.mean", "--y", "goodput_bps", "--by", "cc", "--out", file, *more]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_formats_are_made_and_the_same_rows_give_the_same_bytes(grid, tmp_path, airpath_command, kind):
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind.upper()}"
    assert airpath_command(*command(grid, first)) == (0, f"{first}\n", "")
    # Another process, with other hashes, another day and another taste.
    settings = tmp_path / "matplotlibrc"
    settings.write_text("font.size: 20\nsavefig.dpi: 40\nsvg.hashsalt: other\naxes.facecolor: red\n")
    environment = os.environ | {
        "PYTHONHASHSEED": "7",
        "SOURCE_DATE_EPOCH": "86400",
        "MATPLOTLIBRC": str(settings),
    }
    arguments = [str(part) for part in command(grid, second)]
    subprocess.run([sys.executable, "-m", "airpath", *arguments], env=environment, check=True)
    content = first.read_bytes()
    assert content == second.read_bytes()
    if kind == "png":
        height, width, _ = matplotlib.image.imread(first).shape
        assert (width, height) == (3.5 * 300, 2.8 * 300)
    elif kind == "svg":
        assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
        assert b"date" not in content
    else:
        assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
        assert b"CreationDate" not in content and b"/CIDFontType2" in content and b"/Type3" not in content


@pytest.mark.slow
def test_title_and_size_are_as_asked(grid, tmp_path, airpath_command):
    file = tmp_path / "a.png"
    assert airpath_command(*command(grid, file, "--size", "12.7x7.62cm", "--title", "Reno")).code == 0
    assert matplotlib.image.imread(file).shape[:2] == (3 * 300, 5 * 300)
    figure = airpath.plot_sweep(grid, "rtt_ms.mean", "goodput_bps", by="cc", title="Reno", size=(4, 3))
    assert figure.draw().get_suptitle() == "Reno"
    assert tuple(figure.draw().get_size_inches()) == (4, 3)
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.slow
def test_figures_of_other_points_have_other_names(grid, airpath_command):
    names = {
        airpath_command("plot", grid, "--x", "cc", "--y", metric, "--where", f"rate={rate}").out
        for metric in ("goodput_bps", "transfer_s")
        for rate in ("384 kbit/s", "128 kbit/s")
    }
    assert len(names) == 4


def test_figures_that_differ_in_their_axes_or_paths_have_different_files(grid):
    line = {"x": "rate", "y": "goodput_bps", "by": "cc"}
    plane = {"x": "transfer_s", "y": "goodput_bps"}
    asked = [
        *(line | {"log": log} for log in ((), "x", "y", "x,y")),
        *(plane | {"by": "rate"} | along for along in ({"along": "cc"}, {})),
    ]
    names = [airpath.plot_sweep(grid, **one).name for one in asked]
    assert len(set(names)) == len(names)
    assert names[3] == f"{names[0]}_log_xy"
    assert names[4].endswith("_along_tcp.cc")


def test_logarithmic_axes(grid):
    figure = airpath.plot_sweep(grid, "rate", "goodput_bps", by="cc", log="x,y")
    axes = figure.draw().axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert figure.data["axes"]["x"]["scale"] == "log"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"x": "rate", "y": "goodput_bps", "by": "cc"}, "line"),
        ({"x": "cc", "y": "goodput_bps", "by": "rate"}, "line"),
        ({"x": "goodput_bps", "by": ["rate", "cc"]}, "cdf"),
        ({"x": "goodput_bps", "by": ["rate", "cc"], "log": "x"}, "cdf"),
        ({"x": "rate", "y": "cc", "z": "rtt_ms.mean", "log": "z"}, "heat"),
        ({"x": "transfer_s", "y": "goodput_bps", "by": "rate", "along": "cc"}, "plane"),
    ],
)
def test_one_run_and_equal_runs_can_be_drawn_by_every_kind(tmp_path, arguments, kind):
    one = swept(tmp_path, GRID.replace("runs = 3", "runs = 1"))
    (tmp_path / "equal").mkdir()
    equal = swept(tmp_path / "equal", values=lambda *_: (1e5, 2.0, 3.0))
    for out in (one, equal):
        figure = airpath.plot_sweep(out, **arguments)
        assert figure.data["kind"] == kind
        assert figure.as_bytes("svg").startswith(b"<?xml")


def test_keys_that_change_together_are_one_axis(tmp_path):
    together = (
        GRID[: GRID.index("[axes]")]
        + '[[together]]\ntcp.mss = ["536 B", "1460 B"]\ntcp.max_window = [25, 14]\n'
    )
    figure = airpath.plot_sweep(swept(tmp_path, together), "tcp.mss", "goodput_bps")
    assert len(figure.data["series"]) == 1 and len(points_of(figure)) == 2


# Units and words.


@pytest.mark.parametrize(
    ("text", "family", "base"),
    [
        ("128 kbit/s", "rate", 128_000),
        ("7.2Mbit/s", "rate", 7_200_000),
        ("10 ms", "time", 0.01),
        ("1.5 min", "time", 90),
        ("2 KiB", "size", 2048),
        ("1 %", "ratio", 0.01),
        ("0.01", "ratio", 0.01),
        (0.01, "ratio", 0.01),
        (4, "ratio", 4),
        ("5.5 Hz", "frequency", 5.5),
        ("-3 dB", "dB", -3),
    ],
)
def test_quantities_are_read_in_the_units_of_scenarios(text, family, base):
    known = quantity(text)
    assert (known.unit.of, float(known.base)) == (family, base)


@pytest.mark.parametrize("text", ["{ reno = {} }", "3g", "fast", "", "10 ms 2", True, None, "[]", "1.2.3"])
def test_words_and_flags_are_no_quantities(text):
    assert quantity(text) is None


def test_values_that_mean_the_same_are_the_same():
    assert same("0.1") == same("10 %") == same(0.1)
    assert same("1 s") == same("1000 ms") != same("1 B")
    assert same(True) == same("true") != same(1)
    assert quantities(["10 ms", "64 kB"]) is None


def test_an_axis_has_the_unit_that_most_values_have():
    assert common_unit(quantities(["500 ms", "1 s", "2 s"])).name == "s"
    assert common_unit(quantities(["500 ms", "1 s"])).name == "ms"
    known = quantity("10 %")
    assert known.written_in(common_unit([known])) == 10.0


@pytest.mark.parametrize(
    ("metric", "largest", "unit"),
    [
        ("goodput_bps", 384e3, "kbit/s"),
        ("goodput_bps", 1.9e6, "kbit/s"),
        ("goodput_bps", 2e6, "Mbit/s"),
        ("transfer_s", 57, "s"),
        ("transfer_s", 0.3, "ms"),
        ("rtt_ms.mean", 730, "ms"),
        ("rtt_ms.mean", 4800, "s"),
        ("rtt_ms.samples", 4800, ""),
        ("flows.*.bytes_acked", 5, ""),
        ("elements.0.downlink.service_rate_packets_per_s", 5e4, "packets/s"),
        ("retransmissions.total", 1e6, ""),
    ],
)
def test_a_metric_is_shown_in_a_unit_of_its_size(metric, largest, unit):
    assert scaled_unit(metric_unit(metric), largest).name == unit


@pytest.mark.parametrize(
    ("name", "label", "call"),
    [
        (RATE, "downlink rate", key_label),
        (BLER, "downlink BLER", key_label),
        ("flow.0.app.file.size", "file size", key_label),
        ("wired.delay", "wired delay", key_label),
        ("tcp.initial_window", "initial window", key_label),
        ("radio.dch.downlink.queue.droptail.packets", "downlink queue length", key_label),
        ("radio.dch.downlink.rlc.am.pdu", "downlink PDU size", key_label),
        ("radio.dch.downlink.rlc.am.last_pdu_poll", "last PDU poll", key_label),
        ("flow.0.start", "start time", key_label),
        ("flow.0.app.call.start_rate", "start rate", key_label),
        ("goodput_bps", "goodput", metric_label),
        ("received_s", "time to receive all", metric_label),
        ("call.downlink.receiver.received_bps", "call, downlink, receiver, received rate", metric_label),
        ("call.downlink.sender.mean_rate_bps", "call, downlink, sender, mean rate", metric_label),
        ("bytes_received", "bytes received", metric_label),
        ("datagrams.received", "datagrams, received", metric_label),
        ("elements.1.ues.0.downlink.busy_s", "downlink busy time", metric_label),
        ("elements.1.downlink.busy_slots", "downlink busy slots", metric_label),
        ("flows.*.goodput_bps", "goodput, mean of all flows", metric_label),
        ("flows.2.rtt_ms.mean", "mean round-trip time, flow 2", metric_label),
        ("retransmissions.total", "retransmissions", metric_label),
        ("elements.1.ues.0.downlink.utilisation", "downlink utilisation", metric_label),
        ("{ westwood_plus = {} }", "Westwood+", value_label),
        ("{ copa = {} }", "Copa", value_label),
        ("bbr3", "BBRv3", value_label),
        ("[]", "none", value_label),
        ("[{ ack_pacing = {} }]", "ACK pacing", value_label),
        ("[{ ack_regulator = {} }]", "Ack Regulator", value_label),
        ("10 ms", "10 ms", value_label),
        (True, "on", value_label),
    ],
)
def test_axes_and_lines_are_called_by_the_words_of_the_field(name, label, call):
    assert call(name) == label


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "key", "cause", "remedy"),
    [
        ("", "--x", "is missing", "goodput_bps"),
        ("--x rate", "--y", "is missing", "rtt_ms.mean"),
        ("--x rate --y nothing", "--y", "no parameter or metric 'nothing'", "goodput_bps"),
        ("--x goodput_bps --y rate", "--y", "is a parameter", "exchange"),
        ("--x rate --y cc", "--z", "both", "transfer_s"),
        ("--x rate --y goodput_bps", "tcp.cc", "{ reno = {} }, { westwood_plus = {} }", "--by"),
        ("--x goodput_bps --by cc", RATE, "128 kbit/s, 384 kbit/s", "--where"),
        ("--x rtt_ms.mean --y goodput_bps", RATE, "different tcp.cc", "--along"),
        ("--x rate --y goodput_bps --by rtt", "--by", "no parameter 'rtt'", "tcp.cc"),
        ("--x rate --y goodput_bps --by rate", "--by", "on an axis already", "leave it out"),
        ("--x rate --y goodput_bps --along cc", "--along", "no meaning in a line", "--by"),
        ("--x goodput_bps --y goodput_bps", "--y", "another axis", "another"),
        ("--x rate --y goodput_bps --kind pie", "--kind", "pie", "line, plane, cdf, heat"),
        ("--x rate --y goodput_bps --kind heat", "--z", "is missing", "--z METRIC"),
        ("--x rate --y goodput_bps --kind cdf", "--y", "no meaning in a cdf", "--x METRIC"),
        ("--x rate --y goodput_bps --where cc", "--where", "not KEY=VALUE", "tcp.cc"),
        ("--x rate --y goodput_bps --where cc=tahoe", "--where", "tcp.cc = tahoe", "westwood_plus"),
        ("--x rate --y goodput_bps --where size=1", "--where", "no parameter 'size'", "tcp.cc"),
        ("--x rate --y goodput_bps --by cc --log z", "--log", "'z'", "x, y"),
        ("--x cc --y goodput_bps --by rate --log x", "--log", "words", "leave x out"),
        ("--x rate --y goodput_bps --by cc --size 3x", "--size", "'3x'", "3.5x2.6"),
        ("--x rate --y goodput_bps --by cc --size 300x200", "--size", "60", "8.8x6cm"),
        ("--x rate --y goodput_bps --by cc --out a.gif", "--out", "a.gif", ".svg"),
        ("--x rate --y goodput_bps --by cc --out OUT/a.png", "--out", "sweep's own files", "figures"),
        ("--x rate --y goodput_bps --by cc --out OUT/runs/a.png", "--out", "sweep's own files", "figures"),
        ("--x rate --y goodput_bps --by cc --out OUT/no/a.png", "--out", "cannot write", "another place"),
        ("--x rate --y goodput_bps --by cc --out - --json", "--json", "takes the figure", "--out -"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_what_could(
    grid, tmp_path, monkeypatch, airpath_command, arguments, key, cause, remedy
):
    monkeypatch.chdir(tmp_path)
    outcome = airpath_command("plot", grid, *arguments.replace("OUT", str(grid)).split())
    check_error(outcome, key, cause, remedy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "key", "cause", "remedy"),
    [
        ("--x initial_window --y goodput_bps", "wired.delay", f"different {BLER}", "--where"),
        ("--x wired.delay --y goodput_bps", "tcp.initial_window", "1, 4", "--by"),
        (
            "--x wired.delay --y initial_window --z goodput_bps",
            "--kind",
            "wired.delay is drawn",
            "--y METRIC",
        ),
        ("--x rtt_ms.mean --by wired.delay --by bler --by initial_window --y goodput_bps", "", "", ""),
    ],
)
def test_draws_are_mixed_only_along_a_drawn_axis(drawn, airpath_command, arguments, key, cause, remedy):
    outcome = airpath_command("plot", drawn, *arguments.split())
    if key:
        check_error(outcome, key, cause, remedy)
    else:  # Ten lines, each of one point.
        assert outcome.code == 0


@pytest.mark.parametrize(
    ("arguments", "key", "cause", "remedy"),
    [
        ("--x rate --y goodput_bps --color cd", "--color", "no parameter 'cd'", "tcp.cc"),
        ("--x rate --y goodput_bps --marker cd", "--marker", "no parameter 'cd'", "tcp.cc"),
        ("--x rate --y goodput_bps --facet row=cd", "--facet", "no parameter 'cd'", "tcp.cc"),
        ("--x rate --y goodput_bps --facet depth=cc", "--facet", "'depth=cc'", "row=KEY"),
        ("--x rate --y goodput_bps --facet cc --color cc", "--color", "in --facet too", "one of them"),
        ("--x rate --y goodput_bps --color cc --marker cc", "--marker", "in --color too", "--by"),
        ("--x rate --y goodput_bps --by cc --color rate", "--by", "with --color", "--marker"),
        ("--x rate --y goodput_bps --facet rate", "--facet", "on an axis", "leave it out"),
        ("--x rate --y goodput_bps --by cc --free y", "--free", "one panel", "--facet"),
        ("--x rate --y goodput_bps --facet cc --free x", "--free", "'x'", "choose from y"),
        ("--x rate --y cc --z goodput_bps --color cc", "--color", "heat", "--facet"),
        ("--x rate --y goodput_bps --by cc --label cd=A", "--label", "'cd'", "tcp.cc"),
        ("--x rate --y goodput_bps --by cc --label cc=cubic=A", "--label", "tcp.cc = cubic", "Reno"),
        ("--x rate --y goodput_bps --by cc --label cc", "--label", "not KEY=TEXT", "tcp.cc"),
        ("--x rate --y goodput_bps --by cc --csv a.txt", "--csv", "a.txt", ".csv"),
        ("--x rate --y goodput_bps --by cc --csv OUT/a.csv", "--csv", "sweep's own files", "figures"),
        ("--x rate --y goodput_bps --by cc --csv - --json", "--csv", "--json", "name a file"),
        ("OUT --x rate --y goodput_bps --by cc", "--out", "several sweeps", "--out"),
    ],
)
def test_roles_and_labels_that_cannot_be_are_refused_with_what_could(
    grid, tmp_path, monkeypatch, airpath_command, arguments, key, cause, remedy
):
    monkeypatch.chdir(tmp_path)
    outcome = airpath_command("plot", grid, *arguments.replace("OUT", str(grid)).split())
    check_error(outcome, key, cause, remedy)


@pytest.mark.parametrize(
    ("arguments", "key", "cause"),
    [
        ("--facet initial_window --by cc", "--facet", "30 panels, but only 24 fit"),
        ("--facet col=initial_window --by cc", "--facet", "30 panels, but only 6 fit"),
        ("--facet row=initial_window --by cc", "--facet", "30 panels, but only 8 fit"),
        ("--color initial_window --marker cc", "--color", "30 different values, but only 8"),
    ],
)
def test_more_panels_or_colours_than_fit_are_refused(tmp_path, airpath_command, arguments, key, cause):
    text = GRID.replace("runs = 3", "runs = 1") + f"tcp.initial_window = {list(range(1, 31))}\n"
    words = ("plot", swept(tmp_path, text), "--x", "rate", "--y", "goodput_bps", *arguments.split())
    check_error(airpath_command(*words), key, cause, "--where")


@pytest.mark.slow
def test_csv_has_what_is_drawn_in_the_units_of_the_results(grid, tmp_path, airpath_command):
    picture, numbers = tmp_path / "a.pdf", tmp_path / "a.csv"
    words = ("plot", grid, "--x", "rate", "--y", "goodput_bps", "--by", "cc", "--out", picture)
    assert airpath_command(*words, "--csv", numbers).code == 0
    rows = list(csv.DictReader(numbers.read_text().splitlines()))
    assert list(rows[0]) == [
        *("point", "tcp.cc", RATE, f"{RATE} (kbit/s)", "goodput_bps", "goodput_bps_lower"),
        *("goodput_bps_upper", "goodput_bps_n", "not_measured"),
    ]
    assert len(rows) == 4 and rows[0]["tcp.cc"] == "{ reno = {} }"
    assert (rows[0][RATE], rows[0][f"{RATE} (kbit/s)"], rows[0]["goodput_bps"]) == (
        "128 kbit/s",
        "128",
        "300000",
    )
    assert float(rows[0]["goodput_bps_lower"]) == pytest.approx(3e5 - 4.30265e4 / math.sqrt(3), abs=1)
    check_error(airpath_command(*words, "--csv", numbers), "--csv", "exists already", "--force")
    outcome = airpath_command(*words, "--csv", "-", "--force")
    assert outcome.out == numbers.read_text()
    steps = airpath.plot_sweep(grid, "goodput_bps", by=["rate", "cc"]).csv().splitlines()
    assert steps[0] == f"point,{RATE},tcp.cc,goodput_bps,share,share_lower,share_upper" and len(steps) == 13


def test_several_sweeps_make_one_figure_by_what_distinguishes_them(tmp_path):
    folders = []
    for name, runs in (("umts-384", 3), ("lte-10mhz-still", 2)):
        text = f"""
        scenario = "{name}"
        metrics = ["goodput_bps"]
        runs = {runs}
        [axes]
        tcp.cc = ["reno", "cubic"]
        [set]
        tcp.ack_every = 1
        """
        folders.append(swept(tmp_path / name, text))
    figure = airpath.plot_sweep(folders, "cc", "goodput_bps", by="scenario")
    assert caption_of(figure.content).startswith("tcp.ack_every = 1; 2 to 3 runs")
    assert caption_of(airpath.plot_sweep(folders[0], "cc", "goodput_bps").content).startswith(
        "tcp.ack_every = 1; 3 runs"
    )
    assert [series["label"] for series in figure.data["series"]] == ["umts-384", "lte-10mhz-still"]
    assert [point["y_n"] for point in points_of(figure, 1)] == [2, 2]
    assert figure.data["runs"]["missing"] == 0 and figure.warnings == ()
    panels = airpath.plot_sweep(folders, "cc", "goodput_bps", facet="scenario")
    assert panels.data["roles"] == {"panel": ["scenario"]}
    with pytest.raises(SweepError, match="umts-384, lte-10mhz-still"):
        airpath.plot_sweep(folders, "cc", "goodput_bps")


def test_more_lines_than_can_be_told_apart_are_refused(tmp_path, airpath_command):
    text = GRID.replace("runs = 3", "runs = 1") + f"tcp.initial_window = {list(range(1, 11))}\n"
    outcome = airpath_command(
        "plot", swept(tmp_path, text), "--x", "rate", "--y", "goodput_bps", "--by=cc", "--by=initial_window"
    )
    check_error(outcome, "--by", "20 different values, but only 16 can be shown", "--where")


def test_an_ending_that_two_keys_have_is_refused(tmp_path, airpath_command):
    out = swept(tmp_path, GRID + 'radio.dch.uplink.rate = ["64 kbit/s"]\n')
    outcome = airpath_command("plot", out, "--x", "rate", "--y", "goodput_bps")
    check_error(outcome, "--x", "radio.dch.downlink.rate or radio.dch.uplink.rate", "more of it")


def test_zero_is_refused_on_a_logarithmic_axis(tmp_path, airpath_command):
    out = swept(tmp_path, values=lambda number, *_: (0.0, 1.0, 1.0))
    outcome = airpath_command("plot", out, "--x", "rate", "--y", "goodput_bps", "--by", "cc", "--log", "y")
    check_error(outcome, "--log", "y reaches 0", "leave y out")


def test_nothing_to_draw_is_said(tmp_path, airpath_command):
    out = swept(tmp_path, values=lambda *_: (1e5, math.nan, 1.0), keep=lambda number, seed: number < 2)
    outcome = airpath_command("plot", out, "--x", "rate", "--y", "transfer_s", "--by", "cc")
    check_error(outcome, "--y", "none of the 6 runs measured transfer_s", "another metric")
    outcome = airpath_command(
        "plot", out, "--x", "rate", "--y", "goodput_bps", "--by", "cc", "--where", "rate=128 kbit/s"
    )
    check_error(outcome, "--where", "no runs yet", "continue")


@pytest.mark.slow
def test_other_folders_and_files_are_refused_with_what_to_do(tmp_path, airpath_command):
    airpath_command("run", "umts-384", "--set=duration=2 s", "--out", tmp_path / "run")
    asked = ("--x", "rate", "--y", "goodput_bps")
    outcome = airpath_command("plot", tmp_path / "run", *asked)
    check_error(outcome, str(tmp_path / "run"), "folder of a run, not of a sweep", "plot.png")
    outcome = airpath_command("plot", tmp_path / "none", *asked)
    check_error(outcome, str(tmp_path / "none"), "no folder of a sweep", "airpath sweep")
    file = tmp_path / "sweep.toml"
    file.write_text(GRID)
    check_error(airpath_command("plot", file, *asked), str(file), "is a file", "airpath sweep")


def test_python_raises_what_the_command_line_prints(grid):
    with pytest.raises(SweepError, match="exchange"):
        airpath.plot_sweep(grid, "goodput_bps", "rate")
    with pytest.raises(SweepError, match=r"\.svg"):
        airpath.plot_sweep(grid, "rate", "goodput_bps", by="cc").save("a.txt")
    with pytest.raises(SweepError, match=r"8\.8x6cm"):
        airpath.plot_sweep(grid, "rate", "goodput_bps", by="cc", size=(3, "wide"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["$\\frac{x$", "_hidden", "<b>&"])
def test_words_of_files_are_drawn_as_they_are_written(name, tmp_path, airpath_command):
    trace = "radio.variable.downlink.channel.trace_file.file"
    for number in range(2):
        (tmp_path / f"{name}{number}").write_text(f"1\n{number + 2}\n")
    files = [f"{name}{number}" for number in range(2)]
    text = f"scenario = 'scenario.toml'\nmetrics = ['goodput_bps']\nruns = 2\n[axes]\n{trace} = {files!r}\n"
    (tmp_path / "scenario.toml").write_text(f"{trace} = {files[0]!r}\nflow = [{{}}]\n".replace("\\\\", "\\"))
    out = swept(tmp_path, text.replace("\\\\", "\\"))
    for arguments in (["--x", "file", "--y", "goodput_bps"], ["--x", "goodput_bps", "--by", "file"]):
        outcome = airpath_command(
            "plot", out, *arguments, "--title", name, "--out", tmp_path / "figure.svg", "--force"
        )
        assert outcome.code == 0, outcome.err
