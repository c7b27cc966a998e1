"""Blocks of a shared cell in the studio: drawn, clicked and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
