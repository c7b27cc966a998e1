"""`airpath predict`: measured and predicted goodput, and why a model does not apply."""

from __future__ import annotations

import json
import tomllib

import pytest
from conftest import check_error

import airpath
from airpath import _core
from airpath.models import MODELS, Link
from airpath.models.measured import buffer_packets, measured_link, predict_run, segment_bytes, window_limit

pytestmark = pytest.mark.usefixtures("undrawn")

# One long Reno flow that fills a buffer of ten packets: a saw-tooth. 1000 B on the wire, 25 packets/s.
SAW_TOOTH = """
duration = "600 s"
[wired]
delay = "5 ms"
[radio.variable.downlink]
queue.droptail = { packets = 10, in_service = "excluded" }
[radio.variable.downlink.channel.distribution]
rate.constant = "200 kbit/s"
delay.constant = "190 ms"
[radio.variable.uplink.channel.distribution]
rate.constant = "64 kbit/s"
delay.constant = "200 ms"
[tcp]
mss = "960 B"
handshake = "none"
ack_every = 1
receive_buffer = "500 kB"
recovery.reno = {}
[[flow]]
app.bulk = {}
"""


def scenario(text: str = SAW_TOOTH, **changes: str) -> airpath.Scenario:
    return airpath.Scenario("test", text, tuple((key, value) for key, value in changes.items()))


def predictions(text: str = SAW_TOOTH, changes: tuple[tuple[str, str], ...] = ()):
    chosen = airpath.Scenario("test", text, changes)
    summary = airpath.run(chosen, probes=()).summary
    return summary, predict_run(summary, tomllib.loads(chosen.text))


def reasons(flow) -> dict[str, str | None]:
    return {prediction.model.name: prediction.reason for prediction in flow.predictions}


def test_a_saw_tooth_is_predicted_by_the_models_of_one():
    summary, (flow,) = predictions()
    episodes, link = flow.episodes, flow.link
    assert link is not None and episodes is not None
    # tau = 190 + 200 + 2 x 5 ms; a packet takes 40 ms.
    assert link.service_rate == pytest.approx(25, rel=1e-3)
    assert link.round_trip_s == pytest.approx(0.44, rel=1e-3)
    assert link.buffer_packets == 10
    assert flow.measured_kbit_per_s == pytest.approx(summary["flows"][0]["goodput_bps"] / 1000)
    assert episodes.packets == summary["flows"][0]["bytes_acked"] / 960
    # At constant rate and delay each cycle ends with one loss, at a window of mu T + B = 21 or one more.
    assert episodes.single_share is not None and episodes.single_share > 0.9
    assert episodes.max_window == pytest.approx(21.5, abs=1)
    errors = {one.model.name: flow.relative_error(one) for one in flow.predictions}
    for name in ("lakshman_madhow", "chan_ramjee", "chan_ramjee_literal"):
        assert errors[name] == pytest.approx(0, abs=0.05), name


def test_every_loss_is_in_an_episode():
    _, (flow,) = predictions(
        changes=(
            ("radio.variable.downlink.channel.distribution.delay.exponential.mean", "100 ms"),
            ("tcp.multiple_fast_retransmits", "true"),
        )
    )
    found, episodes = flow.flow["loss_episodes"], flow.episodes
    assert episodes is not None
    assert found["events"] == found["single"] + found["double"] + found["timeout"]
    assert min(found["single"], found["double"], found["timeout"]) > 5
    shares = (episodes.single_share, episodes.double_share, episodes.timeout_share)
    assert sum(shares) == pytest.approx(1)
    assert episodes.loss_probability == (episodes.fast_retransmits + episodes.timeouts) / episodes.packets
    assert all(one.throughput for one in flow.predictions)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("tcp.max_window", "8"), "nothing was lost"),
        (("wired.loss", "100 %"), "nothing was acknowledged"),
        (("tcp.cc.westwood", "{}"), "westwood: the models are of Reno's halved window"),
        (("tcp.recovery.tahoe", "{}"), "tahoe: the models are of Reno's halved window"),
        (("flow[0].app.cbr", "{}"), "a flow over datagrams"),
        (("flow[0].app.web", "{}"), "a page: the models are of one long transfer"),
    ],
)
def test_where_no_model_applies_a_reason_is_given(change, reason):
    _, flows = predictions(changes=(("duration", "60 s"), change))
    for flow in flows:
        assert (flow.flow["loss_episodes"] is None) == ("datagrams" in flow.flow)
        assert {text.startswith(reason) for text in reasons(flow).values()} == {True}
        assert all(one.throughput is None and flow.kbit_per_s(one) is None for one in flow.predictions)


