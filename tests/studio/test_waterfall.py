"""The waterfall in the browser: in the page of a capture, and in the page of a run."""

from __future__ import annotations

import itertools
import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import sampled

import airpath
from airpath.captures import analyze, predictions
from airpath.studio.page import capture_page

PAGE = """
duration = "30 s"
tcp.profile = "linux"
[wired]
delay = "30 ms"
[radio.dch.downlink]
rate = "2 Mbit/s"
queue.droptail.packets = 40
rlc.fixed_delay_arq = {}
channel.bernoulli.bler = "10 %"
[radio.dch.uplink]
rate = "384 kbit/s"
[[flow]]
app.web.request = "400 B"
app.web.page = "30 kB"
app.web.objects = 8
app.web.object = "20 kB"
app.web.think = "120 ms"
app.web.connections = "CONNECTIONS"
[[flow]]
start = "1 s"
app.file = { size = "600 kB" }
"""
HOSTILE = "</script><img src=x onerror=alert(1)>"
TEXT_BOX = """((own) => {
  const range = document.createRange();
  range.selectNodeContents(own);
  const { left, right, top, bottom } = range.getBoundingClientRect();
  return { left, right, top, bottom, isWhole: own.scrollWidth <= own.clientWidth };
})"""
ROWS = "[...document.querySelectorAll('.fall-row')]"
COLOURS = f"{ROWS}.map((row) => getComputedStyle(row.querySelector('.fall-life')).backgroundImage)"


@pytest.fixture(scope="module")
def scenario() -> Callable[[str], airpath.Scenario]:
    def make(connections: str) -> airpath.Scenario:
        return airpath.Scenario("web page", PAGE.replace("CONNECTIONS", connections))

    return make


@pytest.fixture(scope="module")
def explained(scenario, tmp_path_factory) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """Write the page of the capture of a page load; give the file and the report."""

    def write(
        connections: str = "per_object", name: str = "page.pcapng", host: str | None = None
    ) -> tuple[Path, dict[str, Any]]:
        folder = tmp_path_factory.mktemp("capture")
        capture = folder / "capture.pcapng"
        octets = airpath.run(scenario(connections), probes=(), capture=True).capture
        octets = request(octets, host) if host else octets
        # Names of interfaces come from the file.
        capture.write_bytes(octets.replace(b"server\0\0", b"<b>srv\0\0"))
        report = analyze(capture)
        for one in report["connections"]:
            for flow in one["flows"]:
                flow["models"] = predictions(flow)
        (folder / "index.html").write_bytes(capture_page(report, name))
        return folder / "index.html", report

    return write


def rows(view: Any) -> list[str]:
    """Names of the rows of a waterfall, from the top."""
    names: list[str] = view.locator(".fall-row .fall-name").all_inner_texts()
    return names


@pytest.mark.parametrize("scheme", sampled(["light", "dark"], 1))
def test_a_page_of_a_capture_shows_what_happened_when(explained, opened, scheme):
    page, report = explained()
    own = opened(page, color_scheme=scheme)
    view = own.view
    by_start = sorted(report["connections"], key=lambda one: one["start_s"])
    assert rows(view) == [f"#{one['number']} {one['client']} > {one['server']}" for one in by_start]
    assert len(by_start) == 10
    # Colours are the style's: those of the dark differ.
    assert all(colour.startswith("linear-gradient") for colour in view.evaluate(COLOURS))
    ink = view.evaluate("getComputedStyle(document.body).color")
    assert (ink == "rgb(226, 233, 239)") == (scheme == "dark")
    view.get_by_label("Order").select_option("longest")
    by_time = sorted(by_start, key=lambda one: -one["phases"]["active_s"])
    assert rows(view)[0].startswith(f"#{by_time[0]['number']} ")
    # The table has what took longest first, and that is what is shown at first.
    first = view.locator("#flow-table tbody tr").first
    assert f"{by_time[0]['phases']['active_s']:.3f}" in first.inner_text()
    assert view.locator("#title").inner_text() in first.inner_text()
    for title in ("Rate", "Round trip", "In flight", "Sequence"):
        assert view.locator("section.panel", has_text=title).count() == 1
    view.locator("#theme").click()
    own.settle()
    assert view.evaluate("getComputedStyle(document.body).color") != ink


