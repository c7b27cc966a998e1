"""Schemes and flows of Alcaraz and Cerdan's paper, and the cells that are made of them.

The base scenario is `alcaraz-384`. A scheme is what acts on the RLC buffer: its queue discipline, and ACK
rate control at the RNC.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airpath.terminal import counted
from airpath_studies.alcaraz.measured import goodput_kbps
from airpath_studies.alcaraz.observed import RUN
from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.description import description

BASE = description("alcaraz").scenario
"""Base scenario of the paper."""

RUNS = 20
"""Runs that the paper averages, and of a cell of its figures."""

OWN_RUNS = 100
"""Runs of a row of Table 2 and of studies: the first 20 compare with the paper's, all decide on claims."""

TABLE_2_FLOWS = (1, 4)

BUFFER_SDUS = 50
"""Limit of the RLC buffer, where it is not swept."""


def time_between_acks(alpha: float, ratio: float, maxth: int, minth: int) -> str:
    """Write equation 1: the time between two ACKs by the occupancy.

    Parameters
    ----------
    alpha : float
        Exponent.
    ratio : float
        maxd / maxth, ms per SDU.
    maxth, minth : int
        Thresholds, SDUs; minth of section 5 is 0 with an alpha of 1, else 10.
    """
    thresholds = f'minth = {minth}, maxth = {maxth}, maxd = "{ratio * maxth:g} ms"'
    if alpha == 1:
        return f"{{ linear = {{ {thresholds} }} }}"
    return f"{{ power = {{ {thresholds}, alpha = {alpha:g} }} }}"


@dataclass(frozen=True)
class Scheme:
    """What acts on the RLC buffer.

    Attributes
    ----------
    name : str
        As in Table 2, with what differs from it.
    queue : str
        Discipline of the buffer.
    f1, f2 : str or None
        Time between ACKs, and that after a drop; None without ACK rate control, or if a drop changes nothing.
    release, occupancy : str
        How ACKs are released, and which SDUs count.
    """

    name: str
    queue: str
    f1: str | None = None
    f2: str | None = None
    release: str = "loop"
    occupancy: str = "unacked"

    @property
    def overrides(self) -> Overrides:
        """Changes to the base scenario."""
        changes = (("radio.dch.downlink.queue", self.queue),)
        if self.f1 is None:
            return changes
        after = f", t_id_after_drop = {self.f2}" if self.f2 else ""
        box = f't_id = {self.f1}{after}, release = "{self.release}", occupancy = "{self.occupancy}"'
        return (*changes, ("middlebox", f"[{{ ack_rate_control = {{ {box} }} }}]"))


def droptail(packets: int = BUFFER_SDUS) -> Scheme:
    """Make the conventional buffer."""
    name = "Conventional RLC" if packets == BUFFER_SDUS else f"Conventional RLC, buffer {packets}"
    return Scheme(name, f"{{ droptail = {{ packets = {packets} }} }}")


def ack_rate(ratio: float = 20) -> Scheme:
    """Make ACK rate control alone, with alpha 1: maxth is at least the buffer (Section 6)."""
    differs = "" if ratio == 20 else f", maxth {BUFFER_SDUS}, maxd/maxth {ratio:g}"
    f1 = time_between_acks(1, ratio, BUFFER_SDUS, minth=0)
    return Scheme(f"ACK Rate Control{differs}", droptail().queue, f1)


def _pdpc_queue(maxth: int) -> str:
    return f'{{ pdpc = {{ packets = {BUFFER_SDUS}, max_threshold = {maxth}, arriving = "excluded" }} }}'


def pdpc(maxth: int = 30) -> Scheme:
    """Make PDPC alone."""
    return Scheme("PDPC" if maxth == 30 else f"PDPC, maxth {maxth}", _pdpc_queue(maxth))


def combined(alpha: float, maxth: int, ratio: float, f2_alpha: float | None = None) -> Scheme:
    """Combine PDPC and ACK rate control; without `f2_alpha` f2 is 0."""
    minth = 0 if alpha == 1 else 10
    f1 = time_between_acks(alpha, ratio, maxth, minth)
    f2 = "{ off = {} }" if f2_alpha is None else time_between_acks(f2_alpha, ratio, maxth, minth)
    said = "f2 = 0" if f2_alpha is None else f"alpha {f2_alpha:g} in f2"
    name = f"combined, alpha {alpha:g}, {said}, maxth {maxth}, maxd/maxth {ratio:g}"
    return Scheme(name, _pdpc_queue(maxth), f1, f2)


CONVENTIONAL = droptail()
ACK_RATE = ack_rate()
PDPC = pdpc()
COMBINED_1 = replace(combined(1, 40, 12.5), name="Combined Scheme 1")
COMBINED_2 = replace(combined(0.5, 40, 10, f2_alpha=1), name="Combined Scheme 2")

SCHEMES = {
    "conventional": CONVENTIONAL,
    "ackrate": ACK_RATE,
    "pdpc": PDPC,
    "combined1": COMBINED_1,
    "combined2": COMBINED_2,
}
"""The schemes of Table 2 in its order, by their names in the published values."""


def make_cell(scheme: Scheme, flows: int = 1, *, options: Overrides = (), variant: str = "") -> Cell:
    """Let flows share a bearer with a scheme for 60 s; `variant` says what `options` change."""
    many = (("flow", f"[{', '.join(['{ app = { bulk = {} } }'] * flows)}]"),) if flows > 1 else ()
    words = [scheme.name, *([variant] if variant else []), counted(flows, "flow")]
    overrides = (*scheme.overrides, *many, *options)
    in_table_2 = flows in TABLE_2_FLOWS and overrides in {
        (*known.overrides, *many) for known in SCHEMES.values()
    }
    runs = OWN_RUNS if in_table_2 else RUNS
    return Cell(
        ", ".join(words),
        overrides,
        None,
        goodput_kbps,
        observe=RUN,
        is_read=scheme.f1 is not None,
        runs=runs,
        most_runs=runs,
    )
