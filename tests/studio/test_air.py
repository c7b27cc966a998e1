"""The path, animated: the model of a run, the cursor that moves, packets that are followed and saved."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import no_pictures

import airpath
from airpath import _core
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page

# A minute and a half together: `make test` opens pages in test_browser.py.
pytestmark = pytest.mark.slow

# Counts of the model, which have to agree with the trace.
FACTS = """
Promise.all(['main', 'model'].map((name) => import(`studio/${name}`))).then(([{store}, {modelOf}]) => {
  const model = modelOf(store.state.variants[0]);
  const {packets, sdus} = model;
  const {time_ns, element} = packets.table.columns;
  const rows = (kind) => store.events.table(kind)?.rows ?? 0;
  const facts = {
    outcomes: [0, 0, 0, 0], arrivals: [], moves: 0, forgotten: 0, early: 0, whole: 0, unpaired: 0,
    drops: packets.drop.filter((row) => row >= 0).length, dropped: rows('dropped'),
    segments: packets.sent.filter((row) => row >= 0).length, sent: rows('segment_sent'),
  };
  const [ended, data] = [store.events.table('rlc_sdu'), store.events.table('rlc_data')];
  for (let packet = 0; packet < packets.count; packet += 1) {
    facts.outcomes[packets.outcome[packet]] += 1;
    const stops = [...packets.stops.slice(packets.first[packet], packets.first[packet + 1])];
    const places = stops.map((row) => element.values[row]);
    facts.moves += places.slice(1).every((place, n) => Math.abs(place - places[n]) === 1);
    const last = stops[stops.length - 1];
    if (places[places.length - 1] === model.last) facts.arrivals.push(time_ns.values[last]);
    if (packets.outcome[packet] === 0 && time_ns.values[last] < model.end - 20e9) facts.forgotten += 1;
  }
  for (const bearer of model.bearers.values()) {
    for (const sdu of bearer.sdus) {
      facts.unpaired += sdus.packet[sdu] < 0;
      if (sdus.ended[sdu] < 0 || sdus.out[sdu] === Infinity) continue;
      const last = sdus.first[sdu] + ended.columns.pdus.values[sdus.ended[sdu]];
      let arrived = 0;
      for (let pdu = sdus.first[sdu]; pdu < last; pdu += 1) arrived = Math.max(arrived, bearer.arrived[pdu]);
      facts.whole += 1;
      facts.early += sdus.out[sdu] < arrived;
    }
  }
  return {...facts, packets: packets.count, missing: model.missing};
})
"""

SCENARIOS = [
    ("umts-384", {}),
    ("umts-64-simple", {}),
    ("umts-network", {}),
    ("umts-handover", {"duration": "40 s"}),
    ("umts-snoop", {"duration": "30 s"}),
    ("alcaraz-384-combined-1", {"duration": "20 s"}),
    ("hdr-4-ar", {"duration": "20 s"}),
    ("chan-variable-delay-ar", {"duration": "40 s"}),
    ("variable-3g", {"duration": "20 s"}),
    ("jayanathan-46", {"duration": "40 s"}),
    ("hsdpa-3.6-still", {"duration": "8 s"}),
    ("lte-drive-series", {"duration": "4 s"}),
]


@pytest.fixture(scope="session")
def fine_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make the folder of a run with every probe, once."""
    made: dict[Any, Path] = {}

    def make(scenario: str = "umts-384", **changes: str) -> Path:
        key = (scenario, *changes.items())
        if key not in made:
            changed = airpath.load(scenario)
            for path, value in changes.items():
                changed = changed.with_(path, value)
            made[key] = tmp_path_factory.mktemp("fine") / "out"
            with no_pictures():
                run_to_folder(changed, 1, made[key], probes=list(_core.probes()))
            (made[key] / "page.html").write_bytes(page(FinishedRun.open(made[key])))
        return made[key]

    return make


@pytest.fixture
def umts(opened, fine_folder):
    return opened(fine_folder() / "page.html")


@pytest.fixture(params=["page", "simulated"])
def everywhere(request, opened, fine_folder, serving):
    """The same run from its page, and as the server makes it."""
    return opened(fine_folder() / "page.html" if request.param == "page" else serving("umts-384"))


def trace(folder: Path, kind: str) -> Any:
    return pq.read_table(folder / "trace" / f"{kind}.parquet")