def test_a_click_on_a_row_leads_to_its_plots(explained, opened):
    page, report = explained()
    view = opened(page).view
    one = sorted(report["connections"], key=lambda own: own["start_s"])[3]
    view.locator(".fall-row").nth(3).click()
    view.wait_for_timeout(50)
    assert view.locator("#title").inner_text() == f"{one['server']} > {one['client']}"
    assert view.locator(".fall-row.opened").count() == 1
    assert view.evaluate("document.getElementById('flow').getBoundingClientRect().top") < 60
    low, high = view.evaluate("import('studio/capture').then(({ store }) => store.state.range)")
    assert 0 <= low < high <= one["phases"]["end_s"][-1] + 0.02
    view.get_by_role("button", name="Other direction").click()
    assert view.locator("#title").inner_text() == f"{one['client']} > {one['server']}"
    assert view.locator("#says li").count() > 3


def test_rows_can_be_filtered_and_grouped_and_a_range_chosen(explained, opened):
    page, report = explained()
    own = opened(page)
    view = own.view
    view.get_by_label("group by host").check()
    (head,) = view.locator(".fall-host").all_inner_texts()
    assert "10.0.0.1" in head and "10" in head
    view.locator(".fall-host").click()
    assert rows(view) == []
    view.locator(".fall-host").click()
    one = report["connections"][4]
    view.get_by_label("Filter by address or name").fill(one["client"])
    assert len(rows(view)) == 1
    view.get_by_label("Filter by address or name").fill("nothing like this")
    assert "No connection fits." in view.locator(".fall-rows").inner_text()
    view.get_by_label("Filter by address or name").fill("")
    view.get_by_label("Phase", exact=True).select_option("timeout")
    waited = [own for own in report["connections"] if "timeouts" in own["phases"]["phase"]]
    assert len(rows(view)) == len(waited)
    view.get_by_label("Phase", exact=True).select_option("")
    box = view.locator(".fall-track").first.bounding_box()
    title = view.locator("#title").inner_text()
    view.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 8)
    view.mouse.down()
    view.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 8, steps=3)
    view.mouse.up()
    assert view.locator("#title").inner_text() == title  # That was no click.
    view.get_by_role("button", name="Whole time").click()
    assert view.get_by_role("button", name="Whole time").count() == 0


def test_pointing_at_a_row_says_what_it_did(explained, opened):
    page, report = explained()
    view = opened(page).view
    first = min(report["connections"], key=lambda own: own["start_s"])
    box = view.locator(".fall-track").first.bounding_box()
    end = max(own["start_s"] + own["phases"]["end_s"][-1] for own in report["connections"])
    handshake = first["start_s"] + first["phases"]["end_s"][0] / 2
    view.mouse.move(box["x"] + box["width"] * handshake / end, box["y"] + 8)
    assert "handshake" in view.locator(".fall-said").inner_text()
    view.keyboard.press("Tab")
    view.locator(".fall-row").first.focus()
    view.keyboard.press("ArrowDown")
    assert view.evaluate("document.activeElement.dataset.key") == view.locator(".fall-row").nth(
        1
    ).get_attribute("data-key")


def test_a_persistent_connection_shows_its_requests(explained, opened):
    page, report = explained("persistent")
    view = opened(page).view
    (web,) = (one for one in report["connections"] if one["phases"]["phase"].count("waiting") > 2)
    asked = web["phases"]["phase"].count("waiting")
    assert asked == 9
    requests = [name.partition(" of #") for name in rows(view)]
    of_web = [name for name, _, of in requests if of.startswith(f"{web['number']} ")]
    assert of_web == [f"request {n}" for n in range(1, asked + 1)]
    view.get_by_label("Rows", exact=True).select_option("connections")
    assert len(rows(view)) == 2


def request(capture: bytes, host: str) -> bytes:
    """Put a request for a host behind the headers of the first data of a client."""
    out, at, is_done = b"", 0, False
    text = f"GET / HTTP/1.1\r\nHost: {host}\r\n".encode()
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        block = capture[at : at + length]
        if kind == 6 and not is_done:
            captured, original = struct.unpack_from("<II", block, 20)
            packet = block[28 : 28 + captured]
            if packet[16:20] == bytes([10, 0, 0, 1]) and original > captured + len(text):
                packet += text
                padded = packet + bytes(-len(packet) % 4)
                block = block[8:20] + struct.pack("<II", len(packet), original) + padded
                total = struct.pack("<I", 12 + len(block))
                block = struct.pack("<I", 6) + total + block + total
                is_done = True
        out += block
        at += length
    assert is_done
    return out


CHARTS = """() => [...document.querySelectorAll('#spread figure')].map((own) => ({
  title: own.dataset.chart, said: [...own.querySelectorAll('li')].map((line) => line.innerText),
  ticks: [...own.querySelectorAll('[data-tick]')]
    .map((tick) => [Number(tick.dataset.tick), Number(tick.getAttribute('x'))]),
  shares: [...own.querySelectorAll('line.grid')].map((line) => Number(line.getAttribute('y1'))).slice(0, 5),
  lines: [...own.querySelectorAll('path.line')].map((line) =>
    [line.dataset.word, line.getAttribute('d').slice(1).split('L').map((at) => at.split(' ').map(Number))]),
}))"""


