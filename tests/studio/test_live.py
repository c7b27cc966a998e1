"""A live run in a browser while it goes on, with programs and packets of the kernel's TCP."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from live.conftest import live_works, marker, start  # noqa: F401
from live.harness import PATIENCE_S, needs

SERVER = "exec iperf3 --server --one-off"
DOWNLOAD = ("sh", "-c", "iperf3 --client $AIRPATH_SERVER --reverse --time 6 >/dev/null; cat")


class Live:
    """`airpath live --studio`, and the address that it prints."""

    def __init__(self, process: Any) -> None:
        self.process = process
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found, line
        self.address = found[0]
        self.origin = f"{self.address.partition('/?')[0]}/"
        # Whoever does not read what COMMAND and others say stops them.
        threading.Thread(target=process.stderr.read, daemon=True).start()

    def end(self) -> None:
        """Have COMMAND end."""
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0


@pytest.fixture
def live(start) -> Iterator[Live]:  # noqa: F811
    import subprocess

    running = Live(start("umts-384", "--studio", "--no-view", server=SERVER, command=DOWNLOAD, stdin=subprocess.PIPE))
    yield running
    if running.process.poll() is None:
        running.process.kill()


@needs("iperf3")
@pytest.mark.usefixtures("live_works")
def test_a_running_link_is_shown_as_it_goes_on(live, opened):
    shown = opened(live)

    def until(what: str) -> None:
        shown.view.wait_for_function(f"() => import('studio/main').then(({{store}}) => {what})", timeout=PATIENCE_S * 1000)

    before = shown.state("state.range[1]")
    assert "now" in shown.view.locator("#about").inner_text()
    shown.wait(f"store.end > {before} + 1 && state.playing && state.at > {before}")
    # The range moves with the end, and what is played lies a little behind it.
    end, (_, until_s), at = shown.state("[store.end, state.range, state.at]")
    assert until_s == pytest.approx(end) and 0 < end - at < 3.5
    said = shown.view.locator("#air")
    assert "Play" not in (said.get_by_role("button", name="Pause").get_attribute("aria-label") or "")
    # Whoever looks elsewhere stays there; back at the end the range moves on.
    shown.press("w", "a")
    range_ = shown.state("state.range")
    now = shown.state("store.end")
    shown.wait(f"store.end > {now} + 0.5")
    assert shown.state("state.range") == range_
    shown.press("0")
    now = shown.state("store.end")
    shown.wait(f"store.end > {now} + 0.5 && state.range[1] === store.end")
    # At the end the results are there, and the page needs the run no more.
    live.end()
    shown.wait("store.run.goes_on === false")
    assert "goodput" in shown.view.locator("#results").inner_text()
    rows = shown.state("Object.fromEntries(store.events.kinds.map((kind) => [kind, store.events.table(kind).rows]))")
    sent = shown.state("store.run.summary.flows.map((flow) => flow.segments_sent)")
    assert rows["segment_sent"] == sum(sent) and rows["packet"] > 2 * sum(sent) and rows["rlc_sdu"] > 100
