"""Nothing is cut, covered, out of reach or too pale: each screen at four sizes, dark and light, and by keyboard."""

from __future__ import annotations

import json
import shutil
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
"""Words are told when the cursor rests."""

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
