"""Blocks of a shared cell in the studio: drawn, clicked and told."""

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

PROBES = ["tcp_state", "bearer_enqueued", "block_sent", "rlc_data", "rlc_sdu", "rlc_status", "packet"]
SCENARIO = """
duration = "1 s"
tcp.profile = "linux"
[wired]
rate = "1 Gbit/s"
delay = "10 ms"
[radio.lte]
ues = 2
[radio.lte.downlink.reception]
mean_sinr = ["15 dB", "5 dB"]
[radio.lte.downlink.reception.fading.jakes]
doppler = "30 Hz"
[[flow]]
ue = 0
direction = "downlink"
[[flow]]
ue = 1
direction = "downlink"
"""


def test_slots_of_a_shared_cell(opened: Callable[..., Any], tmp_path: Path) -> None:
    """Slots are 1 ms long; retransmissions are shown as such, PDUs that overtake each other are not."""
    source = tmp_path / "shared.toml"
    source.write_text(SCENARIO)
    with no_pictures():
        run_to_folder(airpath.load(str(source)), 1, tmp_path / "out", probes=PROBES)
    run = FinishedRun.open(tmp_path / "out")
    (tmp_path / "page.html").write_bytes(page(run))
    blocks = trace(tmp_path / "out", "block_sent").to_pylist()
    again = next(row for row, block in enumerate(blocks) if block["transmission"] > 1)
    front = opened(tmp_path / "page.html")
    front.ask(f"store.choose({{kind: 'block_sent', row: {again}}})")
    front.settle()
    said = front.view.locator("#moment")
    said.get_by_text("transmission 2").wait_for()
    assert f"{blocks[again]['units']} PRB" in said.inner_text() and "eNodeB" in said.inner_text()
    assert "second transmission" in front.view.locator("body").inner_text()
    slots = front.view.evaluate(
        "import('studio/main').then(({store}) => import('studio/model')"
        ".then(({modelOf}) => [...modelOf(store.state.variants[0]).slots.values()][0]))"
    )
    assert slots["length"] == 1_000_000 and slots["units"] == 50
    assert not front.said


TDD = """
duration = "0.5 s"
wired = { rate = "1 Gbit/s", delay = "10 ms" }
flow = [{ app.bulk = {} }, { direction = "uplink", app.bulk = {} }]
tcp.profile = "linux"
[radio.nr]
downlink.blocks = { bandwidth = "20 MHz", layers = 1 }
uplink.blocks.bandwidth = "20 MHz"
"""


def test_slots_of_tdd_have_their_letters(opened: Callable[..., Any], tmp_path: Path) -> None:
    """Slots are told of when they are decided on, `lead` before they are on the air."""
    source = tmp_path / "tdd.toml"
    source.write_text(TDD)
    with no_pictures():
        run_to_folder(airpath.load(str(source)), 1, tmp_path / "out", probes=[*PROBES, "uplink_block"])
    (tmp_path / "page.html").write_bytes(page(FinishedRun.open(tmp_path / "out")))
    blocks = trace(tmp_path / "out", "block_sent").to_pylist()
    last = max(row for row, block in enumerate(blocks) if block["slot"] % 10 == 6)
    front = opened(tmp_path / "page.html")
    front.view.evaluate(
        "() => { const own = CanvasRenderingContext2D.prototype; const write = own.fillText;"
        " window.letters = []; own.fillText = function (text, x, ...rest) {"
        " if ('DSU'.includes(text)) window.letters.push([x, text]);"
        " return write.call(this, text, x, ...rest); }; }"
    )
    front.ask(f"store.choose({{kind: 'block_sent', row: {last}}})")
    front.settle()
    letters = front.view.evaluate("window.letters")
    # The newest slot is right, the seventh of the pattern.
    drawn = [letter for _, letter in sorted(letters, key=lambda letter: letter[0])]
    text = "".join(drawn)
    assert len(text) >= 12 and text.rstrip("D").endswith("SUU") and not front.said, text
    # Uplink blocks are in U slots, each decoded or not.
    ups = trace(tmp_path / "out", "uplink_block").to_pylist()
    assert len(ups) > 50 and {row["slot"] % 10 for row in ups} <= {8, 9}
    assert {row["process"] for row in ups} <= set(range(16))


LAYERS = """
duration = "0.6 s"
wired = { rate = "1 Gbit/s", delay = "10 ms" }
flow = [{ app.bulk = {} }]
tcp.profile = "linux"
[radio.nr.downlink]
blocks = { bandwidth = "20 MHz", layers = 4 }
harq.bler = ["20 %"]
reception = { mean_sinr = "22 dB", fading.jakes.doppler = "20 Hz" }
"""
LINES = """Promise.all(['main', 'series', 'standing', 'model'].map((name) => import('studio/' + name)))
.then(([{store}, {curvesOf}, {momentOf}, {modelOf}]) => {
  const [{lines, from: flow}] = curvesOf(store.state);
  const values = (name) => lines.has(name) ? [...new Set(lines.get(name).y)].sort((a, b) => a - b) : [];
  const model = modelOf(store.state.variants[0]);
  const told = Array.from({length: 600}, (_, ms) => momentOf(model, {now: 1e6 * ms, ue: 0, flow, fall: 0}));
  return {cqi: values('cqi'), mcs: values('mcs'), layers: values('layers'),
    holes: told.filter((words) => words.includes('waits in PDCP behind')).length};
})"""


@pytest.mark.slow
def test_blocks_of_nr_have_an_mcs_and_layers(opened: Callable[..., Any], tmp_path: Path) -> None:
    """A column of the event has both; plots, the slot in words and PDCP's holes are told apart."""
    source = tmp_path / "layers.toml"
    source.write_text(LAYERS)
    with no_pictures():
        run_to_folder(airpath.load(str(source)), 1, tmp_path / "out", probes=PROBES)
    (tmp_path / "page.html").write_bytes(page(FinishedRun.open(tmp_path / "out")))
    blocks = trace(tmp_path / "out", "block_sent").to_pylist()
    front = opened(tmp_path / "page.html")
    found = front.view.evaluate(LINES)
    assert found["cqi"] == []
    assert found["mcs"] == sorted({block["cqi"] % 32 for block in blocks})
    assert found["layers"] == sorted({1 + block["cqi"] // 32 for block in blocks})
    assert found["layers"][-1] == 4
    assert found["holes"] > 5
    row = next(row for row, block in enumerate(blocks) if block["cqi"] >= 96)
    front.ask(f"store.choose({{kind: 'block_sent', row: {row}}})")
    front.settle()
    front.view.locator("#moment").get_by_text(f"MCS {blocks[row]['cqi'] % 32}, 4 layers").wait_for()
    panels = front.view.locator("body").inner_text()
    assert "Layers" in panels and "MCS" in panels and not front.said
