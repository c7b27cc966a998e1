"""Frames of calls and buffers of video players in the studio: recorded, drawn and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from conftest import no_pictures

import airpath
from airpath.runs.finished import FinishedRun
from airpath.runs.folder import run_to_folder
from airpath.studio.page import page

from .test_air import trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OUTAGE = """
duration = "60 s"
[wired]
rate = "100 Mbit/s"
delay = "20 ms"
[radio.nr]
uplink.blocks.bandwidth = "20 MHz"
[radio.nr.downlink]
blocks = { bandwidth = "20 MHz", layers = 1 }
[[handover]]
at = "25 s"
outage = "8 s"
bearers = "pause"
"""
CALL = f"""{OUTAGE}
[[flow]]
[flow.app.call]
"""
PLAYER = f"""{OUTAGE}
[[flow]]
[flow.app.adaptive_video]
buffer = "6 s"
"""


def made(folder: Path, text: str) -> FinishedRun:
    (folder / "media.toml").write_text(text)
    with no_pictures():
        run_to_folder(airpath.load(str(folder / "media.toml")), 1, folder / "out")
    return FinishedRun.open(folder / "out")


LINES = """(names) => Promise.all(['main', 'series', 'spans'].map((name) => import('studio/' + name)))
.then(([{store}, {curvesOf}, {spansOf}]) => {
  const [{lines}] = curvesOf(store.state);
  const points = ({x, y}) => [[...x], [...y].map(Number)];
  const get = (name) => lines.has(name) ? points(lines.get(name)) : null;
  return {lines: Object.fromEntries(names.map((name) => [name, get(name)])), spans: spansOf(store)};
})"""


def drawn(front: Any, *names: str) -> Any:
    return front.view.evaluate(LINES, list(names))


def panels(front: Any) -> list[str]:
    """Names of the panels on the page."""
    return front.view.evaluate(
        "[...document.querySelectorAll('[data-panel]')].map((own) => own.dataset.panel)"
    )


@pytest.mark.slow
def test_frames_of_a_call_are_a_panel(opened: Callable[..., Any], tmp_path: Path) -> None:
    """The rows agree with the results; the panel has each frame, and marks late frames and freezes."""
    run = made(tmp_path, CALL)
    received = run.summary["flows"][0]["call"]["downlink"]["receiver"]
    rows = trace(tmp_path / "out", "video_frame").to_pylist()
    down = [row for row in rows if row["direction"] == "downlink"]
    late = [row for row in down if row["delay_ns"] > 4e8]
    frozen = [row for row in down if row["freeze_ns"] > 0]
    assert len(down) == received["frames"] > 500
    assert len(late) == received["frames_late"] > 0
    assert len(frozen) == received["freezes"] > 0
    assert sum(row["freeze_ns"] for row in frozen) / 1e9 == pytest.approx(received["freeze_s"])
    assert max(row["delay_ns"] for row in down) / 1e6 == pytest.approx(
        received["frame_delay_ms"]["max"], abs=0.01
    )
    (tmp_path / "page.html").write_bytes(page(run))
    front = opened(tmp_path / "page.html")
    found = drawn(front, "frame", "frameBack", "frameLate", "frameKey", "playerBuffer")
    lines = found["lines"]
    assert lines["frame"][1] == pytest.approx([row["delay_ns"] / 1e6 for row in down])
    assert len(lines["frameBack"][0]) == len(rows) - len(down) > 500
    assert len(lines["frameLate"][0]) == len(late)
    assert len(lines["frameKey"][0]) == sum(row["key"] for row in down) > 0
    assert lines["playerBuffer"] is None
    freezes = [span for span in found["spans"] if span["word"] == "freeze"]
    assert {span["panel"] for span in freezes} == {"frames"}
    lengths = [span["to"] - span["from"] for span in freezes]
    assert lengths == pytest.approx([row["freeze_ns"] / 1e9 for row in frozen])
    assert "frames" in panels(front) and "player" not in panels(front)
    front.ask(f"store.choose({{kind: 'video_frame', row: {rows.index(late[0])}}})")
    front.settle()
    front.view.get_by_text("could decode a video frame").wait_for()


@pytest.mark.slow
def test_the_buffer_of_a_player_is_a_panel(opened: Callable[..., Any], tmp_path: Path) -> None:
    """It drains at one second per second between segments, and stands at zero in a stall."""
    run = made(tmp_path, PLAYER)
    video = run.summary["flows"][0]["video"]
    rows = trace(tmp_path / "out", "video_segment").to_pylist()
    assert [row["segment"] for row in rows] == list(range(video["segments"]))
    stalled = [row for row in rows if row["stalled_ns"] > 0]
    assert stalled and sum(row["stalled_ns"] for row in stalled) / 1e9 <= video["stall_s"] + 1e-6
    assert sum(row["buffer_ns"] for row in rows) / 1e9 / len(rows) == pytest.approx(video["mean_buffer_s"])
    (tmp_path / "page.html").write_bytes(page(run))
    front = opened(tmp_path / "page.html")
    found = drawn(front, "playerBuffer", "segmentRate", "frame")
    x, y = found["lines"]["playerBuffer"]
    assert found["lines"]["frame"] is None and x == sorted(x) and min(y) == 0
    steps = list(zip(x, y, x[1:], y[1:], strict=False))
    falls = [(y1 - y0) / (x1 - x0) for x0, y0, x1, y1 in steps if y1 < y0]
    assert falls == pytest.approx([-1] * len(falls)) and len(falls) >= len(rows) - 1
    stalls = [span for span in found["spans"] if span["word"] == "stall"]
    assert len(stalls) == len(stalled) and {span["panel"] for span in stalls} == {"player"}
    for span in stalls:
        # The line reaches zero where the stall begins.
        assert any(level == 0 and abs(time - span["from"]) < 1e-3 for time, level in zip(x, y, strict=True))
    assert found["lines"]["segmentRate"][1] == [row["rate_bps"] / 1e3 for row in rows]
    assert "player" in panels(front) and "frames" not in panels(front)


UPLINK = """
duration = "1 s"
wired = { rate = "1 Gbit/s", delay = "10 ms" }
flow = [{ direction = "uplink", app.bulk = {} }]
[radio.nr]
downlink.blocks = { bandwidth = "20 MHz", layers = 1 }
uplink.blocks.bandwidth = "20 MHz"
"""


def test_an_uplink_flow_shows_uplink_blocks(opened: Callable[..., Any], tmp_path: Path) -> None:
    """MCS and PRBs are those of the blocks that carry the flow's data."""
    run = made(tmp_path, UPLINK)
    (tmp_path / "page.html").write_bytes(page(run))
    up = trace(tmp_path / "out", "uplink_block").to_pylist()
    front = opened(tmp_path / "page.html")
    lines = drawn(front, "mcs", "units", "blockSum")["lines"]
    assert lines["units"][1] == [row["units"] for row in up] and len(up) > 100
    assert lines["mcs"][1] == [row["cqi"] % 32 for row in up]
    decoded = sum(row["bits"] for row in up if not row["lost"]) / 1e3
    assert lines["blockSum"][1][-1] == pytest.approx(decoded)
    assert {"blocks", "mcs", "units"} <= set(panels(front))


