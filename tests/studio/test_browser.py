"""A run in a browser, by pointer and by keys: from its page, without network, and from the server."""

from __future__ import annotations

import json
import re
import shutil

import pyarrow.parquet as pq
import pytest
from conftest import sampled

from airpath.report.run import remarks_on
from airpath.runs.finished import FinishedRun
from airpath.runs.flows import choose_flows, flow_names
from airpath.runs.lines import kinds_read, read_lines
from airpath.runs.trace import SCHEMA
from airpath.scenario import load
from airpath.studio.page import page

DRAWN = ["cwnd", "ssthresh", "rtt", "acked", "queued", "dropped", "timeout", "sent", "window"]
LINES = """names =>
Promise.all([import('studio/main'), import('studio/series')]).then(([{store: {state}}, {curvesOf}]) =>
  curvesOf(state).map(({lines}) => Object.fromEntries(names.map((name) => {
    const {x, y} = lines.get(name) ?? {x: [], y: []};
    return [name, [[...x], [...y]]];
  }))))
"""

GOODPUT = """
Promise.all(['main', 'series', 'reduce'].map((name) => import(`studio/${name}`))).then(
  ([{store: {state, end}}, {curvesOf}, {rates}]) => {
    const [{from, lines}] = curvesOf(state);
    const acked = lines.get('acked');
    return rates(acked.x, acked.y, 0, end, from.start_s + from.transfer_s);
  })
"""


@pytest.fixture
def umts(opened, page_of):
    return opened(page_of("umts-384"))


@pytest.fixture(params=sampled(["page", "folder", "simulated"], 1))
def everywhere(request, opened, page_of, run_folder, serving):
    """The same run from its page, from its folder at the server, and as the server makes it."""
    if request.param == "page":
        return opened(page_of("umts-384"))
    return opened(serving(run_folder("umts-384")) if request.param == "folder" else serving("umts-384"))


def place_in(opened, panel: str, across: float, up: float = 0.5) -> tuple[float, float]:
    """A place of the screen, by its shares of a panel's plot."""
    box = opened.view.locator(f"[data-panel={panel}] .u-over").bounding_box()
    return box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"]


def test_it_opens_and_every_panel_has_points(everywhere):
    umts = everywhere
    panels = umts.view.locator(".panel").evaluate_all("all => all.map((one) => one.dataset.panel)")
    assert panels == ["window", "rtt", "buffer", "rate", "sequence", "rlc"]
    for name in panels:
        canvas = umts.view.locator(f"[data-panel={name}] .canvas")
        assert "to" in canvas.get_attribute("aria-label").split(". ")[-1]
        assert "nothing" not in canvas.get_attribute("aria-label")
    assert umts.view.title() == "umts-384 - airpath"


def test_the_last_point_is_what_the_results_say(everywhere, run_folder):
    umts = everywhere
    (flow,) = json.loads((run_folder("umts-384") / "results.json").read_text())["flows"]
    (lines,) = umts.view.evaluate(LINES, ["acked", "fast", "rtt"])
    assert lines["acked"][1][-1] == pytest.approx(flow["bytes_acked"] / 1e6)
    assert len(lines["fast"][0]) == flow["retransmissions"]["total"]
    assert len(lines["rtt"][0]) == flow["rtt_ms"]["samples"]
    results = umts.view.locator("#results").inner_text()
    sent = f"{flow['segments_sent']:,}".replace(",", "\u202f")
    assert f"{flow['goodput_bps'] / 1e3:.1f}" in results and sent in results


@pytest.mark.parametrize(
    ("scenario", "changes"), [("umts-384", {}), ("hdr-4", {"duration": "20 s"}), ("umts-64-simple", {})]
)
def test_the_lines_are_those_of_the_picture(opened, page_of, run_folder, scenario, changes):
    run = FinishedRun.open(run_folder(scenario, **changes))
    names, places = flow_names(run.summary, run.scenario), choose_flows(run.summary)
    flows = [(place, names[place]) for place in places]
    expected = read_lines(run.events(kinds_read(run.summary)), run.summary, flows, run.summary["simulated_s"])
    for own, flow in zip(
        opened(page_of(scenario, **changes)).view.evaluate(LINES, DRAWN), expected, strict=True
    ):
        for name, (x, y) in own.items():
            # A picture has fewer points of a long line, and none that the page has not.
            points = set(zip(x, y, strict=True))
            drawn = flow.line(name)
            assert bool(points) == bool(drawn.size), name
            near = {(round(x, 6), round(y, 4)) for x, y in points}
            assert {(round(x, 6), round(y, 4)) for x, y in drawn.T} <= near, name


