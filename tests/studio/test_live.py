"""A live run in progress in a browser, with programs and packets of the kernel's TCP."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from live.conftest import live_works, marker, start  # noqa: F401
from live.harness import PATIENCE_S
from programs import needs

SERVER = "exec iperf3 --server --one-off"
# The link stays until standard input is closed.
DOWNLOAD = ("sh", "-c", "iperf3 --client $AIRPATH_SERVER --reverse --time 6 >/dev/null; cat")


class Live:
    """`airpath live --studio`, and the address that it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found, line
        self.address = found[0]
        self.origin = self.address.partition("/?")[0]
        # A pipe that is not drained blocks COMMAND.
        self.rest = threading.Thread(target=process.stderr.read)
        self.rest.start()

    def end(self) -> None:
        """Have COMMAND end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0


@pytest.fixture
def live(start) -> Iterator[Live]:  # noqa: F811
    options = ("umts-384", "--studio", "--no-view")
    with start(*options, server=SERVER, command=DOWNLOAD, stdin=subprocess.PIPE) as process:
        running = Live(process)
        yield running
        if process.poll() is None:
            process.kill()
        running.rest.join(PATIENCE_S)


def wait_for(shown: Any, what: str) -> None:
    """Wait for something about `store`."""
    begun = time.monotonic()
    while not shown.ask(what):
        assert time.monotonic() - begun < PATIENCE_S, what
        time.sleep(0.05)


@pytest.mark.slow
@needs("iperf3")
@pytest.mark.usefixtures("live_works")
def test_a_running_link_is_shown_as_it_goes_on(live, opened):
    shown = opened(live)

    def until(what: str) -> None:
        wait_for(shown, what)

    about = shown.view.locator("#about")
    assert about.inner_text().startswith("live") and about.inner_text().endswith("now")
    before = shown.ask("store.end")
    until(f"store.end > {before} + 1 && store.state.playing && store.state.at > {before}")
    # The range moves with the end, and the playback position is a little behind it.
    end, range_, at = shown.ask("[store.end, store.state.range, store.state.at]")
    assert range_[1] == end and 0 < end - at < 3.5
    # A paused view stays where it is; a view at the end follows the run.
    shown.press(" ", "w", "a")
    range_, end = shown.ask("[store.state.range, store.end]")
    until(f"store.end > {end} + 0.5")
    assert shown.ask("store.state.range") == range_
    shown.press("0")
    end = shown.ask("store.end")
    until(f"store.end > {end} + 0.5 && store.state.range[1] === store.end")
    # At the end the results are there, and the page needs the run no more.
    until("store.run.summary.flows.some(({ bytes_received }) => bytes_received > 100e3)")
    live.end()
    until("store.run.goes_on === false")
    shown.settle()
    assert "goodput" in shown.view.locator("#results").inner_text()
    kinds = ("segment_sent", "packet", "rlc_sdu")
    sent, packets, sdus = (shown.ask(f"store.events.table('{kind}').rows") for kind in kinds)
    # A segment of either end comes to three places.
    assert sent >= sum(shown.ask("store.run.summary.flows.map((flow) => flow.segments_sent ?? 0)"))
    assert packets > 2 * sent and sdus > 100


@pytest.mark.slow
@needs("iperf3")
@pytest.mark.usefixtures("live_works")
def test_sliders_and_buttons_change_the_running_link(live, opened):
    shown = opened(live)
    view = shown.view
    view.wait_for_selector("#t-steer:not([hidden])")
    key = "radio.dch.downlink.channel.bernoulli.bler"
    row = view.locator(f'[data-key="{key}"]')
    said = view.locator("#steer-said")

    def until(what: str) -> None:
        wait_for(shown, what)

    def until_said(words: str) -> None:
        view.wait_for_function(
            "(words) => document.getElementById('steer-said').textContent.includes(words)", arg=words
        )

    # By keyboard, many steps at once: the last one counts.
    slider = row.locator("input[type=range]")
    assert slider.get_attribute("aria-label") == f"{key}, slider"
    slider.focus()
    for _ in range(40):
        view.keyboard.press("ArrowRight")
    text = row.locator("input[type=text]").input_value()
    until_said(f'{key} = "{text}"')
    # What cannot be is refused in words, and the run goes on.
    field = row.locator("input[type=text]")
    field.fill("300 %")
    field.press("Enter")
    view.wait_for_selector(f'[data-key="{key}"] .error:not([hidden])')
    field.fill("1 %")
    field.press("Enter")
    until_said(f'{key} = "1 %"')
    view.locator("#steer-pause").press("Enter")
    until_said("pause of UE 0")
    assert view.locator("#steer-pause").get_attribute("aria-pressed") == "true"
    view.locator("#steer-pause").press("Enter")
    until_said("end of the pause of UE 0")
    view.locator("#steer-length").fill("200 ms")
    view.locator("#steer-outage").press("Enter")
    until_said("outage of UE 0 for 200 ms")
    view.locator("#steer-seed").press("Enter")
    until_said("seed 2")
    # The changes are on the time line, each once, and fewer than the steps of the slider.
    until("(store.run.summary.changes ?? []).some(({ what }) => what === 'seed 2')")
    told = shown.ask("store.run.summary.changes.map(({ what }) => what)")
    assert told[-5:] == [
        f'{key} = "1 %"',
        "pause of UE 0",
        "end of the pause of UE 0",
        "outage of UE 0 for 200 ms",
        "seed 2",
    ]
    assert len(told) < 30
    live.end()
    until("store.run.goes_on === false")
    assert view.locator("#steer-pause").is_disabled()
    assert "over" in said.inner_text()


# When each SDU entered the buffer, by when the last of it was sent and in which PDUs.
ENTERED = """() => {
  const sdus = store.events.table("rlc_sdu").columns;
  const { time_ns, packet } = store.events.table("bearer_enqueued").columns;
  const times = new Map([...packet.values].map((id, row) => [id, time_ns.values[row]]));
  return Object.fromEntries([...sdus.packet.values].filter((id) => times.has(id)).map((id) => {
    const row = sdus.packet.values.indexOf(id);
    const way = sdus.direction.words[sdus.direction.values[row]];
    const name = [sdus.time_ns.values[row], way, sdus.first_sn.values[row]].join();
    return [name, times.get(id)];
  }));
}"""


def test_the_oldest_events_go_and_sdus_keep_their_packets(opened, page_of):
    shown = opened(page_of("umts-384"))
    entered = f"({ENTERED})()"
    before = shown.ask(entered)
    gone = shown.ask("store.events.letGo(20)")
    after = shown.ask(entered)
    assert gone["bearer_enqueued"] > 500 and 500 < len(after) < len(before) - 500
    assert all(before[sdu] == came >= 20e9 for sdu, came in after.items())
    assert shown.ask("[store.begin, store.length < store.end]") == [20, True]
