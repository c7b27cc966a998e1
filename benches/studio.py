"""How fast a run in a browser is: size, first paint, zooms, the list of events, searches, animation, memory.

Makes runs of a minute, of a million events, and with 2,000 packets in flight, and opens their pages in
Debian's Chromium; then starts `airpath studio` and changes values in its form. The times are the browser's
own, including the effect of other load on the machine. Usage: python benches/studio.py
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import airpath
from airpath import _core
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))
import left_out

CHROMIUM = shutil.which("chromium")

MOVING = """
duration = "20 s"
[wired]
delay = "400 ms"
[radio.dch.downlink]
rate = "36 Mbit/s"
[radio.dch.uplink]
rate = "10 Mbit/s"
[tcp]
receive_buffer = "4.2 MB"
[tcp.cc.reno]
[[flow]]
app = "bulk"
"""
RUNS = {
    "a minute": (airpath.load("umts-384"), 6),
    "a million events": (airpath.load("hdr-4").with_("duration", "19 min"), 600),
    "2,000 packets in flight": (airpath.Scenario("moving", MOVING), 17),
}

# Sixty zooms, from the whole run inwards and back: milliseconds until the canvases are drawn.
ZOOMS = """async () => {
  const {store} = await import('studio/main');
  const spent = [];
  for (let n = 0; n < 60; n += 1) {
    const [from, to] = store.state.range;
    const begin = performance.now();
    store.zoom(n < 30 ? 0.8 : 1.25, from + 0.3 * (to - from));
    store.tell();
    for (let turn = 0; turn < 5; turn += 1) await null;
    spent.push(performance.now() - begin);
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  }
  return spent.sort((a, b) => a - b);
}"""
# Time to rebuild the model.
MODEL = """Promise.all(['main', 'model'].map((name) => import(`studio/${name}`)))
.then(([{store}, {Model}]) => {
  const begin = performance.now();
  new Model(store.run, store.events);
  return performance.now() - begin;
})"""
# Two seconds in real time, from an instant on; the jump to there, which redraws all plots, comes before.
FRAMES = """async (at) => {
  const {store} = await import('studio/main');
  const {modelOf} = await import('studio/model');
  const {packets} = modelOf(store.state.variants[0]);
  const now = (at + 0.5) * 1e9;
  let moving = 0;
  for (let packet = 0; packet < packets.count; packet += 1) {
    const {columns: {time_ns: {values}}} = packets.table;
    moving += values[packets.stops[packets.first[packet]]] <= now && packets.end[packet] > now;
  }
  const {Scene} = await import('studio/scene');
  const [drawn, intervals] = [[], []];
  const draw = Scene.prototype.draw;
  Scene.prototype.draw = function (...args) {
    const begin = performance.now();
    draw.apply(this, args);
    drawn.push(performance.now() - begin);
  };
  store.set({at, range: [at, at + 2]});
  for (let n = 0; n < 3; n += 1) await new Promise(requestAnimationFrame);
  store.set({speed: 1, playing: true});
  let last = await new Promise(requestAnimationFrame);
  for (let n = 0; n < 120; n += 1) {
    const next = await new Promise(requestAnimationFrame);
    intervals.push(next - last);
    last = next;
  }
  store.set({playing: false});
  Scene.prototype.draw = draw;
  const [a, b] = [drawn, intervals].map((all) => all.sort((x, y) => x - y));
  const share = (all, part) => all[Math.floor(part * (all.length - 1))];
  const hz = (1000 * b.length) / b.reduce((x, y) => x + y);
  return {moving, drawn: [share(a, 0.5), share(a, 0.95)], hz, late: share(b, 0.95)};
}"""
# A complete search, as in the list.
SEARCH = """async (text) => {
  const [{store}, {Order}] = await Promise.all(['main', 'order'].map((name) => import(`studio/${name}`)));
  const order = new Order(store.run, store.events);
  const begin = performance.now();
  await order.filter({kinds: null, losses: false, text}, store.run.summary.flows);
  return [performance.now() - begin, order.length];
}"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
ROWS = """import('studio/main').then(({store: {events}}) =>
  events.kinds.map((kind) => events.table(kind).rows).reduce((a, b) => a + b))"""