@pytest.mark.parametrize(
    ("scenario", "app", "reason"),
    [
        (
            "lte-10mhz",
            "{ arrivals = {} }",
            "files over connections of their own: the models are of one long transfer",
        ),
        ("lte-10mhz", '{ web.http = "3" }', "a page: the models are of one long transfer"),
        ("mptcp-lte-wifi", "{ bulk = {} }", "a connection over several paths: the models are of one path"),
    ],
)
def test_simulated_flows_without_loss_episodes_are_named(scenario, app, reason):
    changes = (("duration", "1 s"), ("change", "[]"), ("flow[0].app", app))
    _, flows = predictions(airpath.load(scenario).source, changes)
    assert set(reasons(flows[0]).values()) == {reason}


def test_a_limited_window_leaves_the_models_that_know_of_it():
    # Losses on the wire, at a window that two packets limit.
    _, (flow,) = predictions(changes=(("wired.loss", "1 %"), ("tcp.max_window", "3")))
    said = reasons(flow)
    assert said["padhye"] is said["padhye_approximate"] is None
    others = {name for name in said if not name.startswith("padhye")}
    assert {said[name] for name in others} == {"the window was limited to 3 segments"}


def test_a_bottleneck_of_several_flows_or_without_figures_is_named():
    _, flows = predictions(SAW_TOOTH + "[[flow]]\napp.bulk = {}\n")
    for flow in flows:
        assert reasons(flow)["lakshman_madhow"] == "the bearer has other flows, and the model is of one"
        assert flow.link is None
        assert reasons(flow)["mathis_random"] is None
    _, (flow,) = predictions(changes=(("middlebox", "[{ split = {} }]"), ("wired.loss", "1 %")))
    assert "splits the connection" in reasons(flow)["chan_ramjee"]
    dch = """
    duration = "60 s"
    [radio.dch.downlink]
    rate = "200 kbit/s"
    rlc.fixed_delay_arq = {}
    queue.droptail.packets = 10
    [[flow]]
    app.bulk = {}
    """
    _, (flow,) = predictions(dch)
    assert reasons(flow)["chan_ramjee"] == "the bearer's report has no service rate or no mean delay"