def test_distributions_of_a_flow_are_those_of_the_report(explained, opened):
    page, report = explained()
    own = opened(page)
    one = max(report["connections"], key=lambda own: own["phases"]["active_s"])
    flow = next(flow for flow in one["flows"] if flow["sender"] == "server")
    wanted = {
        "round trip": flow["rtt"]["forward_ms"],
        "segments, one way": flow["path"]["data"]["delay_ms"],
        "ACKs, one way": flow["path"]["acks"]["delay_ms"],
        "ACKs": flow["acks"]["between_ms"],
    }
    charts = own.view.evaluate(CHARTS)
    assert [chart["title"] for chart in charts] == ["Delays", "Time between ACKs"]
    for chart in charts:
        scale = math.log if chart["title"] == "Time between ACKs" else float
        (first, left), *_, (last, right) = chart["ticks"]
        bottom, *_, top = chart["shares"]
        for word, points in chart["lines"]:
            of = wanted.pop(word)
            assert len(points) == len(of["cdf"])
            for (x, y), (ms, share) in zip(points, of["cdf"], strict=True):
                part = (scale(max(ms, first)) - scale(first)) / (scale(last) - scale(first))
                assert x == pytest.approx(left + part * (right - left), abs=0.02)
                assert y == pytest.approx(bottom + share * (top - bottom), abs=0.02)
            if of["median"] >= 10:
                assert any(f"{word}: median {of['median']:.0f}, 95 %" in line for line in chart["said"])
    assert not wanted
    own.view.locator(".fall-row:not(.opened)").first.click()
    assert own.view.evaluate(CHARTS) != charts


@pytest.mark.parametrize("width", sampled([390, 640, 1280, 1920], 1))
def test_numbers_of_distributions_are_whole_and_apart(explained, opened, width):
    page, _ = explained()
    view = opened(page, viewport={"width": width, "height": 800}).view
    view.locator("#spread").scroll_into_view_if_needed()
    boxes = view.evaluate(
        "[...document.querySelectorAll('#spread svg')].map((svg) => [svg, ...svg.querySelectorAll('text')]"
        ".map((own) => { const { left, right, top, bottom } = own.getBoundingClientRect();"
        " return [left, right, top, bottom]; }))"
    )
    assert len(boxes) == 2
    for (left, right, top, bottom), *texts in boxes:
        assert right <= width
        for text in texts:
            assert left <= text[0] and text[1] <= right and top <= text[2] and text[3] <= bottom
        for one, other in itertools.combinations(texts, 2):
            assert one[1] < other[0] or other[1] < one[0] or one[3] < other[2] or other[3] < one[2]


def test_the_host_that_a_client_asked_for_names_its_row_and_stays_text(explained, opened):
    page, report = explained("persistent", host=HOSTILE)
    assert [one["name"] for one in report["connections"]].count(HOSTILE) == 1
    view = opened(page).view
    view.get_by_label("Rows", exact=True).select_option("connections")
    assert [name for name in rows(view) if HOSTILE in name] == [rows(view)[0]]
    view.get_by_label("group by host").check()
    assert HOSTILE in view.locator(".fall-host").first.inner_text()
    view.get_by_label("Filter by address or name").fill("img src")
    view.locator(".fall-row").click()
    assert HOSTILE in view.locator("#title").inner_text()
    assert view.locator("img").count() == 0


def test_names_stay_text(explained, opened):
    page, _ = explained(name=HOSTILE)
    own = opened(page)
    view = own.view
    assert HOSTILE in view.locator("#said").inner_text()
    assert view.locator("img").count() == 0
    view.locator("#words summary").click()
    assert "<b>srv" in view.locator("#says").inner_text()
    assert view.locator("#says b").count() == 0


@pytest.mark.parametrize("width", sampled([390, 1280, 1920], 1))
def test_nothing_is_wider_than_the_page(explained, opened, width):
    page, _ = explained()
    view = opened(page, viewport={"width": width, "height": 800}).view
    assert view.evaluate("document.documentElement.scrollWidth") == width
    cut = "(row) => row.querySelector('.fall-figure b').getBoundingClientRect().right <= innerWidth"
    assert view.evaluate(f"{ROWS}.every({cut})")
    # No name is cut, or stands in what a row took.
    boxes = f"['.fall-name', '.fall-figure'].map((own) => {TEXT_BOX}(row.querySelector(own)))"
    for name, took in view.evaluate(f"{ROWS}.map((row) => {boxes})"):
        assert name["isWhole"] and took["isWhole"]
        assert name["right"] <= took["left"] or name["bottom"] <= took["top"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 1920])