# Forty values that were not run before (the front keeps its latest runs): milliseconds from each change until
# the frame after the one with the new run.
CHANGES = """async () => {
  const {store} = await import('studio/main');
  const field = document.querySelector('input[name="wired.delay"]');
  const spent = [];
  let heard = () => {};
  store.on(['variants'], () => heard());  // After all screens, in the frame that draws the new run.
  for (let n = 0; n < 40; n += 1) {
    const {events} = store.state.variants[0];
    const begin = performance.now();
    const drawn = new Promise((next, failed) => {
      setTimeout(() => failed(new Error('the change did not lead to a run')), 10_000);
      heard = () => store.state.variants[0].events !== events && next();
    });
    field.value = `${80 + n} ms`;
    field.dispatchEvent(new Event('change', {bubbles: true}));
    await drawn;
    await new Promise(requestAnimationFrame);
    spent.push(performance.now() - begin);
    await new Promise((next) => setTimeout(next, 300));
  }
  return spent.sort((a, b) => a - b);
}"""
SCENARIOS = ("umts-384", "lundsten-dch")


def main() -> None:
    """Measure all runs."""
    if why := left_out.why("chromium"):
        left_out.note("speed of pages and of the studio", why)
        print(f"pages and studio: not measured: {why}")
        return
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, (scenario, at) in RUNS.items():
            file = Path(folder) / f"{scenario.name}.html"
            write(file, scenario)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            print(f"{name} ({scenario.name}): {file.stat().st_size / 1e6:.2f} MB")
            measure(browser, file, at)
            browser.close()
        for scenario in SCENARIOS:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            serve(browser, scenario)
            browser.close()


def write(file: Path, scenario: airpath.Scenario) -> None:
    """Run a scenario and write its page, with every probe."""
    run_to_folder(scenario, 1, file.with_suffix(""), probes=list(_core.probes()))
    begin = time.perf_counter()
    file.write_bytes(page(FinishedRun.open(file.with_suffix(""))))
    print(f"written in {time.perf_counter() - begin:.2f} s")


def measure(browser: Any, file: Path, at: float) -> None:
    """Open a page, and print what it takes."""
    view = browser.new_page(viewport={"width": 1280, "height": 720})
    begin = time.perf_counter()
    view.goto(file.as_uri())
    view.locator("html[data-ready]").wait_for()
    print(
        f"  plots there after {time.perf_counter() - begin:.2f} s, first paint {view.evaluate(PAINT):.0f} ms"
    )
    spent = view.evaluate(ZOOMS)
    shown = f"median {spent[30]:.1f}, p95 {spent[57]:.1f}, worst {spent[59]:.1f} ms"
    print(f"  {view.evaluate(ROWS)} events; zoom: {shown}")
    begin = time.perf_counter()
    view.locator("[data-tab=events]").click()
    view.locator(".event").first.wait_for()
    print(f"  list of events after {time.perf_counter() - begin:.2f} s")
    print(f"  memory: at most {renderer_mb()} MB in a process that draws")
    for text in ("queue full", "960"):
        spent, count = view.evaluate(SEARCH, text)
        print(f"  search for {text!r}: {spent:.0f} ms, {count} events")
    print(f"  model made in {view.evaluate(MODEL):.0f} ms")
    frames = view.evaluate(FRAMES, at)
    median, p95 = frames["drawn"]
    print(
        f"  animation, {frames['moving']} packets in flight: {median:.2f} ms per picture (p95 {p95:.2f}), "
        f"{frames['hz']:.1f} pictures a second, p95 {frames['late']:.1f} ms apart"
    )


def serve(browser: Any, scenario: str) -> None:
    """Start the server, open it, change a value again and again, and print what that takes."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "airpath", "studio", scenario, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        print(f"airpath studio {scenario}: address after {time.perf_counter() - begin:.2f} s")
        print(f"  memory of the server: {resident_mb(server.pid)} MB")
        try:
            show(browser.new_page(viewport={"width": 1280, "height": 720}), address, begin)
            print(f"  memory of the server after the runs: {resident_mb(server.pid)} MB")
        finally:
            server.send_signal(signal.SIGINT)


def show(view: Any, address: str, begin: float) -> None:
    """Open a server's page, and change a value again and again."""
    view.goto(address)
    view.locator("html[data-ready]").wait_for()
    print(
        f"  first paint {view.evaluate(PAINT):.0f} ms after the browser asked; "
        f"plots there {time.perf_counter() - begin:.2f} s after the start of the command"
    )
    spent = view.evaluate(CHANGES)
    shown = f"median {spent[20]:.0f}, p95 {spent[38]:.0f}, worst {spent[39]:.0f} ms"
    print(f"  {view.evaluate(ROWS)} events; from a changed value to the picture: {shown}")


def resident_mb(process: int) -> int:
    """Resident memory of a process, MB."""
    line = Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1]
    return int(line.split()[0]) // 1000


def renderer_mb() -> int:
    """Resident memory of the largest of Chromium's renderers, MB."""
    found = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                line = (process / "status").read_text().split("VmRSS:")[1]
                found.append(int(line.split()[0]) // 1024)
        except OSError:  # It has ended.
            pass
    return max(found)


if __name__ == "__main__":
    main()