def test_the_buffer_and_the_window_are_read_as_the_core_reads_them():
    assert buffer_packets({"droptail": {"packets": 10, "in_service": "excluded"}}) == 10
    assert buffer_packets({"droptail": {"packets": 10, "in_service": "counted"}}) == 9
    assert buffer_packets({"droptail": {"in_service": "counted"}}) is None
    tcp = tomllib.loads(scenario().text)["tcp"]
    assert (segment_bytes(tcp), window_limit(tcp)) == (960, 500_000 // 960)
    assert segment_bytes({**tcp, "timestamps": True}) == 948
    assert window_limit({**tcp, "window_scaling": False}) == 65_535 // 960
    assert window_limit({**tcp, "max_window": 25}) == 25
    absent = {"receive_buffer_max": "absent", "max_window": "absent"}
    assert window_limit({**tcp, **absent}) == _core.octets(tcp["receive_buffer"]) // 960


def test_flows_have_the_parameters_of_their_own_entry():
    text = """
    duration = "30 s"
    [wired]
    loss = "2 %"
    [radio.dch]
    ues = 2
    [[flow]]
    ue = "each"
    app.web = {}
    [[flow]]
    ue = 1
    app.bulk = {}
    tcp.mss = "500 B"
    [[flow]]
    ue = "each"
    app.bulk = {}
    tcp.mss = "700 B"
    """
    _, flows = predictions(text)
    bulk = [flow for flow in flows if flow.flow["app"] == "bulk"]
    assert [(flow.flow["ue"], flow.segment_bytes) for flow in bulk] == [(0, 700), (1, 500), (1, 700)]


def test_the_link_takes_the_other_bearer_for_an_upload():
    text = SAW_TOOTH.replace("[[flow]]", '[[flow]]\ndirection = "uplink"')
    chosen = scenario(text, **{"radio.variable.uplink.queue.droptail.packets": "6"})
    summary = airpath.run(chosen, probes=()).summary
    link = measured_link(summary, tomllib.loads(chosen.text), summary["flows"][0])
    assert isinstance(link, Link)
    assert (link.service_rate, link.buffer_packets) == (pytest.approx(8, rel=1e-2), 5)
    assert link.propagation_s == pytest.approx(0.4)


def test_the_command_says_the_same_of_a_run_and_of_its_folder(airpath_command, tmp_path):
    file = tmp_path / "saw.toml"
    file.write_text(SAW_TOOTH)
    assert airpath_command("run", file, "--seed", 3, "--out", tmp_path / "run", "--json").code == 0
    of_folder = airpath_command("predict", tmp_path / "run", "--json")
    of_scenario = airpath_command("predict", file, "--seed", 3, "--json")
    assert (of_folder.code, of_scenario.code) == (0, 0)
    runs = json.loads(of_folder.out)["runs"]
    assert runs == json.loads(of_scenario.out)["runs"]
    (run,) = runs
    assert run["seed"] == 3
    (flow,) = run["flows"]
    assert [model["name"] for model in flow["models"]] == [model.name for model in MODELS]
    by_name = {model["name"]: model for model in flow["models"]}
    saw_tooth = by_name["lakshman_madhow"]
    assert saw_tooth["kbit_per_s"] == pytest.approx(saw_tooth["packets_per_s"] * 960 * 8 / 1000)
    measured = flow["measured_kbit_per_s"]
    assert saw_tooth["relative_error"] == pytest.approx(saw_tooth["kbit_per_s"] / measured - 1)


def test_tables_show_means_over_seeds(airpath_command, tmp_path):
    file = tmp_path / "saw.toml"
    file.write_text(SAW_TOOTH)
    changes = ("--set", "duration=100 s", "--set", "wired.loss=1 %")
    outcome = airpath_command("predict", file, *changes, "--runs", 3, "--seed", 5)
    assert outcome.code == 0
    assert "seeds 5, 6, 7" in " ".join(outcome.out.split())
    said = json.loads(airpath_command("predict", file, *changes, "--runs", 3, "--seed", 5, "--json").out)
    measured = [run["flows"][0]["measured_kbit_per_s"] for run in said["runs"]]
    assert len(set(measured)) == 3
    assert f"measured {sum(measured) / 3:.1f} kbit/s" in outcome.out
    for index, model in enumerate(MODELS):
        kbits = [run["flows"][0]["models"][index]["kbit_per_s"] for run in said["runs"]]
        known = [kbit for kbit in kbits if kbit is not None]
        (line,) = (line for line in outcome.out.splitlines() if line.strip().startswith(f"{model.title} "))
        assert f"{sum(known) / len(known):.1f}" in line
        assert ("of 3 runs" in line) == (len(known) < 3)
    for name, key in (("TD", "fast_retransmits"), ("TO", "timeouts")):
        counts = [run["flows"][0]["episodes"][key] for run in said["runs"]]
        assert f", {name} {sum(counts) / 3:.2f}, " in outcome.out


def test_a_folder_that_is_no_run_is_an_error(airpath_command, tmp_path):
    outcome = airpath_command("predict", tmp_path)
    check_error(outcome, str(tmp_path), "holds no manifest.json: the run was not finished", "has filled")
    file = tmp_path / "saw.toml"
    file.write_text(SAW_TOOTH)
    assert (
        airpath_command("run", file, "--set", "duration=5 s", "--out", tmp_path / "run", "--json").code == 0
    )
    results = tmp_path / "run" / "results.json"
    summary = json.loads(results.read_text())
    results.write_text("{")
    outcome = airpath_command("predict", results.parent)
    check_error(outcome, str(results), "cannot be read", "run the scenario again")
    results.write_text(json.dumps({**summary, "flows": [{**summary["flows"][0], "loss_episodes": 5}]}))
    check_error(
        airpath_command("predict", results.parent), str(results.parent), "are not of one run", "again"
    )


def test_options_that_do_not_suit_are_errors(airpath_command, tmp_path):
    check_error(
        airpath_command("predict", tmp_path, "--seed", 2), "--seed", "finished run", "name a scenario"
    )
    outcome = airpath_command("predict", tmp_path, "--set", "tcp.mss=500 B")
    check_error(outcome, "--set", "finished run", "name a scenario")
    check_error(airpath_command("predict", "umts-384", "--runs", 0), "--runs", "0 is too few", "at least 1")
    check_error(airpath_command("predict", "nothing"), "nothing", "no such scenario", "write the path")


def test_a_run_that_was_stopped_and_a_kernels_flow_are_not_predicted(airpath_command, tmp_path):
    file, out = tmp_path / "saw.toml", tmp_path / "run"
    file.write_text(SAW_TOOTH)
    assert airpath_command("run", file, "--out", out, "--json").code == 0
    results = out / "results.json"
    summary = json.loads(results.read_text())
    results.write_text(json.dumps({**summary, "complete": False}))
    outcome = airpath_command("predict", out)
    assert outcome.code == 0
    assert "no model applies: the run was stopped before its end" in outcome.out
    # As a live run has them.
    (flow,) = summary["flows"]
    results.write_text(json.dumps({**summary, "flows": [{**flow, "loss_episodes": None}]}))
    outcome = airpath_command("predict", out)
    assert outcome.code == 0
    assert "no model applies: its loss episodes are not known" in outcome.out