@pytest.mark.parametrize(("scenario", "changes"), SCENARIOS)
def test_packets_and_pdus_are_those_of_the_trace(opened, fine_folder, scenario, changes):
    folder = fine_folder(scenario, **changes)
    facts = opened(folder / "page.html").view.evaluate(FACTS)
    packets = trace(folder, "packet")
    last = len(_core.path((folder / "scenario.resolved.toml").read_text())[0]) - 1
    there = packets["element"].to_numpy() == last
    assert sorted(facts["arrivals"]) == sorted(packets["time_ns"].to_numpy()[there].tolist())
    assert facts["moves"] == facts["packets"]  # Each stop is next to the previous one.
    assert facts["drops"] == facts["dropped"] == facts["outcomes"][2]
    assert facts["segments"] == facts["sent"]
    assert facts["forgotten"] == facts["early"] == facts["unpaired"] == 0
    assert (facts["whole"] > 0) == (trace(folder, "rlc_sdu").num_rows > 0)
    assert facts["missing"] == []
    if scenario == "umts-384":  # It ends when the transfer is complete.
        ends = np.isin(packets["element"].to_numpy(), [0, last]).sum()
        assert facts["outcomes"] == [0, ends, trace(folder, "dropped").num_rows, 0] and ends > 2000


def test_it_plays_pauses_and_steps(everywhere):
    umts = everywhere
    view = umts.view
    view.locator("#speed").select_option("1")
    view.locator("#play").click()
    view.wait_for_timeout(400)
    umts.press("p", "p")  # Folded and open again, it plays on.
    view.locator("#plots").focus()
    umts.press("Space")
    at = umts.state("state.at")
    assert 0.2 < at < 20 and umts.state("state.playing") is False
    view.wait_for_timeout(150)
    assert umts.state("state.at") == at
    umts.press(".")
    stepped = umts.state("state.at")
    assert at < stepped <= at + 0.010001 and round(stepped * 1e9) % 10_000_000 == 0
    umts.press(".", ",")
    assert umts.state("state.at") == pytest.approx(stepped)
    assert view.locator("#clock").inner_text() == f"{stepped:.4f} s · TTI {round(stepped * 100)}"
    umts.press("]", "]", "[")
    assert umts.state("state.speed") == 5


def test_the_plots_follow_the_cursor(umts):
    umts.view.evaluate(
        "import('studio/main').then(({store}) => store.set({range: [10, 10.2], at: 10.1, speed: 1}))"
    )
    umts.press("Space")
    umts.view.wait_for_timeout(500)
    umts.press("Space")
    at, (begin, end) = umts.state("state.at"), umts.state("state.range")
    assert at > 10.2 and begin <= at <= end and end - begin == pytest.approx(0.2)
    assert umts.state("state.chosen") is None


def test_the_next_lost_block_is_a_lost_tti_and_the_words_say_so(everywhere, fine_folder):
    umts = everywhere
    data = trace(fine_folder(), "rlc_data").to_pylist()
    lost = [row for row in data if row["lost"] and row["direction"] == "downlink"]
    umts.view.locator("#lost").click()
    umts.settle()
    first = umts.state("state.chosen")
    assert data[first["row"]] == lost[0] and umts.state("state.at") == lost[0]["time_ns"] / 1e9
    umts.press(">")
    second = umts.state("state.at")
    assert second == next(row["time_ns"] for row in lost if row["time_ns"] > lost[0]["time_ns"]) / 1e9
    again = next(
        row
        for row in data
        if row["time_ns"] / 1e9 > second
        and row["direction"] == "downlink"
        and row["first_sn"] == data[umts.state("state.chosen")["row"]]["first_sn"]
    )
    told = umts.view.locator("#moment").filter(has_text=f"TTI {round(second * 100)} is lost")
    told.wait_for()
    assert f"retransmitted in TTI {again['time_ns'] // 10_000_000}." in told.inner_text()
    umts.press("<")
    assert umts.state("state.at") == lost[0]["time_ns"] / 1e9


def losses(folder):
    """Count dropped packets and retransmissions."""
    (flow,) = FinishedRun.open(folder).summary["flows"]
    return trace(folder, "dropped").num_rows, flow["retransmissions"]["total"]


def test_one_packet_is_followed_through_its_life(everywhere, fine_folder):
    umts = everywhere
    view = umts.view
    dropped, again = losses(fine_folder())
    view.locator("[data-tab=packets]").click()
    view.locator("#outcome").select_option("queue_full")
    view.locator("#object-count").filter(has_text=str(dropped)).wait_for()
    view.locator("#outcome").select_option("")
    view.locator("#cause").select_option("again")
    view.locator("#object-count").filter(has_text=str(again)).wait_for()
    view.locator(".packet").first.click()
    stops = view.locator("#stops button")
    stops.first.wait_for()
    told = stops.all_inner_texts()
    assert "the server sends it: fast retransmit" in told[0]
    order = [
        "into the RNC's buffer",
        "PDUs",
        "arrives at",
        "sends an ACK for it",
        "the ACK arrives at the server",
    ]
    places = [next(n for n, text in enumerate(told) if words in text) for words in order]
    assert places == sorted(places)
    times = [float(text.split()[0]) for text in told]
    assert times == sorted(times)
    stops.nth(len(told) - 1).click()
    umts.settle()
    assert umts.state("state.at") == pytest.approx(times[-1], abs=1e-4)
    assert umts.state("state.followed") is not None
    view.get_by_role("button", name="Follow no packet").click()
    umts.settle()
    assert umts.state("state.followed") is None and view.locator("#life").is_hidden()


