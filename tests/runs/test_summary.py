"""What `airpath run` prints of a run, whatever the scenario."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable

import pytest
from conftest import Outcome

import airpath
from airpath.report import elements
from airpath.scenario import bundled


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled())
def test_every_scenario_has_a_summary(name: str, airpath_command: Callable[..., Outcome]) -> None:
    outcome = airpath_command("run", name, "--set", "duration=10 s")
    assert outcome.code == 0, outcome.err
    # A small file ends before that.
    end = "s of simulated time" if name == "lundsten-384-576" else "after 10.000 s of simulated time"
    first = tomllib.loads(airpath.load(name).text)["flow"][0]
    direction = first.get("direction", "downlink")
    words = [end, f"0.0 {direction}", f"UE 0 {direction} bearer: "]
    if name == "two-cells":  # Its UEs and cells have names.
        words[1:] = ["walker.0 downlink", "walker downlink bearer in macro: "]
        words += ["phone over small.0 downlink", "phone over small downlink bearer in small: "]
        words += ["phone over fixed.0 downlink", "phone over fixed has no downlink bearer"]
    if name == "mptcp-lte-wifi":
        words[1:] = ["phone over wifi.0 downlink", "phone over lte downlink bearer in lte: "]
    if name == "endc-drive":
        words[1:] = ["car over nr.0 downlink", "car downlink bearer in nr: ", "car downlink bearer in lte: "]
    if name == "lte-drive":
        words[1:] = ["car.0 downlink", "car downlink bearer in west: ", "a downlink bearer in west: "]
    assert all(word in outcome.out for word in words), outcome.out
    assert "nan" not in outcome.out and "None" not in outcome.out


def test_what_a_cell_withdraws_at_a_hand_over_is_told(airpath_command: Callable[..., Outcome]) -> None:
    outcome = airpath_command("run", "two-cells", "--set", "duration=16 s")
    macro, *others = (line for line in outcome.out.splitlines() if " downlink bearer in " in line)
    assert " withdrawn at a hand-over, at most " in macro
    assert others and not any("withdrawn" in line for line in others)


def test_tables_of_several_cells_name_the_interfaces_that_each_served(
    airpath_command: Callable[..., Outcome],
) -> None:
    drx = 'cell[1].radio.lte.activity.drx={ after = "50 ms", on = "10 ms", cycle = "160 ms" }'
    lines = airpath_command("run", "two-cells", "--set", "duration=20 s", "--set", drx).out.splitlines()

    def rows(heading: str, below: str) -> list[str]:
        first = next(number for number, line in enumerate(lines) if line.lstrip().startswith(heading))
        assert lines[first + 1].lstrip().startswith(below)
        return lines[first + 2 : first + 4]

    assert rows("outage", "in macro")[0].split()[0] == "walker"
    named = [row.rpartition("  ")[0].lstrip().partition("  ")[0] for row in rows("activity", "in small")]
    assert named == ["walker", "phone over small"]
    assert not any(line.lstrip().startswith("2 ") for line in lines)


def test_the_forward_link_of_an_hdr_cell_has_a_table(airpath_command: Callable[..., Outcome]) -> None:
    what = ("run", "hdr-4", "--set", "duration=10 s")
    cell = json.loads(airpath_command(*what, "--json").out)["elements"][-1]
    shown = airpath_command(*what).out
    line = f"{100 * cell['slots_busy_share']:.1f} % of the slots busy; Jain's index {cell['jain_index']:.4f}"
    assert f"forward link: {line}" in shown
    for number, ue in enumerate(cell["ues"]):
        counters, drc = ue["downlink"], ue["downlink"]["drc"]
        mean = sum(
            share * float(rate.removesuffix(" kbit/s")) for rate, share in drc.items() if rate != "none"
        )
        row = [
            str(number),
            f"{counters['throughput_bps'] / 1e3:.1f}",
            str(counters["slots_served"]),
            f"{mean:.1f}",
        ]
        assert any(line.split()[:4] == row for line in shown.splitlines()), (row, shown)


def test_snoop_and_feedback_have_tables(airpath_command: Callable[..., Outcome]) -> None:
    loss = '{ packet_loss = { downlink = { loss = "2 %" } } }'
    what = ("run", "umts-snoop", "--set", 'tcp.rnf="first_flagged"', "--set")
    for box in ("snoop", "rnc_feedback"):
        run = (*what, f"middlebox=[{{ {box} = {{}} }}, {loss}]")
        results = json.loads(airpath_command(*run, "--json").out)
        counts = next(part for part in results["elements"] if part["element"] == f"middlebox.{box}")
        if box == "snoop":
            again = counts["local_retransmissions"]
            row = [counts["segments_cached"], counts["peak_cached_packets"], again["dupack"], again["timer"]]
            row += [again["spurious"], counts["dupacks_suppressed"], counts["dupacks_passed"]]
            row += [counts["sender_retransmissions"], counts["nacks"]]
            assert again["dupack"] > 0
        else:
            repaired = results["flows"][0]["rnf"]["wireless_fast_retransmits"]
            row = [counts["segments_cached"], counts["peak_cached_segments"], counts["evictions"]]
            row += [counts["forgotten_drops"], counts["acks_flagged"], repaired]
            assert repaired > 0
        lines = [line.split() for line in airpath_command(*run).out.splitlines()]
        assert [str(count) for count in row] in lines


def test_the_regulator_has_a_table(airpath_command: Callable[..., Outcome]) -> None:
    what = ("run", "chan-variable-delay-ar", "--set", "duration=100 s")
    boxes = json.loads(airpath_command(*what, "--json").out)["elements"]
    (flow,) = next(box for box in boxes if box["element"] == "middlebox.ack_regulator")["flows"]
    share = f"{100 * flow['conservative_s'] / 100:.1f}"
    row = [
        "0.0",
        str(flow["acks"]),
        str(flow["acks_held"]),
        str(flow["peak_held_acks"]),
        "0",
        "0",
        share,
        "0",
    ]
    assert flow["acks_held"] > 0
    assert row in [line.split() for line in airpath_command(*what).out.splitlines()]


def test_ack_rate_control_has_a_table(airpath_command: Callable[..., Outcome]) -> None:
    box = "[{ ack_rate_control = { t_id_after_drop = { off = {} } } }]"
    queue = "radio.dch.downlink.queue={ pdpc = { packets = 30, max_threshold = 5 } }"
    what = ("run", "umts-384-simple", "--set", f"middlebox={box}", "--set", queue)
    results = json.loads(airpath_command(*what, "--json").out)
    (ue,) = next(part for part in results["elements"] if part["element"] == "middlebox.ack_rate_control")[
        "ues"
    ]
    assert ue["acks_held"] > 0
    assert ue["drops_followed"] > 0
    row = [
        "0",
        str(ue["acks"]),
        str(ue["acks_held"]),
        str(ue["peak_held_acks"]),
        f"{ue['mean_hold_ms']:.1f}",
        str(ue["drops_followed"]),
        f"{100 * ue['t_id_after_drop_s'] / results['simulated_s']:.1f}",
        str(ue["forced_releases"]["idle"]),
        "0",
    ]
    assert row in [line.split() for line in airpath_command(*what).out.splitlines()]


def test_the_core_network_has_a_table(airpath_command: Callable[..., Outcome]) -> None:
    what = ("run", "umts-network", "--set", "duration=20 s", "--set", "umts.iu.buffer=8 kB")
    core = json.loads(airpath_command(*what, "--json").out)["elements"][1]
    assert core["dropped_queue_full"]["iu"] > 0
    lines = [line.split() for line in airpath_command(*what).out.splitlines()]
    for ue in core["ues"]:
        down, up = ue["iu"]["downlink"], ue["iu"]["uplink"]
        headers = 40 * (down["g_pdus"] + up["g_pdus"]) / (down["octets"] + up["octets"])
        row = [
            str(ue["ue"]),
            ue["class"],
            f"{ue['active_s']:.3f}",
            str(down["g_pdus"]),
            str(up["g_pdus"]),
            f"{down['octets'] / 1e3:.1f}",
            f"{up['octets'] / 1e3:.1f}",
            f"{100 * headers:.1f}",
            "0",
        ]
        assert row in lines
    full = core["dropped_queue_full"]
    dropped = f"core network: {full['gn']} packets dropped at the Gn, {full['iu']} at the Iu, 0 without"
    assert any(" ".join(line).startswith(dropped) for line in lines)


def test_only_ues_that_are_shown_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at each UE's flows would take minutes with ten thousand UEs."""
    looked_up = []
    monkeypatch.setattr(elements, "interface_name", lambda _, ue: looked_up.append(ue))
    ues = [{"downlink": {"sdus_delivered": 1}, "activity": {"time_s": {}, "woken": {}}}] * 1000
    list(elements.element_parts({"element": "radio.lte", "ues": ues}, {"flows": []}))
    assert 0 < len(looked_up) <= 4 * elements.MOST_ROWS