def test_the_goodput_of_the_whole_run_is_that_of_the_picture(umts, run_folder):
    run = FinishedRun.open(run_folder("umts-384"))
    (flow,) = read_lines(
        run.events(kinds_read(run.summary)), run.summary, [(0, "UE 0")], run.summary["simulated_s"]
    )
    found = umts.view.evaluate(GOODPUT)
    begins, goodput_kbps = flow.line("goodput")
    assert found["x"] == pytest.approx(begins[:-1].tolist())
    assert [8e3 * rate for rate in found["y"]] == pytest.approx(goodput_kbps[:-1].tolist())


def test_wheel_drag_and_keys_zoom_and_a_step_back_returns(umts):
    whole = umts.state("state.range")
    umts.view.mouse.move(*place_in(umts, "rtt", 0.25))
    umts.view.mouse.wheel(0, -400)
    umts.settle()
    zoomed = umts.state("state.range")
    at = whole[0] + 0.25 * (whole[1] - whole[0])
    assert zoomed[1] - zoomed[0] < 0.5 * (whole[1] - whole[0])
    # What is under the pointer stays there.
    assert zoomed[0] + 0.25 * (zoomed[1] - zoomed[0]) == pytest.approx(at, rel=0.01)
    umts.press("d")
    assert umts.state("state.range")[0] > zoomed[0]
    umts.view.locator("#back").click()
    umts.press("0")
    assert umts.state("state.range") == whole
    umts.view.mouse.move(*place_in(umts, "buffer", 0.5))
    umts.view.mouse.down()
    umts.view.mouse.move(*place_in(umts, "buffer", 0.6), steps=4)
    umts.view.mouse.up()
    umts.settle()
    dragged = umts.state("state.range")
    assert dragged[0] == pytest.approx(0.5 * whole[1], rel=0.02)
    assert dragged[1] == pytest.approx(0.6 * whole[1], rel=0.02)
    umts.view.wait_for_timeout(700)  # Two zooms at once would be one step.
    umts.press("w")
    assert umts.state("state.range") != dragged
    umts.press("Backspace")
    assert umts.state("state.range") == dragged
    assert "nothing" not in umts.view.locator("[data-panel=window] .canvas").get_attribute("aria-label")


def test_panels_share_time_and_change_with_the_zoom(umts):
    edges = umts.view.locator(".u-over").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map(({left, right}) => [left, right])"
    )
    assert len(edges) == 6 and all(edge == edges[0] for edge in edges)
    assert "PDUs per second" in umts.view.locator("[data-panel=rlc] .unit").inner_text()
    umts.press("w", "w", "w", "w")
    assert umts.view.locator("[data-panel=rlc] .unit").inner_text() == "number of each PDU"


def test_a_click_says_what_happened_there_and_goes_to_the_event(umts):
    umts.view.locator("[data-tab=events]").click()
    umts.view.locator(".event").first.wait_for()
    umts.view.mouse.click(*place_in(umts, "rtt", 0.5, 0.4))
    said = umts.view.locator("#said")
    said.filter(has_text="A TCP sender took a round-trip time sample. RTT").wait_for()
    assert said.get_attribute("aria-live") == "polite"
    chosen = umts.view.locator(".event[aria-selected=true]")
    chosen.wait_for()
    assert chosen.locator(".kind").inner_text() == "RTT sample"
    at = umts.state("state.at")
    assert float(chosen.locator(".time").inner_text()) == pytest.approx(at, abs=1e-4)
    assert umts.view.locator(".pin:not([hidden])").count() == 6
    umts.press("Escape")
    umts.view.locator("#said").filter(has_text="Click into a plot").wait_for()