def test_a_click_into_the_animation_follows_the_packet_there(umts):
    umts.view.evaluate("import('studio/main').then(({store}) => store.set({at: 3.2}))")
    umts.view.locator("#clock").filter(has_text="3.2000").wait_for()
    canvas = umts.view.locator(".scene canvas")
    box = canvas.bounding_box()
    # The head of the buffer is at its right.
    columns = umts.view.evaluate(
        "Promise.all([import('studio/main'), import('studio/lanes'), import('studio/graph')])"
        ".then(([{store}, {layoutOf}, {graphOf}]) => layoutOf(graphOf(store.run), "
        f"{box['width']}, [true]).columns.find(({{kind}}) => kind === 'buffer'))"
    )
    canvas.click(position={"x": columns["right"] - 50, "y": 44})
    umts.view.locator("#life-of").filter(has_text="data").wait_for()
    assert umts.view.get_by_role("tab", name="Packets").get_attribute("aria-selected") == "true"


def test_packets_are_saved_for_wireshark(everywhere, fine_folder, airpath_command, tmp_path):
    umts = everywhere
    view = umts.view
    view.locator("[data-tab=packets]").click()
    with view.expect_download() as found:
        view.get_by_role("button", name="Save pcapng").click()
    file = tmp_path / "packets.pcapng"
    found.value.save_as(file)
    packets = trace(fine_folder(), "packet").to_pylist()
    ends = [
        row
        for row in packets
        if (row["element"], row["direction"])
        in {(1, "downlink"), (0, "uplink"), (3, "downlink"), (2, "uplink")}
    ]
    seen = list(blocks(file.read_bytes()))
    assert [time for _, time, _ in seen] == [row["time_ns"] for row in ends]
    for (side, _, octets), row in zip(seen, ends, strict=True):
        assert side == (row["element"] > 1)
        length, seq, ack = struct.unpack_from("!H", octets, 2)[0], *struct.unpack_from("!II", octets, 24)
        assert (length, seq, ack) == (row["len_bytes"], row["seq"], row["ack"])
        assert struct.unpack_from("!H", octets, 32)[0] & 0x1FF == row["flags"]
        assert sum(struct.unpack("!10H", octets[:20])) % 0xFFFF == 0
    assert airpath_command("analyze", file).code == 0