@pytest.mark.slow
def test_uplink_slots_are_told(opened: Callable[..., Any], tmp_path: Path) -> None:
    """The words under the path say who has what of a slot of the uplink."""
    run = made(tmp_path, UPLINK)
    (tmp_path / "page.html").write_bytes(page(run))
    up = trace(tmp_path / "out", "uplink_block").to_pylist()
    row = next(row for row, block in enumerate(up) if block["units"] > 1 and block["time_ns"] > 5e8)
    front = opened(tmp_path / "page.html")
    front.ask(f"store.choose({{kind: 'uplink_block', row: {row}}})")
    front.settle()
    front.view.locator("#moment").get_by_text(
        f"{up[row]['units']} PRBs, MCS {up[row]['cqi'] % 32}"
    ).wait_for()


DATAGRAMS = (
    """
duration = "5 s"
[wired]
rate = "10 Mbit/s"
delay = "20 ms"
[radio.variable]
"""
    + 3
    * """
[[flow]]
[flow.app.cbr]
"""
)


@pytest.mark.slow
def test_datagrams_have_no_figures_of_tcp(opened: Callable[..., Any], tmp_path: Path) -> None:
    """Three flows have no rate that is drawn: no panel is empty, and no figure of TCP is zero."""
    run = made(tmp_path, DATAGRAMS)
    (tmp_path / "page.html").write_bytes(page(run))
    front = opened(tmp_path / "page.html")
    assert panels(front) == ["buffer"]
    rows = [line.split("\t") for line in front.view.locator("#results tr").all_inner_texts()]
    told = {name: values for name, *values in rows}
    assert float(told["goodput, kbit/s"][0]) > 10
    for name in ("acknowledged, MB", "segments sent", "retransmissions", "timeouts"):
        assert told[name] == 3 * ["–"], name


@pytest.mark.slow
def test_changes_of_a_cell_have_short_words(opened: Callable[..., Any], page_of: Callable[..., Any]) -> None:
    """Keys are told by their last part, also where they have the number of a cell."""
    front = opened(page_of("mptcp-lte-wifi", duration="12 s"))
    assert [span["word"] for span in drawn(front)["spans"]] == ['loss = "100 %"']