# An event of each kind with each word of its columns: a few words, and a sentence.
TOLD = """async () => {
  const [{store}, {SCHEMA}, {sentence, shortly}] =
    await Promise.all(['main', 'kinds', 'words'].map((name) => import(`studio/${name}`)));
  return Object.entries(SCHEMA).flatMap(([kind, {columns}]) => {
    const rows = Math.max(...Object.values(columns).map(({words}) => Object.keys(words).length), 2);
    const values = {time_ns: {values: Array(rows).fill(1e9), words: null}};
    for (const [name, {words, is_flag}] of Object.entries(columns)) {
      const known = Object.keys(words);
      const most = known.length || (is_flag ? 2 : 0);
      const each = Array.from({length: rows}, (_, row) => most ? row % most : row + 1);
      if (['ue', 'flow', 'bearer'].includes(name)) each.fill(0);
      values[name] = {values: each, words: known.length ? known : null};
    }
    const table = {rows, columns: values};
    const said = (row) => [shortly, sentence].map((say) => say(store.run, kind, table, row));
    return Array.from({length: rows}, (_, row) => [kind, row, ...said(row)]);
  });
}"""


def test_every_event_has_a_sentence_with_the_meaning_of_its_words(umts):
    told = umts.view.evaluate(TOLD)
    assert {kind for kind, *_ in told} == SCHEMA.keys()
    for kind, row, short, sentence in told:
        assert short and "\n" not in short, kind
        assert sentence.endswith(".") and sentence[0].isupper(), sentence
        assert not re.search(r"undefined|NaN|null|\[object|\.\.|  ", short + sentence), (short, sentence)
        for name, column in SCHEMA[kind].items():
            if name != "direction" and column["words"]:
                meaning = column["words"][row % len(column["words"])]["meaning"]
                assert meaning[1:] in sentence
    lines = {(kind, row): (short, sentence) for kind, row, short, sentence in told}
    reason = [word["word"] for word in SCHEMA["dropped"]["reason"]["words"]].index("link_loss")
    assert lines["dropped", reason][1] == (
        "A packet was dropped. The wired link lost it. "
        "At place 4 of the path, packet 4, uplink, seq 4 B, len 4 B."
    )
    assert lines["ack_received", 1][0] == "packet 2, acked 2 B, duplicate"


LOST = """async (retransmits) => {
  const [{store}, {sentence}] = await Promise.all(['main', 'words'].map((name) => import(`studio/${name}`)));
  const run = {...store.run, bearers: store.run.bearers.map((own) => ({...own, retransmits}))};
  const table = store.events.table('rlc_data');
  return sentence(run, 'rlc_data', table, table.columns.lost.values.findIndex(Boolean));
}"""
"""The sentence about the first lost PDUs, over bearers that retransmit or do not."""


def test_only_a_bearer_that_retransmits_has_to_repair_a_lost_pdu(umts):
    assert "lost; RLC has to retransmit." in umts.view.evaluate(LOST, True)
    assert "lost; RLC does not retransmit in this mode." in umts.view.evaluate(LOST, False)


def test_keys_step_through_events_and_losses(umts, run_folder):
    dropped = pq.read_table(run_folder("umts-384") / "trace" / "dropped.parquet")
    umts.press("Shift+ArrowRight")
    umts.view.locator("#said").filter(
        has_text="A packet was dropped. The queue had no room. At the radio cell, packet "
    ).wait_for()
    first = umts.state("[state.at, state.chosen]")
    assert first[0] == pytest.approx(dropped["time_ns"][0].as_py() / 1e9)
    assert first[1] == {"kind": "dropped", "row": 0}
    umts.press("ArrowRight")
    umts.view.wait_for_timeout(50)
    umts.press("ArrowLeft")
    umts.view.wait_for_timeout(50)
    assert umts.state("[state.at, state.chosen]") == first
    umts.view.locator("#loss").click()
    umts.view.wait_for_timeout(50)
    assert umts.state("state.at") > first[0]