def blocks(content: bytes) -> Any:
    """Packets of a pcapng file: interface, time in nanoseconds, octets."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert struct.unpack_from("<I", content, at + length - 4)[0] == length
        if kind == 6:
            side, high, low, captured, _ = struct.unpack_from("<IIIII", content, at + 8)
            yield side, high << 32 | low, content[at + 28 : at + 28 + captured]
        at += length


def test_events_are_saved_as_parquet(umts, fine_folder, tmp_path):
    view = umts.view
    view.keyboard.press("/")
    view.locator("#count").filter(has_text="events").wait_for()
    view.locator("#kind").select_option("losses")
    count = sum(losses(fine_folder()))
    view.locator("#count").filter(has_text=f"{count} events").wait_for()
    with view.expect_download() as found:
        view.locator("#save-events").click()
    found.value.save_as(tmp_path / "events.parquet")
    table = pq.read_table(tmp_path / "events.parquet")
    assert table.num_rows == count
    drops = [row for row in table.to_pylist() if row["event"] == "dropped"]
    expected = trace(fine_folder(), "dropped").to_pylist()
    assert [{key: row[key] for key in expected[0]} for row in drops] == expected
    assert all(row["tcpi_snd_cwnd"] is None for row in drops)
    times = table["time_ns"].to_pylist()
    assert times == sorted(times)
    view.locator("[data-tab=packets]").click()
    view.locator("#what").select_option("pdus")
    view.locator("#outcome").select_option("2")
    with view.expect_download() as found:
        view.get_by_role("button", name="Save Parquet").click()
    found.value.save_as(tmp_path / "pdus.parquet")
    lost = [row for row in trace(fine_folder(), "rlc_data").to_pylist() if row["lost"]]
    assert pq.read_table(tmp_path / "pdus.parquet")["first_sn"].to_pylist() == [
        row["first_sn"] for row in lost
    ]


def test_a_number_is_found_and_words_with_it(umts, fine_folder):
    segments = trace(fine_folder(), "segment_sent").to_pylist()
    seq = segments[100]["seq"]
    view = umts.view
    view.keyboard.press("/")
    view.locator("#search").fill(f"segment sent {seq}")
    count = sum(row["seq"] == seq for row in segments)
    view.locator("#count").filter(has_text=f"{count} events").wait_for()


def test_what_a_page_has_no_room_for_is_said(opened, run_folder, tmp_path):
    file = tmp_path / "page.html"
    file.write_bytes(page(FinishedRun.open(run_folder("umts-384")), 25_000))
    shown = opened(file)
    words = "Packets are not shown: no room on this page."
    shown.view.locator("#moment").filter(has_text=words).wait_for()
    shown.press(".")
    assert shown.state("state.at") > 0


def test_two_variants_move_under_one_cursor(umts):
    umts.view.set_viewport_size({"width": 1280, "height": 1080})
    put = "import('studio/main').then(({store}) => store.put(1, {...store.state.variants[0]}))"
    umts.view.evaluate(put)
    umts.view.locator(".scene canvas").nth(1).wait_for()
    umts.press(".")
    labels = umts.view.locator(".scene canvas").evaluate_all("all => all.map((one) => one.width)")
    assert len(labels) == 2 and labels[0] == labels[1] > 0


def test_the_flow_of_the_path_is_chosen(opened, fine_folder):
    page = opened(fine_folder("hdr-4-ar", duration="20 s") / "page.html")
    page.view.evaluate("import('studio/main').then(({store}) => store.set({at: 10}))")
    said = page.view.locator("#moment").filter(has_text="in flight")
    said.wait_for()
    first = said.inner_text()
    page.view.locator("#whose").select_option(label="UE 2: reno")
    page.view.locator("#moment").filter(has_not_text=first).wait_for()


def test_outages_are_marked(opened, fine_folder):
    shown = opened(fine_folder("umts-handover", duration="40 s") / "page.html")
    spans = shown.view.evaluate(
        "Promise.all(['main', 'spans'].map((name) => import(`studio/${name}`)))"
        ".then(([{store}, {spansOf}]) => spansOf(store))"
    )
    assert [(span["from"], span["to"], span["word"]) for span in spans] == [(20, 23, "outage")]
    shown.view.evaluate("import('studio/main').then(({store}) => store.set({at: 21}))")
    shown.view.locator("#moment").filter(has_text="Outage: nothing reaches the UE.").wait_for()


def test_reduced_motion_steps_by_tti(opened, fine_folder):
    calm = opened(fine_folder() / "page.html", reduced_motion="reduce")
    calm.view.locator("#speed").select_option("1")
    calm.press("Space")
    calm.view.wait_for_timeout(700)
    calm.press("Space")
    at = calm.state("state.at")
    assert at > 0 and round(at * 1e9) % 10_000_000 == 0


# Draws and tells a run without one of its kinds of event, or with that one alone.
WITHOUT = """async () => {
  const names = ['main', 'model', 'events', 'scene', 'standing', 'life'];
  const modules = await Promise.all(names.map((name) => import(`studio/${name}`)));
  const [{store}, {Model}, {Events}, {Scene}, {momentOf}, {lifeOf}] = modules;
  const scene = new Scene(document.createElement('canvas'));
  scene.size(800, 156);
  const theme = {inks: Array(8).fill('#000')};
  const told = {};
  for (const kind of store.events.kinds) {
    for (const has of [(own) => own !== kind, (own) => own === kind]) {
      const events = new Events();
      for (const own of store.events.kinds.filter(has)) events.parts[own] = [store.events.table(own)];
      const model = new Model({...store.run, left_out: {}}, events);
      const flow = store.run.summary.flows[0];
      for (const at of [0, 3, 4.27, 6.2, 20, 49]) {
        const view = {ue: flow.ue, flow, now: at * 1e9, fall: 1e8, followed: model.packets ? 5 : null};
        scene.draw(model, view, theme);
        momentOf(model, view);
      }
      if (model.packets) lifeOf(model, 300, String);
      if (has(kind) === false) told[kind] = model.missing;
    }
  }
  return told;
}"""


def test_any_kind_of_event_may_be_missing(umts):
    told = umts.view.evaluate(WITHOUT)
    assert told["packet"] == ["Packets are not shown: not recorded."]
    assert told["bearer_enqueued"] == ["The buffer is not shown: not recorded."]
    assert told["rlc_sdu"] == ["Which PDUs carry a packet is not shown: not recorded."]
    assert told["tcp_state"] == []
