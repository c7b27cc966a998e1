"""Small models in pages of text, and captures explained in a page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from playground import write
from website.models import Model, modelled
from website.pages import DOCS, ROOT

import airpath
from airpath import _core

from .conftest import file_server

BLOCK = re.compile(r"^```model\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MODELS = {
    **{file.stem: BLOCK.findall(file.read_text())[0] for file in sorted((DOCS / "lessons").glob("*.md"))},
    "start": (DOCS / "images/moving.toml").read_text(),
}
FIGURES = {
    "goodput, kbit/s": lambda flow: f"{flow['goodput_bps'] / 1e3:.1f}",
    "all complete after, s": lambda flow: f"{flow['start_s'] + flow['transfer_s']:.2f}",
    "RTT mean, ms": lambda flow: f"{flow['rtt_ms']['mean']:.0f}",
    "retransmissions": lambda flow: str(flow["retransmissions"]["total"]),
    "timeouts": lambda flow: str(flow["timeouts"]),
}
"""What the page shows of a flow, from results."""
SHOWN = """() => Object.fromEntries([...document.querySelectorAll("#figures tbody tr")].map((row) => [
  row.querySelector("th").textContent,
  [...row.querySelectorAll("td")].map((cell) => cell.firstChild.textContent.replaceAll("\\u202f", "")),
]))"""
MADE = """async (made) => {
  const { store } = await import("studio/embed");
  const isThere = () => JSON.stringify(store.state.variants.map(({ settings }) => settings)) === made;
  for (let tries = 0; !isThere(); tries += 1) {
    if (tries > 2000) throw `not shown: ${made}`;
    await new Promise((next) => setTimeout(next, 10));
  }
  await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
}"""
"""Waits until runs of these settings are shown."""


class View(NamedTuple):
    """A page, and what it has asked for and said."""

    page: Any
    requests: list[str]
    said: list[str]


@pytest.fixture
def opened(browser, site) -> Iterator[Any]:
    """Open an address of the playground, which may request only its own site and log nothing."""
    context = browser.new_context(viewport={"width": 390, "height": 800})
    view = View(context.new_page(), [], [])
    view.page.on("request", lambda request: view.requests.append(request.url))
    view.page.on("console", lambda message: view.said.append(message.text))
    view.page.on("pageerror", lambda error: view.said.append(str(error)))

    def call(address: str) -> Any:
        view.page.goto(f"{site.origin}/{address}")
        view.page.locator("html[data-ready]").wait_for()
        return view.page

    yield call
    context.close()
    assert view.said == []
    assert all(request.startswith(f"{site.origin}/") for request in view.requests)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_what_a_model_shows_is_what_the_command_finds(opened, name):
    model = Model.read(MODELS[name])
    page = opened(f"embed.html?{quote(json.dumps(model.wanted()))}")
    page.locator("html[data-ready=run]").wait_for()

    def check(**chosen: str) -> bytes:
        runs = model.runs(**chosen)
        made = [{"base": run.base, "set": run.changes, "seed": run.seed} for run in runs]
        page.evaluate(MADE, json.dumps(made, separators=(",", ":"), ensure_ascii=False))
        shown = page.evaluate(SHOWN)
        assert set(shown) >= {name for name in model.figures if not name.startswith("\u2003")}
        for own, of in FIGURES.items():
            if own in shown:
                assert shown[own] == [of(run.summary()["flows"][0]) for run in runs], own
        link = page.locator("#studio").get_attribute("href")
        linked = page.evaluate(
            "(link) => import('studio/link').then(({ fromLink }) => fromLink(link))", link.partition("#")[2]
        )
        assert linked["settings"] == made
        return page.locator("#panels").screenshot()

    before = check()
    assert {panel.get_attribute("data-panel") for panel in page.locator("#panels .panel").all()} == {
        *model.panels
    }
    for place, change in enumerate(model.changes):
        control = page.locator("#values label").nth(place).locator("input, select")

        def choose(to: int, control: Any = control) -> None:
            if control.evaluate("(own) => own.tagName") == "SELECT":
                control.select_option(index=to)
            else:
                control.fill(str(to))

        first = change["values"].index(change["first"])
        to = 0 if first else -1
        choose(range(len(change["values"]))[to])
        assert check(**{change["name"]: change["values"][to]}) != before, change["name"]
        choose(first)
    check()


@pytest.fixture
def article(wasm, tmp_path) -> Path:
    """A site of one page with a model, and the picture in its place."""
    write(wasm, tmp_path / "playground")
    shutil.copy(ROOT / "tools/website/assets/model.js", tmp_path)
    shutil.copy(ROOT / "tools/website/assets/airpath.css", tmp_path)
    element = modelled("<!-- model: images/moving.toml -->\n![A path](data:,)", "index.md")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="airpath.css"><body class="md-typeset" data-md-color-scheme="slate">'
        f'{element}<script src="model.js"></script>'
    )
    return tmp_path


@pytest.mark.slow
def test_the_running_model_takes_the_place_of_its_picture_and_the_theme_of_the_page(browser, article):
    with file_server(article) as site:
        page = browser.new_page()
        page.goto(site.address)
        page.locator("figure.running").wait_for()
        assert not page.locator("figure img, figcaption").first.is_visible()
        frame = page.frames[1]
        assert frame.evaluate("document.documentElement.dataset.theme") == "dark"
        high = frame.evaluate("document.body.offsetHeight")
        assert page.locator("iframe").evaluate("(own) => own.offsetHeight") == high > 300
        page.evaluate("document.body.dataset.mdColorScheme = 'default'")
        frame.wait_for_function("document.documentElement.dataset.theme === 'light'")
        page.close()


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["scripts", "simulator"])
def test_without_scripts_or_the_simulator_the_picture_stays(browser, article, lacks):
    if lacks == "simulator":
        (article / "playground/worker/engine.wasm.gz").unlink()
    with file_server(article) as site:
        context = browser.new_context(java_script_enabled=lacks != "scripts")
        page = context.new_page()
        page.goto(site.address)
        if lacks == "simulator":
            page.frames[1].locator("html[data-ready=error]").wait_for()
        assert page.locator("figcaption").is_visible() and not page.locator("figure.running").count()
        assert "A path. Recorded; the model runs here where" in page.locator("figcaption").inner_text()
        context.close()


def test_a_site_without_the_simulator_says_so(monkeypatch):
    monkeypatch.setattr("website.models.has_engine", lambda: False)
    element = modelled("<!-- model: images/moving.toml -->\n![A path](path.png)", "index.md")
    assert element == (
        '<figure class="model"><img src="path.png" alt="A path"><figcaption>A path. '
        "Recorded: this site was made without the simulator in it.</figcaption></figure>"
    )


def test_a_capture_is_explained_and_stays_in_the_page(opened, tmp_path):
    file = tmp_path / "capture.pcapng"
    short = airpath.load("umts-384", [("duration", "20 s")])
    file.write_bytes(airpath.run(short, capture=True).capture)
    page = opened("capture.html")
    page.locator("#file").set_input_files(file)
    page.locator("#flow:not([hidden])").wait_for()
    report = json.loads(_core.analyze(file))
    flow = report["connections"][0]["flows"][0]
    verdict = flow["verdict"]
    assert (
        page.locator("#verdict").inner_text() == f"Limited by {verdict['limited_by']}: {verdict['because']}."
    )
    cells = page.locator("#flow-table td").all_inner_texts()
    active = report["connections"][0]["phases"]["active_s"]
    assert cells[:2] == [f"{active:.3f}", f"{flow['goodput_bps'] / 1e3:.1f}"]
    assert cells[-1] == verdict["limited_by"]
    assert cells[5:7] == [str(flow["path"]["data"]["lost"]), str(flow["retransmissions"]["total"])]
    panels = [panel.get_attribute("data-panel") for panel in page.locator("#panels .panel").all()]
    assert panels == ["rtt", "flight", "delay", "rate", "sequence"]
    lines = page.evaluate(
        """async () => {
          const [{ store }, { curvesOf }] = [await import("studio/capture"), await import("studio/series")];
          const [{ lines }] = curvesOf(store.state);
          return ["rttMeans", "inFlight", "progress"].map((name) => [...lines.get(name).y]);
        }"""
    )
    curves = flow["rtt"]["over_time"], flow["flight"]["over_time"], flow["progress"]
    assert lines == [
        pytest.approx([scale * value for value in curve["mean"]])
        for curve, scale in zip(curves, (1, 1e-3, 1e-6), strict=True)
    ]


def test_a_dropped_file_that_is_no_capture_is_refused_with_the_reason(opened):
    page = opened("capture.html")
    page.evaluate(
        """() => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["no packets"], "notes.txt"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
        }"""
    )
    page.get_by_text("notes.txt: does not begin like a pcap").wait_for()
    assert page.locator("#flow").is_hidden()


@pytest.mark.slow
def test_a_capture_without_tcp_shows_its_conversations(opened, tmp_path):
    file = tmp_path / "capture.pcapng"
    call = airpath.load("umts-384", [("flow", "[{ app.cbr = { packets = 50 } }]")])
    file.write_bytes(airpath.run(call, capture=True).capture)
    page = opened("capture.html")
    page.locator("#file").set_input_files(file)
    page.locator("#udp table").wait_for()
    flow = json.loads(_core.analyze(file))["conversations"][0]["flows"][0]
    delay = flow["path"]["data"]["delay_ms"]["median"]
    assert page.locator("#udp tbody td").all_inner_texts()[:5] == [
        *("UDP", f"{flow['rate_bps'] / 1e3:.1f}", "50", "0", f"{delay:.1f}")
    ]
    panels = [panel.get_attribute("data-panel") for panel in page.locator("#panels .panel").all()]
    assert panels == ["delay", "rate", "sequence"]
    assert page.locator(".fall-row").count() == 1