def test_the_list_of_events_filters_and_a_click_moves_the_cursor(everywhere, run_folder):
    umts = everywhere
    run = FinishedRun.open(run_folder("umts-384"))
    drops, (flow,) = run.count("dropped"), run.summary["flows"]
    view = umts.view
    view.keyboard.press("/")
    view.locator("#count").filter(has_text="events").wait_for()
    whole = view.locator("#count").inner_text()
    view.locator("#kind").select_option("losses")
    losses = drops + flow["retransmissions"]["total"]
    view.locator("#count").filter(has_text=f"{losses} events").wait_for()
    view.locator("#search").fill("queue full")
    view.locator("#count").filter(has_text=f"{drops} events").wait_for()
    view.locator(".event").nth(2).click()
    umts.settle()
    assert umts.state("state.chosen") == {"kind": "dropped", "row": 2}
    view.locator("#list").focus()
    umts.press("ArrowDown")
    view.wait_for_timeout(50)
    assert umts.state("state.chosen") == {"kind": "dropped", "row": 3}
    view.locator("#search").fill("")
    view.locator("#kind").select_option("")
    view.locator("#count").filter(has_text=whole).wait_for()
    assert view.locator(".event").count() < 60


def test_flows_are_chosen_and_keep_their_number_bounded(opened, page_of):
    page = opened(page_of("hdr-4", duration="20 s"))
    assert page.state("state.flows") == [0, 1, 2, 3]
    page.view.locator("#flow-count").click()
    page.view.get_by_label("UE 2: reno").uncheck()
    page.settle()
    assert page.state("state.flows") == [0, 1, 3]
    assert page.view.locator("#shown li").all_inner_texts() == ["UE 0: reno", "UE 1: reno", "UE 3: reno"]


def test_dark_and_light(opened, page_of):
    ground = "getComputedStyle(document.body).backgroundColor"
    # What the page paints itself: the samples of the legends.
    drawn = "[...document.querySelectorAll('.legend canvas')].map((canvas) => canvas.toDataURL())"
    light = opened(page_of("umts-384"), color_scheme="light")
    dark = opened(page_of("umts-384"), color_scheme="dark")
    colours = light.view.evaluate(ground), dark.view.evaluate(ground)
    assert colours[0] != colours[1]
    samples = light.view.evaluate(drawn), dark.view.evaluate(drawn)
    assert samples[0] != samples[1]
    light.press("t")
    assert light.view.evaluate(ground) == colours[1] and light.view.evaluate(drawn) == samples[1]
    light.view.get_by_role("button", name="Dark or light").click()
    light.settle()
    assert light.view.evaluate(ground) == colours[0] and light.view.evaluate(drawn) == samples[0]


def test_everything_is_reached_by_tab_and_has_a_name(umts):
    names = []
    for _ in range(30):
        umts.view.keyboard.press("Tab")
        names.append(
            umts.view.evaluate(
                "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText)"
            ).strip()
        )
        if names[-1] == "Results":
            break
    assert all(names)
    order = ["Dark or light", "Keys", "Window", "Round trip", "Event before", "Next event", "Next loss"]
    found = [next((at for at, name in enumerate(names) if wanted in name), -1) for wanted in order]
    assert -1 not in found and found == sorted(found)
    umts.press("ArrowRight")
    assert umts.view.get_by_role("tab", name="Events").get_attribute("aria-selected") == "true"
    assert umts.view.get_by_role("listbox", name="Events").is_visible()
    umts.press("?")
    assert umts.view.get_by_role("dialog", name="Keys").is_visible()
    umts.press("Escape")
    umts.press("2")
    assert umts.view.locator("[data-panel=rtt] .fold").get_attribute("aria-expanded") == "false"


def test_a_phone_shows_it_without_scrolling_sideways(opened, page_of):
    phone = opened(page_of("umts-384"), viewport={"width": 390, "height": 844}, has_touch=True)
    assert phone.view.evaluate("document.documentElement.scrollWidth") <= 390
    phone.view.touchscreen.tap(*place_in(phone, "rtt", 0.5))
    phone.view.locator("#then dd").first.wait_for()
    told = phone.view.locator("#said").bounding_box()
    assert 0 < told["y"] < 844 - told["height"]
    phone.view.get_by_role("button", name="Choose nothing").click()
    phone.view.locator("#then:empty").wait_for(state="attached")


