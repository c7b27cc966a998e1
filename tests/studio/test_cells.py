"""Scenarios with several cells, ways and interfaces, in the front: names, and the path as a graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import sampled

import airpath
from airpath import _core
from airpath.runs.finished import FinishedRun
from airpath.runs.lines import kinds_read, read_lines
from studio.layout import faults_at_sizes, record_canvas_texts

from .conftest import Opened

CHANGES = {
    "duration": "5 s",
    "handover[0]__at": "2 s",
    "way[1]__wired__rate": "2 Mbit/s",
    "cell[1]__radio__lte__downlink__blocks__bandwidth": "1.4 MHz",
}
"""Changes of `two-cells`: shorter, with fewer packets."""


def test_the_core_tells_which_places_are_next_to_each_other():
    names, edges = _core.path(airpath.load("umts-384").text)
    assert names == ["server", "link", "radio.dch", "ue"] and edges == [[0, 1], [1, 2], [2, 3]]
    names, edges = _core.path(airpath.load("two-cells").text)
    assert {(names[upper], names[lower]) for upper, lower in edges} == {
        ("server", "fork server"),
        ("fork server", "link backhaul"),
        ("link backhaul", "fork backhaul"),
        ("fork backhaul", "radio.dch macro"),
        ("fork backhaul", "radio.lte small"),
        ("fork server", "link fixed"),
        ("radio.dch macro", "fork ue"),
        ("radio.lte small", "fork ue"),
        ("link fixed", "fork ue"),
        ("fork ue", "ue"),
    }


@pytest.fixture
def shown(opened, page_of):
    return opened(page_of("two-cells", **CHANGES))


def test_flows_bear_the_names_of_their_interfaces(shown):
    view = shown.view
    names = ["walker", "phone over small", "phone over fixed"]
    assert shown.ask("store.run.names") == [f"{name}: cubic" for name in names]
    view.locator("#flow-count").click()
    assert set(view.locator("#flow-list .name").all_inner_texts()) == {f"{name}: cubic" for name in names}
    view.locator("#flow-count").click()
    assert view.locator("#shown li").all_inner_texts() == [f"{name}: cubic" for name in names]
    view.locator("#t-events").click()
    view.locator("#search").fill("walker")
    view.locator("#list .whose", has_text="phone").first.wait_for(state="detached")
    assert {text.partition(".")[0] for text in view.locator("#list .whose").all_inner_texts()} == {"walker"}
    view.locator("#t-results").click()
    text = view.locator("#results").inner_text()
    assert "UE " not in text and "walker in macro, downlink" in text and "walker in small, downlink" in text
    assert "phone over fixed in" not in text and "phone over small in macro" not in text


FACTS = """import('studio/main').then(async ({store}) => {
  const {modelOf} = await import('studio/model');
  const model = modelOf(store.state.variants[0]);
  const {count, table, first, stops, outcome, end, drop} = model.packets;
  const {element, direction, ue, time_ns} = table.columns;
  const {reason} = model.events.table('dropped').columns;
  const why = (packet) => drop[packet] < 0 ? '' : reason.words[reason.values[drop[packet]]];
  const isLost = (packet) => why(packet) === 'cell_changed';
  const edges = new Set(store.run.edges.flatMap(([a, b]) => [`${a} ${b}`, `${b} ${a}`]));
  let [apart, lost] = [0, 0];
  const through = {};
  for (let packet = 0; packet < count; packet += 1) {
    const places = [...stops.slice(first[packet], first[packet + 1])].map((row) => element.values[row]);
    const steps = places.slice(1).map((place, at) => `${places[at]} ${place}`);
    apart += steps.filter((step) => !edges.has(step)).length;
    if (isLost(packet)) lost += 1;
    if (outcome[packet] !== 1) continue;
    const row = stops[first[packet]];
    const when = time_ns.values[row] < 2e9 ? 'before' : 'after';
    const cells = places.filter((place) => model.graph.cells.includes(place));
    const cell = cells.map((place) => model.path[place]).join();
    (through[ue.values[row]] ??= {})[cell] ??= [0, 0];
    through[ue.values[row]][cell][Number(when === 'after')] += 1;
  }
  const came = (place) => element.values.reduce((sum, own) => sum + Number(own === place), 0);
  const tti = (ue, now) => model.bearer(ue, false, now)?.tti ?? 0;
  const {sdus} = model;
  return {
    apart, lost, through, came: came(0) + came(model.last),
    arrived: outcome.reduce((sum, own) => sum + Number(own === 1), 0),
    ttis: [tti(0, 1e9), tti(0, 4e9), tti(1, 1e9), tti(2, 1e9)],
    unpaired: sdus.packet.reduce((sum, own) => sum + Number(own < 0), 0),
    ended: Math.max(...[...end].filter((_, packet) => isLost(packet))),
  };
})"""


def test_packets_are_followed_through_the_graph(shown):
    facts = shown.view.evaluate(FACTS)
    assert facts["apart"] == 0 and facts["unpaired"] == 0
    assert facts["arrived"] == facts["came"]
    walker, small, fixed = (facts["through"][ue] for ue in "012")
    assert walker["radio.dch macro"][0] > 20 and walker["radio.lte small"][0] == 0
    assert walker["radio.lte small"][1] > 20
    assert set(small) == {"radio.lte small"} and set(fixed) == {""}
    # What the first cell held when the UE went is dropped when the second one begins.
    assert facts["lost"] > 0 and facts["ended"] == 2.2e9
    assert facts["ttis"] == [10e6, 1e6, 1e6, 0]


TEXTS = "[...window.drawnTexts].flatMap(([canvas, {texts}]) => texts.map(({text, box}) => [text, box.top]))"


@pytest.fixture
def drawn(browser, page_of):
    own = Opened(browser, page_of("two-cells", **CHANGES), record_canvas_texts)
    yield own
    own.context.close()
    assert own.said == []


def at(shown, time):
    shown.view.evaluate(f"import('studio/main').then(({{store}}) => store.set({{at: {time}}}))")
    shown.view.locator("#clock").filter(has_text=f"{time:.4f} s").wait_for()
    shown.settle()
    return dict(shown.view.evaluate(TEXTS))


def test_the_path_is_drawn_as_a_graph_with_the_names_of_the_scenario(drawn):
    drawn.view.set_viewport_size({"width": 1920, "height": 1080})
    before = at(drawn, 1.5)
    rows = ["macro: RNC buffer", "small: eNodeB buffer", "fixed"]
    assert before[rows[0]] < before["backhaul"] < before[rows[1]] < before[rows[2]]
    assert before["backhaul"] < before["server"] < before["fixed"]
    assert before["walker"] == pytest.approx(before[rows[0]], abs=3)
    assert before["phone over small"] == pytest.approx(before[rows[1]], abs=3)
    assert before["phone over fixed"] == pytest.approx(before[rows[2]], abs=3)
    assert any(text.startswith("outage") for text in at(drawn, 2.1))
    after = at(drawn, 3)
    assert "walker" not in after and after["walker + 1"] == pytest.approx(after[rows[1]], abs=3)


BOXES = """[...window.drawnTexts].filter(([, {texts}]) => texts.some(({text}) => text === 'server'))
  .flatMap(([canvas, {texts}]) => texts.map(({text, box: {left, right, top, bottom}}) =>
    [text, left, right, top, bottom, canvas.width]))"""


@pytest.mark.parametrize("width", sampled([390, 640, 1280], 1))
def test_words_of_the_path_are_whole_and_apart(drawn, width):
    drawn.view.set_viewport_size({"width": width, "height": 844})
    drops = drawn.view.evaluate(DROPS)
    assert drops
    for time in (3, *drops):
        at(drawn, time)
        boxes = drawn.view.evaluate(BOXES)
        assert boxes
        for text, left, right, *_, end in boxes:
            assert left >= 0 and right <= end, (time, text)
        names = [own for own in boxes if own[0] in ("backhaul", "queue full")]
        for one, other in itertools.combinations(names, 2):
            if one[0] != other[0]:
                apart = one[2] < other[1] or other[2] < one[1] or one[4] < other[3] or other[4] < one[3]
                assert apart, (time, one, other)


DROPS = """import('studio/main').then(({store}) => {
  const {rows, columns: {ue, reason, time_ns}} = store.events.table('dropped');
  const full = reason.words.indexOf('queue_full');
  const own = [...Array(rows).keys()].filter((row) => ue.values[row] === 0 && reason.values[row] === full);
  return own.slice(0, 3).map((row) => Number((time_ns.values[row] / 1e9 + 1e-3).toFixed(4)));
})"""


def test_a_packet_is_followed_through_its_cell(shown):
    view = shown.view
    view.evaluate("import('studio/main').then(({store}) => store.set({at: 3, flows: [0]}))")
    view.locator("#t-packets").click()
    view.locator("#object-list .packet").nth(4).click()
    view.locator("#stops li").first.wait_for()
    stops = view.locator("#stops").inner_text()
    assert "the link backhaul" in stops and "fork" not in stops and "the radio cell" not in stops
    assert "UE" in stops.splitlines()[-1] or "server" in stops


LINES = """import('studio/main').then(async ({store}) => {
  const {curvesOf, placeAt} = await import('studio/series');
  const [{lines}] = curvesOf({...store.state, flows: [0]});
  const told = (name) => [...lines.get(name)?.x ?? []];
  const queued = lines.get('queued');
  return {
    first: told('pdu'), again: told('pduAgain'), lost: told('pduLost'), cuts: queued.cuts,
    around: [1.9, 2.1, queued.cuts[0]].map((time) => placeAt(queued, time) >= 0),
  };
})"""


def test_lines_of_a_flow_begin_anew_in_another_cell(shown, run_folder):
    told = shown.view.evaluate(LINES)
    run = FinishedRun.open(run_folder("two-cells", **CHANGES))
    (data,) = run.events({"rlc_data": run.kinds["rlc_data"]})
    columns = data["rlc_data"]
    codes, words = columns["direction"]
    own = (columns["ue"] == 0) & (codes == words.index("downlink"))
    seen: dict[int, set[int]] = {}
    wanted: dict[str, list[float]] = {"first": [], "again": [], "lost": []}
    for at in own.nonzero()[0]:
        known, number = seen.setdefault(int(columns["bearer"][at]), set()), int(columns["first_sn"][at])
        key = "lost" if columns["lost"][at] else "again" if number in known else "first"
        wanted[key].append(columns["time_ns"][at] / 1e9)
        known.update(range(number, number + int(columns["pdus"][at])))
    assert len(seen) == 2 and min(len(times) for times in wanted.values()) > 10
    assert {key: told[key] for key in wanted} == wanted
    # Between the last packet for one cell and the first for the other the buffer is unknown.
    assert len(told["cuts"]) == 1 and told["cuts"][0] > 2.2
    assert told["around"] == [True, False, True]


def test_a_picture_does_not_join_the_buffers_of_two_cells(run_folder):
    run = FinishedRun.open(run_folder("two-cells", **CHANGES))
    flows = [(0, "walker"), (1, "phone")]
    walker, phone = read_lines(run.events(kinds_read(run.summary)), run.summary, flows, 5.0)
    gap = np.flatnonzero(np.isnan(walker.line("queued")[1]))
    before, after = np.split(walker.line("queued")[0], gap)
    assert len(gap) == 1 and before[-1] < 2.2 < after[0] == after[1]
    assert not np.isnan(phone.line("queued")).any()
    # However the trace comes in pieces.
    one = read_lines(pieces(run), run.summary, flows, 5.0)[0].line("queued")
    assert np.array_equal(one, walker.line("queued"), equal_nan=True)


def pieces(run: FinishedRun) -> Iterator[dict[str, Any]]:
    """Cut a trace into pieces of 700 events."""
    for events in run.events({"bearer_enqueued": kinds_read(run.summary)["bearer_enqueued"]}):
        columns = events["bearer_enqueued"]
        for at in range(0, len(columns["time_ns"]), 700):
            cut = slice(at, at + 700)
            part = {
                name: (own[0][cut], own[1]) if isinstance(own, tuple) else own[cut]
                for name, own in columns.items()
            }
            yield {"bearer_enqueued": part}


@pytest.mark.slow
def test_the_graph_is_whole_at_every_size(drawn):
    for time in (1.5, 2.1, 3):
        at(drawn, time)
        drawn.view.wait_for_timeout(300)
        assert faults_at_sizes(drawn.view) == []


WALK = {key: value for key, value in CHANGES.items() if key != "handover[0]__at"} | {
    "handover": '[{ ue = "walker", at = "1 s", outage = "100 ms", to = "small", forward = true }, '
    '{ ue = "walker", at = "2500 ms", outage = "100 ms", to = "macro", forward = true }]',
}
FORWARDED = """import('studio/main').then(async ({store}) => {
  const {modelOf} = await import('studio/model');
  const model = modelOf(store.state.variants[0]);
  const {count, table, first, stops} = model.packets;
  const {element} = table.columns;
  const edges = new Set(store.run.edges.flatMap(([a, b]) => [`${a} ${b}`, `${b} ${a}`]));
  const apart = new Set();
  const {reason} = model.events.table('dropped')?.columns ?? {};
  const lost = reason ? [...reason.values].filter((own) => reason.words[own] === 'cell_changed').length : 0;
  for (let packet = 0; packet < count; packet += 1) {
    const places = [...stops.slice(first[packet], first[packet + 1])].map((row) => element.values[row]);
    places.slice(1).forEach((place, at) => {
      const names = [places[at], place].map((own) => model.path[own]);
      if (!edges.has(`${places[at]} ${place}`)) apart.add(names.join(' to '));
    });
  }
  const cells = [0.5e9, 2e9, 4e9].map((now) => model.path[model.graph.cellOf(0, now)]);
  return {apart: [...apart], lost, cells};
})"""


@pytest.mark.slow
def test_packets_are_followed_from_cell_to_cell_and_back(opened, page_of):
    shown = opened(page_of("two-cells", **WALK))
    facts = shown.view.evaluate(FORWARDED)
    there = "radio.dch macro to radio.lte small"
    assert there in facts["apart"] and set(facts["apart"]) <= {there, "radio.lte small to radio.dch macro"}
    assert facts["lost"] == 0
    assert facts["cells"] == ["radio.dch macro", "radio.lte small", "radio.dch macro"]
