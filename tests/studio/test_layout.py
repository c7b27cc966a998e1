"""Nothing is cut, covered, out of reach or too pale: each screen at four sizes, dark, light; by keyboard."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import no_pictures

import airpath
from airpath.experiments.sweep.plan import Written, read_plan
from airpath.experiments.sweep.run import run_sweep
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page
from studio.conftest import Opened, Server
from studio.layout import faults_at_sizes, keyboard_faults, record_canvas_texts

REST_MS = 300
"""The text is updated when the cursor rests."""

A, B = "umts-384?seed=1&set=tcp.cc:reno", "&with=umts-384&set=tcp.cc:cubic"
LONG = "a-scenario-whose-name-was-made-by-a-script-and-says-all-of-its-parameters-rate-384-delay-75-queue-30"


def web_load(flows: int) -> str:
    """A page load: connections of one UE, each with a file of its own size."""
    sizes = [3, 900, 15, 40, 8, 120, 300]
    flow = '[[flow]]\nstart = "{} ms"\napp.file.size = "{} kB"\n'
    head = 'duration = "20 s"\nwired.delay = "30 ms"\ntcp.cc = "cubic"\nradio.lte.ues = 1\n'
    return head + "".join(flow.format(100 * n, sizes[n % len(sizes)]) for n in range(flows))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make what is opened, once: runs, a sweep."""
    top, made = tmp_path_factory.mktemp("layout"), {}

    def run(name: str, scenario: airpath.Scenario) -> Path:
        with no_pictures():
            run_to_folder(scenario, 1, top / name)
        (top / name / "page.html").write_bytes(page(FinishedRun.open(top / name)))
        return top / name

    def make(name: str) -> Path:
        if name in made:
            return made[name]
        if name == "sweep":
            axes = {
                "radio.dch.downlink.queue.droptail.packets": [5, 40],
                "tcp.cc": ["{ cubic = {} }", "{ reno = {} }"],
            }
            text = (
                'scenario = "umts-64-simple"\nmetrics = ["goodput_bps", "rtt_ms.mean"]\nruns = 2\n'
                '[set]\n"flow[0].app.file.size" = "60 kB"\n[axes]\n'
            )
            text += "".join(f"{json.dumps(key)} = {json.dumps(own)}\n" for key, own in axes.items())
            run_sweep(read_plan(Written("small", text)), top / "sweep", 1)
            made[name] = top / "sweep"
        elif name == "web":
            file = top / "web.toml"
            file.write_text(web_load(31))
            made[name] = run("page-load", airpath.load(file))
        elif name == "long":
            shutil.copytree(make("umts-384"), top / "long")
            manifest = top / "long" / "manifest.json"
            manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"scenario": LONG}))
            (top / "long" / "page.html").write_bytes(page(FinishedRun.open(top / "long")))
            made[name] = top / "long"
        else:
            made[name] = run(name, airpath.load(name))
        return made[name]

    return make