@pytest.mark.slow
@pytest.mark.parametrize("source", ["page", "folder"])
def test_a_hostile_name_is_text(opened, run_folder, serving, tmp_path, source):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    shutil.copytree(run_folder("umts-64-simple"), tmp_path / "run")
    for file, change in (("manifest.json", {"scenario": name}), ("results.json", {})):
        content = json.loads((tmp_path / "run" / file).read_text())
        (tmp_path / "run" / file).write_text(json.dumps(content | change))
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    results["elements"][0]["element"] = name
    (tmp_path / "run" / "results.json").write_text(json.dumps(results))
    file = tmp_path / "page.html"
    file.write_bytes(page(FinishedRun.open(tmp_path / "run")))
    shown = opened(file if source == "page" else serving(tmp_path / "run"))
    assert shown.view.locator("#title").inner_text() == name
    assert shown.view.title() == f"{name} - airpath"
    assert shown.view.locator("img").count() == 0


def test_a_page_says_what_it_left_out(opened, run_folder, tmp_path):
    file = tmp_path / "page.html"
    file.write_bytes(page(FinishedRun.open(run_folder("umts-384")), 25_000))
    shown = opened(file)
    assert "There is no room here for" in shown.view.locator("#results").inner_text()
    assert shown.view.locator("[data-panel=window] .canvas").count() == 1
    assert shown.view.locator("[data-panel=rlc]").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("source", ["page", "simulated"])
def test_remarks_on_the_scenario_are_above_the_results(opened, page_of, serving, source):
    name = "lundsten-dch"
    shown = opened(page_of(name) if source == "page" else serving(name)).view.locator("#results > *").first
    (remark,) = remarks_on(load(name))
    assert shown.inner_text() == f"{remark}."


def test_a_spoiled_page_says_so(opened, page_of, tmp_path):
    file = tmp_path / "page.html"
    text = page_of("umts-384").read_text()
    file.write_text(text.replace('data-of="run">eN', 'data-of="run">xx'))
    spoiled = opened(file)
    assert spoiled.view.locator("html[data-ready=error]").count() == 1
    assert "write the page again" in spoiled.view.locator("#said").inner_text()


ADD = """async (text) => {
  const [{store}, {sourceOf}, {Events}] = await Promise.all(
    ['main', 'source', 'events'].map((name) => import(`studio/${name}`)));
  const events = new Events();
  let run = null;
  await new Promise((ended) => sourceOf(new DOMParser().parseFromString(text, 'text/html')).open({
    run: (own) => { run = own; }, events: (chunk) => events.add(chunk), ended, error() {},
  }));
  store.put(store.state.variants.length, {run, events, settings: null});
}"""


@pytest.mark.slow
def test_variants_are_drawn_over_each_other_and_one_of_them_is_told(umts, page_of):
    view = umts.view
    window = view.locator("[data-panel=window] .canvas")
    alone = window.get_attribute("aria-label")
    umts.press("w")
    shown = umts.state("state.range")
    view.evaluate(ADD, page_of("umts-128").read_text())
    umts.settle()
    assert umts.state("state.variants.map(({name}) => name)") == ["A", "B"]
    assert umts.state("state.range") == shown
    umts.press("0")
    assert umts.state("state.range")[1] > 60  # The longer one's end.
    assert window.get_attribute("aria-label") != alone
    assert view.locator("#title").inner_text() == "umts-384"
    view.evaluate("import('studio/main').then(({store}) => store.speakOf(1))")
    view.locator("#title").filter(has_text="umts-128").wait_for()
    assert "umts-128" in view.locator("#shown").inner_text()
    view.evaluate("import('studio/main').then(({store}) => store.remove(0))")
    umts.settle()
    assert umts.state("state.variants.map(({name, run}) => [name, run.title])") == [["A", "umts-128"]]
    assert "umts-384" not in view.locator("#shown").inner_text()
