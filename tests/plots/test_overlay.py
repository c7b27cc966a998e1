"""Pictures of runs over time: one run, and several over each other."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from conftest import check_error, no_pictures, sampled

import airpath
from airpath.drawing.style import COLOURS, INK
from airpath.errors import ExportError
from airpath.runs.flows import choose_flows, flow_names
from airpath.runs.lines import goodput_window_s

LINK = """
duration = "6 s"
[wired]
rate = "100 Mbit/s"
delay = "20 ms"
[radio.variable]
ues = {ues}
[radio.variable.downlink]
channel.trace_file.trace = "8\\n"
queue.droptail.packets = 20
[radio.variable.uplink]
channel.trace_file.trace = "2\\n"
[tcp]
receive_buffer = "1 MB"
"""
RFC = airpath.load("umts-384").with_("tcp.profile", "rfc")
CONTROLS = ("cubic", "reno", "westwood", "westwood_plus")


def several(flows):
    """A scenario with a flow for each UE, the later ones shorter."""
    parts = [
        f'[[flow]]\nue = {ue}\nstart = "{100 * ue} ms"\ntcp.cc.{CONTROLS[ue % 4]} = {{}}\napp.bulk = {{}}\n'
        for ue in range(flows)
    ]
    return airpath.Scenario(f"{flows}-flows", LINK.format(ues=flows) + "".join(parts))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("runs")

    def made(name, scenario, seed=1):
        with no_pictures():
            airpath.run_to_folder(scenario, seed, base / name)
        return base / name

    short = RFC.with_("duration", "12 s")
    return {
        "seed 1": made("a", short),
        "seed 2": made("b", short, 2),
        "cubic": made("c", short.with_("tcp.cc", "{ cubic = {} }")),
        "slow": made("d", short.with_("radio.dch.downlink.rate", "128 kbit/s")),
        "linux": made("e", short.with_("tcp.profile", "linux")),
        "flows": made("f", several(3)),
    }


def names(*runs):
    picture = airpath.overlay(runs)
    return picture.title, [flow.name for flow in picture.flows]


# One run.


def test_flows_are_named_by_their_congestion_control():
    result = airpath.run(several(3))
    assert [flow.name for flow in result.plot().flows] == ["UE 0: cubic", "UE 1: reno", "UE 2: westwood"]
    legend = result.plot().draw().legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["UE 0: cubic", "UE 1: reno", "UE 2: westwood"]


def test_the_kernel_names_its_own_and_datagrams_have_none():
    flow = {"ue": 0, "flow": 0, "app": None, "congestion_control": "bbr"}
    other = {"ue": 0, "flow": 1, "app": None, "congestion_control": None}
    assert flow_names({"live": {}, "flows": [flow, other]}, {}) == ["UE 0 flow 0: bbr", "UE 0 flow 1"]
    ping = airpath.run(airpath.load("umts-384").with_("flow", "[{ app = { ping = { requests = 3 } } }]"))
    assert [flow.name for flow in ping.plot().flows] == ["UE 0: ping"]


def test_marks_have_the_colour_of_their_flow_and_a_word():
    figure = airpath.run(several(2)).plot().draw()
    for panel, word, marker in ((2, "packet dropped", "x"), (3, "retransmitted", "x")):
        axes = figure.axes[panel]
        marks = [line for line in axes.lines if line.get_marker() == marker]
        assert [line.get_color() for line in marks] == list(COLOURS[:2])
        texts = [text.get_text() for text in axes.get_legend().get_texts()]
        handle = axes.get_legend().legend_handles[texts.index(word)]
        # The word is for both flows.
        assert (handle.get_marker(), handle.get_color()) == (marker, INK)


def test_a_timeout_is_marked_where_it_was():
    result = airpath.run(RFC)
    drawn = result.plot().data["cwnd"]["UE 0: reno"]["timeout"]
    sent = result.trace["segment_sent"]
    assert (
        drawn["time_s"] == sent["time_s"][sent["cause"] == "timeout"].tolist() and len(drawn["time_s"]) == 1
    )
    legend = [text.get_text() for text in result.plot().draw().axes[0].get_legend().get_texts()]
    assert legend == ["cwnd", "send window", "ssthresh", "timeout"]


def test_of_many_flows_the_eight_busiest_are_drawn_with_less_of_each():
    result = airpath.run(several(20))
    picture = result.plot()
    carried = [flow["bytes_acked"] for flow in result.flows]
    drawn = [flow.flow["bytes_acked"] for flow in picture.flows]
    assert len(drawn) == 8 and sorted(drawn) == sorted(carried)[-8:]
    assert picture.title == "20-flows, seed 1 (the busiest 8 of 20 flows)"
    colours = [line.get_color() for line in picture.draw().axes[0].lines if line.get_marker() != "v"]
    assert colours == list(COLOURS)


def test_of_a_live_run_control_connections_are_left_out():
    flows = [{"bytes_acked": carried, "bytes_received": None} for carried in (1000, 20, 900)]
    assert choose_flows({"live": {}, "flows": flows}) == [0, 2]
    assert choose_flows({"flows": flows}) == [0, 1, 2]


@pytest.mark.slow
def test_panels_without_data_are_left_out(folders):
    assert airpath.run(RFC).plot().panels == ("cwnd", "rtt", "buffer", "sequence")
    assert airpath.run(RFC.with_("duration", "10 ms").with_("flow[0].start", "1 s")).plot().panels == (
        "buffer",
    )
    assert airpath.overlay([folders["seed 1"]]).panels == ("cwnd", "rtt", "buffer", "goodput")
    assert airpath.overlay([folders["seed 1"]], ["delay", "rtt"]).panels == ("delay", "rtt")


@pytest.mark.slow
def test_datagrams_have_the_delay_of_their_bearer(tmp_path):
    flows = '[{ app = { ping = { requests = 5 } } }, { app = { cbr = { rate = "100 kbit/s" } } }]'
    scenario = airpath.load("umts-384").with_("flow", flows).with_("duration", "8 s")
    result = airpath.run(scenario)
    picture = result.plot()
    assert picture.panels == ("delay", "buffer") and len(picture.draw().axes) == 2
    sent = result.trace["bearer_delivered"]
    mine = (sent["flow"] == 1) & (sent["direction"] == "downlink")
    drawn = picture.data["delay"]["UE 0 flow 1: cbr"]["delay"]
    assert drawn["value"] == pytest.approx(sent["delay_ns"][mine] / 1e6) and len(drawn["value"]) > 100
    airpath.run_to_folder(scenario, 1, tmp_path / "run")
    assert airpath.overlay([tmp_path / "run"]).panels == ("delay", "buffer")


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, "9x9cm"])
def test_a_long_title_goes_on_in_the_next_line(folders, size):
    title = "lundsten-dch, reno, seed 1, radio.dch.downlink.rlc.fixed_delay_arq.retransmission_delay = 59 ms"
    figure = airpath.overlay([folders["seed 1"]], title=f"{title}, {title}", size=size).draw()
    figure.canvas.draw()
    legend = figure.legends[0]
    assert "".join(legend.get_title().get_text().split()) == "".join(f"{title}, {title}".split())
    for text in (legend.get_title(), *legend.get_texts()):
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    assert legend.get_window_extent().y0 > figure.axes[0].get_window_extent().y1


# Several runs.


def test_runs_are_named_by_what_differs(folders):
    shared = "tcp.profile = rfc, duration = 12 s"
    assert names(folders["seed 1"], folders["seed 2"]) == (f"umts-384, reno, {shared}", ["seed 1", "seed 2"])
    assert names(folders["seed 1"], folders["cubic"]) == (f"umts-384, seed 1, {shared}", ["reno", "cubic"])
    title, called = names(folders["seed 1"], folders["slow"])
    assert (title, called) == (
        f"umts-384, reno, seed 1, {shared}",
        ["downlink rate 384 kbit/s", "downlink rate 128 kbit/s"],
    )
    _, called = names(folders["cubic"], folders["linux"])
    assert called == ["profile rfc", "profile linux"]
    assert names(folders["seed 1"], folders["seed 1"])[1] == [str(folders["seed 1"])] * 2


def test_queues_of_one_kind_are_told_apart_beside_another_kind(tmp_path):
    queues = [
        "{ droptail = { packets = 80 } }",
        "{ droptail = { packets = 10 } }",
        '{ codel = { target = "50 ms" } }',
    ]
    with no_pictures():
        for number, queue in enumerate(queues):
            scenario = RFC.with_("radio.dch.downlink.queue", queue).with_("duration", "1 s")
            airpath.run_to_folder(scenario, 1, tmp_path / str(number))
    told = ["queue drop-tail (packets 80)", "queue drop-tail (packets 10)", "queue CoDel"]
    assert names(*sorted(tmp_path.iterdir()))[1] == told


def test_a_run_with_several_flows_has_a_line_for_each(folders):
    title, called = names(folders["seed 1"], folders["flows"])
    assert title == "seed 1"
    assert called == [
        "umts-384, reno",
        "3-flows, UE 0, cubic",
        "3-flows, UE 1, reno",
        "3-flows, UE 2, westwood",
    ]


def test_goodput_is_what_was_acknowledged_in_each_window(folders):
    picture = airpath.overlay([folders["seed 1"], folders["seed 2"]], ["goodput"])
    line = picture.data["goodput"]["seed 1"]["goodput"]
    window_s = goodput_window_s(12.0)
    assert window_s == 0.2 and np.diff(line["time_s"][:-1]) == pytest.approx(window_s)
    # The last value is there twice, as the end of its window.
    result = airpath.run(RFC.with_("duration", "12 s"))
    assert sum(line["value"][:-1]) * 1e3 / 8 * window_s == pytest.approx(result.flows[0]["bytes_acked"])


@pytest.mark.parametrize(
    ("end_s", "window_s"), [(1.0, 0.01), (57.6, 1.0), (100.0, 1.0), (101.0, 2.0), (3600.0, 50.0), (0.0, 1e-5)]
)
def test_windows_of_goodput_are_round(end_s, window_s):
    assert goodput_window_s(end_s) == pytest.approx(window_s)


@pytest.mark.slow
def test_goodput_ends_with_the_flow(tmp_path):
    small = airpath.load("umts-384").with_("flow.app.file.size", "50 kB")
    airpath.run_to_folder(small, 1, tmp_path / "short")
    airpath.run_to_folder(small.with_("flow.app.file.size", "200 kB"), 1, tmp_path / "long")
    picture = airpath.overlay([tmp_path / "short", tmp_path / "long"], ["goodput"])
    short, long = ([flow.line("goodput")[0, -1], flow.flow["transfer_s"]] for flow in picture.flows)
    for last, transfer_s in (short, long):
        assert transfer_s - goodput_window_s(picture.end_s) < last <= transfer_s


@pytest.mark.parametrize(
    ("arguments", "key", "cause", "remedy"),
    [
        (["{a}", "{base}/nowhere"], "{base}/nowhere", "no such folder", "airpath run --out"),
        (["{a}", "--panel", "sky"], "--panel", "no panel 'sky'", "goodput"),
        (["{a}", "--out", "picture.txt"], "--out", "no format", ".png"),
        (["{a}"] * 9, "RUN", "9 runs", "1 to 8"),
        (["{a}", "--size", "huge"], "--size", "no size", "8.8x6cm"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    folders, arguments, key, cause, remedy, airpath_command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    place = {"a": folders["seed 1"], "base": folders["seed 1"].parent}
    outcome = airpath_command("overlay", *(one.format(**place) for one in arguments))
    check_error(outcome, key.format(**place), cause, remedy)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_nothing_is_replaced_unasked(folders, airpath_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [folders["seed 1"], folders["seed 2"]]
    assert airpath_command("overlay", *runs).out == "overlay.png\n"
    first = (tmp_path / "overlay.png").read_bytes()
    check_error(airpath_command("overlay", *runs), "--out", "exists already", "--force")
    assert airpath_command("overlay", *runs, "--force", "--title", "$x$").code == 0
    assert (tmp_path / "overlay.png").read_bytes() != first


@pytest.mark.slow
@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_the_suffix_chooses_the_format_and_bytes_repeat(folders, tmp_path, name, begins):
    picture = airpath.overlay([folders["seed 1"], folders["seed 2"]])
    picture.save(tmp_path / name)
    content = (tmp_path / name).read_bytes()
    picture.save(tmp_path / name)
    assert content.startswith(begins) and (tmp_path / name).read_bytes() == content


@pytest.mark.slow
def test_a_dash_is_standard_output(folders, tmp_path):
    command = [sys.executable, "-m", "airpath", "overlay", folders["seed 1"], "--out", "-"]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert outcome.stdout.startswith(b"\x89PNG") and list(tmp_path.iterdir()) == []


def test_too_many_runs_are_an_error_in_python(folders):
    with pytest.raises(ExportError, match="9 runs"):
        airpath.overlay([folders["seed 1"]] * 9)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", sampled(["$\\frac{x$", "_hidden", "<b>&", "a" * 100], 1))
def test_names_of_scenarios_are_drawn_as_they_are_written(name, tmp_path):
    short = airpath.load("umts-384").with_("duration", "2 s")
    for place in (name, "other"):
        named = airpath.Scenario(place, short.source, short.overrides)
        airpath.run_to_folder(named, 1, tmp_path / place)
    figure = airpath.overlay([tmp_path / name, tmp_path / "other"], ["cwnd"]).draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [name, "other"]
    figure.savefig(tmp_path / "figure.svg")
