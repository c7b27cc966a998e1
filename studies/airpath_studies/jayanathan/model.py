"""Drop rates and senders of Jayanathan et al., and the cells that are made of them.

The base scenario is `jayanathan-46` with the window, path and rate of set-up B. Drops have a random stream of
their own, so that with one seed the same packets are dropped of each sender.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.observe import Observation
from airpath_studies.jayanathan.measured import throughput_kbps

RUNS = 100
"""Runs of a cell: one run scatters by 1 to 13 %."""

TABLE_RUNS = 900
"""Runs of a cell of Table 2: they tell a gain to half a point, a quarter of what `reproduced` allows it."""

BEARER_KBPS = 48
"""Rate of the bearer at IP level, kbit/s."""

PACKET_BYTES, PAYLOAD_BYTES = 1500, 1460

LOSSES = (2, 5, 10, 15)
"""Drop rates of Table 2, percent."""

FIRST_FLAGGED: Overrides = (("tcp.rnf", "first_flagged"),)
"""The first flagged duplicate ACK sends the missing segment again."""


def bearer(rate_kbps: int) -> Overrides:
    """Give the bearer a rate, both ways."""
    return tuple((f"radio.dch.{way}.rate", f"{rate_kbps} kbit/s") for way in ("downlink", "uplink"))


def set_up(window_bytes: int, wired_ms: int, rate_kbps: int) -> Overrides:
    """Settle together what is open: window of the UE, one way of the wire, rate of the bearer."""
    path = (("tcp.receive_buffer", f"{window_bytes} B"), ("wired.delay", f"{wired_ms} ms"))
    return (*path, *bearer(rate_kbps))


LARGE_WINDOW = 65535
"""The usual window without scaling, bytes."""
SIX_SEGMENTS = 8760
"""Window of the server, bytes."""

A, B = set_up(LARGE_WINDOW, 140, 50), set_up(LARGE_WINDOW, 90, BEARER_KBPS)
"""Two of the set-ups that `airpath reproduce jayanathan --explore` sets side by side."""
SHORT = set_up(SIX_SEGMENTS, 40, 46)
"""The window of the server for the UE, too, and the path that then fits standard TCP best."""


@dataclass(frozen=True)
class Sender:
    """A sender of the paper or of its future work, with its changes to the base scenario."""

    name: str
    options: Overrides = ()


RENO = Sender("Reno")
NEWRENO = Sender("NewReno", (("tcp.recovery", "{ newreno = {} }"),))
SACK = Sender("Reno with SACK", (("tcp.sack", "true"), ("tcp.recovery", "{ sack = {} }")))
WESTWOOD = Sender("Westwood+", (("tcp.cc", "{ westwood_plus = {} }"),))
EIFEL = Sender("Reno with Eifel", (("tcp.timestamps", "true"), ("tcp.undo", "{ eifel = {} }")))

SENDERS = (RENO, NEWRENO, SACK, WESTWOOD, EIFEL)
"""Senders of the paper, and senders that it leaves to future work."""


def make_cell(
    loss: float,
    feedback: bool,
    sender: Sender = RENO,
    *,
    burst: float = 1,
    uplink: float = 0,
    options: Overrides = (),
    variant: str = "",
) -> Cell:
    """Load the file once.

    Parameters
    ----------
    loss, uplink : float
        Drop rate, and that of what the UE sends, percent.
    feedback : bool
        Whether the RNC gives feedback, and the sender heeds it.
    sender : Sender
        The sender.
    burst : float
        Mean packets in a row that are dropped.
    options, variant : tuple, str
        Further changes to the base scenario, and what they make of it.
    """
    back = f', uplink = {{ loss = "{uplink:g} %" }}' if uplink else ""
    boxes = f'{{ packet_loss = {{ downlink = {{ loss = "{loss:g} %", burst = {burst:g} }}{back} }} }}'
    heeds: Overrides = ()
    if feedback:
        boxes, heeds = f"{boxes}, {{ rnc_feedback = {{}} }}", (("tcp.rnf", "two_flagged"),)
    words = (sender.name, variant, f"{loss:g} %", "RNC-FB" if feedback else "")
    overrides = (*B, ("middlebox", f"[{boxes}]"), *sender.options, *heeds, *options)
    name = ", ".join(word for word in words if word)
    return Cell(name, overrides, None, throughput_kbps, runs=RUNS, most_runs=RUNS)


def watched(cell: Cell, observe: Observation) -> Cell:
    """Keep something of the trace."""
    return replace(cell, observe=observe)
