"""Links and flows of Chan and Ramjee's paper, and the cells that are made of them.

The base scenario is `chan-variable-delay`. A link redraws rate and delay for every packet, u(a, b) is uniform
with mean a and standard deviation b, e(m) exponential with mean m, and no packet overtakes another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.chan.measured import BUFFER_PACKETS, goodput_kbps

RUNS = 10
"""Runs of a cell; each stands for an hour."""
HDR_RUNS = 3
"""Runs of a cell with HDR, which takes longer than a link whose rate is drawn."""

_EVDO = "radio.evdo.downlink"
PLAIN: Overrides = ((f"{_EVDO}.slots", "plain"), (f"{_EVDO}.fading.jakes.doppler", "40 Hz"))
"""HDR in the paper's words: simplified, packets scheduled and cut up at layer 3; a slot carries its rate."""
_RATE, _DELAY = '{ constant = "200 kbit/s" }', '{ constant = "200 ms" }'


@dataclass(frozen=True)
class Link:
    """A radio link.

    Attributes
    ----------
    name : str
        Rate and delay in the words of Table 1.
    rate, forward : str
        Distributions of rate and forward delay.
    reverse_ms : float
        Constant delay of the reverse path.
    """

    name: str
    rate: str = _RATE
    forward: str = _DELAY
    reverse_ms: float = 200

    @property
    def overrides(self) -> Overrides:
        """Changes to the base scenario."""
        down = f'{{ distribution = {{ redraw = "packet", rate = {self.rate}, delay = {self.forward} }} }}'
        back = f'{{ constant = "{self.reverse_ms:g} ms" }}'
        up = f'{{ distribution = {{ rate = {{ constant = "64 kbit/s" }}, delay = {back} }} }}'
        return (("radio.variable.downlink.channel", down), ("radio.variable.uplink.channel", up))


def make_link(mean_ms: float = 0, rate_sd_kbps: float = 0) -> Link:
    """Make u(200, sd) kbit/s and e(mean) + (400 - mean) ms; without a spread or mean it is constant."""
    rate, forward, reverse_ms, names = _RATE, _DELAY, 200.0, ["200", "400"]
    if rate_sd_kbps:
        rate = f'{{ uniform = {{ mean = "200 kbit/s", sd = "{rate_sd_kbps:g} kbit/s" }} }}'
        names[0] = f"u(200,{rate_sd_kbps:g})"
    if mean_ms:
        forward, reverse_ms = f'{{ exponential = {{ mean = "{mean_ms:g} ms" }} }}', 400 - mean_ms
        names[1] = f"{reverse_ms:g}+e({mean_ms:g})"
    return Link(", ".join(names), rate, forward, reverse_ms)


_SPREADS = ((0, 0), (20, 0), (50, 0), (100, 0), (0, 20), (0, 50), (0, 75), (50, 50), (100, 75))
CASES = {case: make_link(*spreads) for case, spreads in enumerate(_SPREADS, 1)}
"""The rows of Table 1."""

RUN_S = 3600
"""Time of a run."""


def max_kbps(case: int) -> float:
    """What the link of a row of Table 1 carries if never idle: the harmonic mean of its rates, kbit/s."""
    half = _SPREADS[case - 1][1] * math.sqrt(3)
    return 2 * half / math.log((200 + half) / (200 - half)) if half else 200.0


@dataclass(frozen=True)
class Flow:
    """What sends, and whether its ACKs are regulated.

    Attributes
    ----------
    is_sack : bool
        SACK instead of Reno.
    alpha : float or None
        The Ack Regulator's parameter; None without one.
    """

    is_sack: bool = False
    alpha: float | None = None

    @property
    def name(self) -> str:
        """As in Table 3, with alpha if it is not 2."""
        name = "SACK" if self.is_sack else "Reno"
        if self.alpha is None:
            return name
        return f"{name}+AR" if self.alpha == 2 else f"{name}+AR, alpha {self.alpha:g}"

    @property
    def overrides(self) -> Overrides:
        """Changes to the base scenario."""
        sack = (("tcp.sack", "true"), ("tcp.recovery.sack", "{}")) if self.is_sack else ()
        box = f"[{{ ack_regulator = {{ alpha = {self.alpha:g}, count = 'acks' }} }}]" if self.alpha else ""
        return (*sack, ("middlebox", box)) if box else sack


RENO, RENO_AR, SACK, SACK_AR = Flow(), Flow(alpha=2), Flow(True), Flow(True, 2)
FLOWS = (RENO, RENO_AR, SACK, SACK_AR)


REGULATED = {RENO: RENO_AR, SACK: SACK_AR}


def make_cell(flow: Flow, link: Link, buffer: int = BUFFER_PACKETS, *, wired_ms: float | None = None) -> Cell:
    """Run a flow over a link for an hour.

    So many packets may wait at the RNC, which is `wired_ms` away one way instead of 1 ms.
    """
    words = [flow.name, link.name, f"buffer {buffer}"]
    changes = [("radio.variable.downlink.queue.droptail.packets", f"{buffer}")]
    if wired_ms is not None:
        words.append(f"{wired_ms:g} ms to the RNC")
        changes.append(("wired.delay", f"{wired_ms:g} ms"))
    overrides = (*link.overrides, *changes, *flow.overrides)
    return Cell(", ".join(words), overrides, None, goodput_kbps, runs=RUNS, most_runs=RUNS)


def hdr_cell(flow: Flow, users: int, buffer: int) -> Cell:
    """Let users with a flow each share the HDR link for an hour, with a buffer for each (6.4, 6.5)."""
    changes = [("duration", "1 h"), ("radio.evdo.downlink.queue.droptail.packets", f"{buffer}")]
    if users > 1:
        changes.append(("radio.evdo.ues", f"{users}"))
    return Cell(
        f"HDR, {users} x {flow.name}, buffer {buffer}",
        (*PLAIN, *changes, *flow.overrides),
        None,
        goodput_kbps,
        scenario="hdr-single" if users == 1 else "hdr-4",
        runs=HDR_RUNS,
        most_runs=HDR_RUNS,
    )