def test_bars_have_most_of_a_waterfall_in_the_studio(serving, opened, width):
    own = opened(serving("lte-10mhz-10ue"), viewport={"width": width, "height": 800})
    own.press("f")
    own.view.locator(".fall-row").first.wait_for()
    own.settle()
    share = (
        "document.querySelector('.fall-track').clientWidth / document.querySelector('.fall-row').clientWidth"
    )
    assert own.view.evaluate(share) > 0.5


def test_the_page_of_a_run_has_the_waterfall_of_its_packets(run_folder, page_of, opened):
    changes = {"flow__0__app": '{ web = { objects = 4, object = "20 kB", connections = "per_object" } }'}
    own = opened(page_of("umts-384", **changes))
    view = own.view
    told = json.loads(
        view.evaluate("import('studio/main').then(({ store }) => JSON.stringify(store.run.waterfall))")
    )
    capture = analyze(run_folder("umts-384", **changes) / "capture.pcapng")
    assert [row["phases"] for row in told] == [one["phases"] for one in capture["connections"]]
    own.press("f")
    assert view.locator("#plots").is_hidden()
    assert rows(view) == own.state("state.variants[0].run.names")
    view.locator(".fall-row").nth(2).click()
    own.settle()
    assert view.locator("#plots").is_visible() and view.locator("#fall").is_hidden()
    assert own.state("state.flows") == [2]
    low, high = own.state("state.range")
    assert low == pytest.approx(told[2]["start_s"], abs=1e-6)
    assert high == pytest.approx(told[2]["start_s"] + told[2]["phases"]["end_s"][-1], abs=0.01)


@pytest.mark.slow
def test_the_studio_shows_the_waterfall_of_the_run_that_it_made(serving, opened):
    own = opened(serving("lte-10mhz-10ue"))
    # Its packets are analysed when they are shown.
    assert own.ask("store.run.waterfall") is None
    own.press("f")
    own.view.locator(".fall-row").first.wait_for()
    assert sorted(rows(own.view)) == sorted(own.state("state.variants[0].run.names"))
    own.view.get_by_label("group by host").check()
    heads = own.view.locator(".fall-host b").all_inner_texts()
    assert sorted(heads) == sorted(f"UE {n}" for n in range(10))
    own.press("f")
    assert own.view.locator("#plots").is_visible()


def test_an_open_waterfall_is_that_of_the_run_that_is_shown(serving, opened):
    own = opened(serving("umts-384"))
    own.press("f")
    row = own.view.locator(".fall-row")
    row.wait_for()
    before = row.inner_text()
    change = "radio.dch.downlink.rate"
    field = own.view.locator(f'.row[data-key="{change}"] input[type=text]')
    for rate in ("200 kbit/s", "100 kbit/s", "96 kbit/s"):
        field.fill(rate)
    own.view.wait_for_function(
        "(before) => document.querySelector('.fall-row')?.innerText !== before", arg=before
    )
    # A promise would not be waited for.
    own.view.evaluate("import('studio/main').then(({ store }) => { window.shown = store; })")
    is_there = "() => shown.run.changes?.[0]?.endsWith('=96 kbit/s') && shown.run.waterfall"
    (told,) = own.view.wait_for_function(is_there).json_value()
    active_s = told["phases"]["active_s"]
    assert active_s > 160  # 2 MB at no more than 96 kbit/s.
    own.view.wait_for_function(
        "(told) => document.querySelector('.fall-row')?.innerText.includes(told)", arg=f"{active_s:.0f} s"
    )


def test_what_the_server_says_of_a_waterfall_is_shown(serving, opened):
    own = opened(serving("umts-384"))
    own.ask("(store.state.variants[0].settings.set.push('tcp.mss=1'), store.run.title)")
    own.press("f")
    own.view.locator("#fall .note", has_text="tcp.mss: ").wait_for()


@pytest.mark.slow
def test_the_objects_of_a_page_over_http_3_are_rows(page_of, opened):
    own = opened(page_of("umts-384", flow__0__app='{ web = { http = "3", objects = 4 } }'))
    own.press("f")
    shown = rows(own.view)
    assert len(shown) == 5
    assert shown[0].startswith("page, 20 kB, of ")
    assert [name.split(",")[0] for name in shown[1:]] == [f"object {n}" for n in range(1, 5)]
    legend = own.view.locator(".fall-legend").inner_text()
    assert legend.split("\n") == ["waiting for the server", "receiving"]