@pytest.fixture(scope="module")
def studio(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open the studio at a link, in one browser context that a server has let in."""
    server = Server()
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    record_canvas_texts(context)
    context.new_page().goto(server.address)

    def open_at(link: str) -> Any:
        view = context.new_page()
        view.goto(f"{server.origin}/#{link}")
        view.locator("html[data-ready=run]").wait_for()
        return view

    yield open_at
    context.close()
    server.stop()


def click(*places: str) -> Callable[[Any], None]:
    """Click one after the other."""

    def steps(view: Any) -> None:
        for place in places:
            view.locator(place).click()

    return steps


def lesson(n: int, later: int = 0) -> Callable[[Any], None]:
    return click("#teach", f"#lesson-list li:nth-child({n}) button", *["#lesson-next"] * later)


def wrong(view: Any) -> None:
    view.locator("#find-key").fill("rate radio.dch.downlink")
    view.locator(".row[data-key='radio.dch.downlink.rate'] input[type=text]").fill("384 parsecs a fortnight")
    view.locator(".error:not([hidden])").first.wait_for()


def nothing(_: Any) -> None:
    """Leave it as it opens."""


SCREENS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "results": ("umts-384?seed=1&at=6.2", nothing),
    "events": ("umts-384?seed=1&at=6.2", click("#t-events")),
    "packets": ("umts-384?seed=1&at=6.2", click("#t-packets", ".packet >> nth=0")),
    "scenario": ("umts-384?seed=1&at=6.2", click("#t-scenario")),
    "text": ("umts-384?seed=1&at=6.2", click("#t-text")),
    "compare": (f"{A}{B}&at=6.2", click("#t-compare")),
    "four variants": (f"{A}{B}&with=umts-128&with=umts-64&at=6.2", click("#t-compare")),
    "lesson": ("umts-384", lesson(1)),
    "lesson about boxes": ("umts-384", lesson(5, 1)),
    "legend": ("umts-384?at=6.2", click("#legend summary")),
    "presets": ("umts-384?at=6.2", click("#presets > summary")),
    "keys": ("umts-384?at=6.2", click("#help")),
    "link": ("umts-384?at=6.2", click("#link")),
    "lessons": ("umts-384?at=6.2", click("#teach")),
    "error": ("umts-384?at=6.2", wrong),
    "ten UEs": ("lte-10mhz-10ue?set=duration:5+s&at=3", click("#flow-count")),
    "boxes": ("alcaraz-384-combined-1?set=duration:20+s&at=6.2", nothing),
}
"""Screens of the studio: a link, and what is done then."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_is_whole_at_every_size(studio, name):
    link, steps = SCREENS[name]
    view = studio(link)
    steps(view)
    view.wait_for_timeout(REST_MS)
    found = faults_at_sizes(view)
    view.close()
    assert found == []


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open a page or a server, with canvases that are listened to."""
    pages: list[Opened] = []

    def call(place: Any) -> Opened:
        pages.append(Opened(browser, place, record_canvas_texts))
        return pages[-1]

    yield call
    for own in pages:
        own.context.close()
        assert own.said == []


def test_the_page_of_a_run_is_whole_at_every_size(opened, folders):
    shown = opened(folders("umts-384") / "page.html")
    shown.view.evaluate("import('studio/main').then(({store}) => store.set({at: 6.2}))")
    shown.view.wait_for_timeout(REST_MS)
    assert faults_at_sizes(shown.view) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["web", "long"])
def test_pages_of_many_flows_and_long_names_are_whole(opened, folders, name):
    shown = opened(folders(name) / "page.html")
    shown.view.wait_for_timeout(REST_MS)
    found = faults_at_sizes(shown.view)
    if name == "web":
        shown.view.locator("#flow-count").click()
        shown.view.wait_for_timeout(REST_MS)
        found += faults_at_sizes(shown.view)
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["web", "long", "sweep"])
def test_folders_in_the_studio_are_whole(opened, folders, serving, name):
    shown = opened(serving(folders(name)))
    shown.view.wait_for_timeout(REST_MS)
    assert faults_at_sizes(shown.view) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["results", "events", "packets", "compare", "scenario", "lesson"])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(studio, name):
    link, steps = SCREENS[name]
    view = studio(link)
    steps(view)
    view.wait_for_timeout(REST_MS)
    found = keyboard_faults(view)
    view.close()
    assert found == []


@pytest.mark.slow
def test_plots_have_most_of_the_column_when_variants_are_compared(studio):
    for link in (A, f"{A}{B}", f"{A}{B}&with=umts-128&with=umts-64"):
        view = studio(link)
        plots = view.locator("#plots").bounding_box()["height"]
        assert plots > 0.45 * view.locator("#left").bounding_box()["height"], link
        view.close()


@pytest.mark.slow
def test_a_phone_shows_plots_and_no_form_until_it_is_wanted(studio):
    view = studio("umts-384")
    view.set_viewport_size({"width": 390, "height": 844})
    assert view.locator("#plots").bounding_box()["y"] < 844 / 3
    assert view.locator("#fields").is_hidden()
    view.locator("#unfold").click()
    assert view.locator("#fields").is_visible()
    view.locator("#unfold").click()
    assert view.locator("#fields").is_hidden()
    view.close()


@pytest.mark.slow
@pytest.mark.parametrize("menu", ["#legend", "#presets", "#flows"])
def test_esc_and_a_click_beside_it_close_a_menu(studio, menu):
    view = studio("lte-10mhz-10ue?set=duration:5+s&at=3")
    summary = f"{menu} > summary"
    for close in (lambda: view.keyboard.press("Escape"), lambda: view.locator(".mark").click()):
        view.locator(summary).click()
        assert view.locator(menu).get_attribute("open") is not None
        close()
        assert view.locator(menu).get_attribute("open") is None
    view.locator(summary).click()
    view.keyboard.press("Escape")
    assert view.locator(summary).evaluate("own => own === document.activeElement")
    view.close()


def test_the_flows_of_a_page_load_are_listed_by_how_long_they_took(opened, folders):
    shown = opened(folders("web") / "page.html")
    view = shown.view
    view.locator("#flow-count").click()
    names = view.locator("#flow-list .name").all_inner_texts()
    took = view.locator("#flow-list .quiet").all_inner_texts()
    seconds = [float(text.rpartition(" in ")[2].rstrip(" s+").replace("\u202f", "")) for text in took]
    assert len(names) == 31 and seconds == sorted(seconds, reverse=True) and seconds[0] > seconds[-1]
    assert all(name.startswith("flow ") and "cubic" not in name for name in names)
    assert view.locator("#flow-list .group-name").inner_text().startswith("UE 0: 31 flows of cubic")


WATCH = """
(() => {
  window.early = [];
  window.shifts = [];
  new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map(({ value }) => value)))
    .observe({ type: "layout-shift", buffered: true });
  const look = () => {
    const { ready, waits } = document.documentElement.dataset;
    const seen = [...document.querySelectorAll("main *, header > :not(.mark)")];
    const shown = seen.filter((own) => own.checkVisibility({ visibilityProperty: true }));
    if (ready === undefined && waits === undefined) window.early.push(...shown.map(({ id }) => id));
    requestAnimationFrame(look);
  };
  look();
})();
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["page", "server"])
def test_nothing_is_seen_before_it_has_its_place(browser, folders, serving, place):
    where = serving("umts-384") if place == "server" else folders("umts-384") / "page.html"
    shown = Opened(browser, where, lambda context: context.add_init_script(WATCH))
    shown.view.wait_for_timeout(1000)
    early, shifts = shown.view.evaluate("[window.early, window.shifts]")
    shown.context.close()
    assert early == [] and sum(shifts) < 0.02


RECORDING_MS, RECORDING_BYTES = 1_000_000, 4_000_000
MOST_MS = 500
"""For what took seconds; it takes tens of milliseconds where nothing else runs."""


@pytest.mark.slow
def test_a_recording_of_4_mb_does_not_freeze_the_text(opened, serving, tmp_path):
    times = "".join(f"{n}\n" for n in range(1, RECORDING_MS) for _ in range(1 + n % 2))[:RECORDING_BYTES]
    (tmp_path / "down.trace").write_text(times[: times.rindex("\n") + 1])
    scenario = tmp_path / "recorded.toml"
    scenario.write_text(
        'duration = "3 s"\ntcp.profile = "linux"\nwired.delay = "20 ms"\n'
        'flow = [{ app.file.size = "50 kB" }]\n'
        '[radio.variable]\ndownlink = { delay = "20 ms", channel.trace_file.file = "down.trace" }\n'
        'uplink = { delay = "20 ms", channel.trace_file.trace = "20\\n" }\n'
    )
    shown = opened(serving(scenario))
    view = shown.view
    view.locator("html[data-engine]").wait_for()
    view.locator("#t-text").wait_for()
    view.locator("#text-note:not([hidden])").wait_for(state="attached")
    took = view.evaluate(
        "new Promise((done) => { const begun = performance.now(); document.getElementById('t-text').click();"
        " requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun))); })"
    )
    assert took < MOST_MS
    text = view.locator("#text").input_value()
    assert (
        "characters …" in text
        and "[radio.variable.downlink.channel.trace_file]" in text
        and len(text) < 20_000
    )
    assert not view.locator("#text").is_editable()
    assert "left out here" in view.locator("#text-note").inner_text()
    assert faults_at_sizes(view) == []


@pytest.mark.slow
def test_a_scenario_that_takes_hours_is_estimated_and_cancelled_at_once(browser, serving, tmp_path):
    scenario = tmp_path / "hours.toml"
    scenario.write_text(
        airpath.load("umts-384", [("duration", "40000 h"), ("flow.0.app", "{ ping = {} }")]).text
    )
    server = serving(scenario)
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    record_canvas_texts(context)
    view = context.new_page()
    view.goto(server.address)
    said = view.locator("#opening-said")
    said.filter(has_text="left").wait_for()
    assert faults_at_sizes(view) == []
    begun = time.monotonic()
    view.locator("#opening").get_by_role("button", name="Cancel").click()
    said.filter(has_text="Stopped").wait_for()
    assert time.monotonic() - begun < 2
    assert faults_at_sizes(view) == []
    view.get_by_role("button", name="Open umts-384").click()
    view.locator("html[data-ready=run]").wait_for()
    assert view.locator("#preset").inner_text() == "umts-384"
    context.close()


@pytest.mark.slow
def test_a_run_that_takes_long_shows_how_far_it_is_and_can_be_cancelled(studio):
    view = studio("umts-384")
    view.locator("#find-key").fill("duration")
    view.locator(".row[data-key=duration] input[type=text]").fill("1000 h")
    view.locator("#find-key").fill("flow[0].app")
    view.locator(".row[data-key='flow[0].app'] select").select_option("bulk")
    view.locator("#busy:not([hidden])").wait_for()
    found = faults_at_sizes(view)
    view.set_viewport_size({"width": 390, "height": 844})
    view.locator("#stop").click()
    view.locator("#again:not([hidden])").wait_for()
    found += faults_at_sizes(view)
    view.close()
    assert found == []
