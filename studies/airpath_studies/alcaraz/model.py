"""How Alcaraz and Cerdan's paper is read: schemes, flows, and the cells that are made of them.

The base scenario is `alcaraz-384`. A scheme is what acts on the RLC buffer: its queue discipline, and ACK
rate control at the RNC.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airpath.terminal import counted
from airpath_studies.alcaraz.measured import goodput_kbps
from airpath_studies.alcaraz.observed import RUN
from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.choices import Reading

BASE = "alcaraz-384"
"""Base scenario of the paper."""

RUNS = 20
"""Runs that the paper averages, and of a cell of its figures."""

OWN_RUNS = 100
"""Runs of a row of Table 2 and of studies: the first 20 compare with the paper's, all decide on claims."""

TABLE_2_FLOWS = (1, 4)

CONFIDENCE = 0.9
"""Confidence level of the intervals that the paper prints."""

BUFFER_SDUS = 50
"""Limit of the RLC buffer, where it is not swept."""

_BOX = "middlebox.0.ack_rate_control"


def _reading(name: str, description: str, release: str, occupancy: str, *more: tuple[str, str]) -> Reading:
    changes = ((f"{_BOX}.release", f'"{release}"'), (f"{_BOX}.occupancy", f'"{occupancy}"'), *more)
    return Reading(name, description, changes)


DEFAULT_READING = "prose"
READINGS = (
    Reading(
        DEFAULT_READING,
        "ACKs that need no delay leave at once, as sections 3 and 3.3 say; BO is the SDUs that the other end "
        "has not acknowledged, as section 2 says, for ACK rate control as for PDPC",
        (),
    ),
    _reading(
        "Figure 3",
        "as printed: one ACK at each arrival and each expiration, so that others may be stranded",
        "strict",
        "unacked",
    ),
    _reading(
        "Figure 3, unsent",
        "as printed; ACK rate control sees only unstarted SDUs",
        "strict",
        "untransmitted",
    ),
    _reading(
        "Figure 3, unsent, 100 ms",
        "the same; an ACK that is stranded goes after 100 ms, not after the 1 s of our `idle_release`",
        "strict",
        "untransmitted",
        (f"{_BOX}.idle_release", '"100 ms"'),
    ),
    _reading("one per TTI", "as in the prose, but at most one ACK in a TTI", "one_per_tti", "unacked"),
    _reading(
        "one per TTI, unsent",
        "the same; ACK rate control sees only unstarted SDUs",
        "one_per_tti",
        "untransmitted",
    ),
)
"""How ACKs are released, and which SDUs ACK rate control sees; they apply to cells that have it."""

PARAMETERS = (
    ("Path", "1 Mbit/s and 100 ms one way to the RNC; losses and further delays only occur after it"),
    ("Bearers", "384 kbit/s both ways above RLC headers: 12 PDUs of 40 bytes in a TTI of 10 ms"),
    ("Delay", "25 ms one way from the start of a TTI, TTIs of both directions aligned: 50 ms and back"),
    (
        "RLC",
        "Acknowledged Mode both ways, Table 1: window 1024, polls at 50 % of it, on the last PDU and the "
        "last retransmission, Timer_Poll and Timer_Status_Prohibit 60 ms, in-sequence delivery, MaxDAT 10, "
        "when SDUs are discarded; MaxMRW and MaxRST 32, so that no bearer is given up within a run",
    ),
    (
        "Channel",
        "a Markov chain with a step for each TTI, 10 % bad, Doppler times TTI 0.01; a bad TTI loses all of "
        "its PDUs, data and STATUS; both directions alike and independent",
    ),
    ("Buffer", "50 SDUs, drop-tail; an SDU counts until the other end has acknowledged all of it (BO)"),
    (
        "TCP",
        "Reno: the paper has a complete TCP of its own in OMNeT++ and says no more; ours as in INET: a loss "
        "halves the window (not the data in flight), each "
        "third duplicate ACK retransmits, one round trip is timed at a time, timeout 3 s at first and 1 s at "
        "least; packets of 1500 bytes, window 44 segments (64 kbytes), initial window 1, a delayed ACK for "
        "every second segment, no limited transmit",
    ),
    ("Flows", "1 or 4, all in one bearer, all from the start on, without end"),
    ("ACK rate control", "ACKs that need no delay leave at once; it sees BO, like PDPC, and PDPC's Counter"),
    ("maxth", "40 SDUs for both combined schemes, 30 for PDPC; 50, the buffer, for ACK rate control alone"),
    ("minth", "0 where alpha of f1 is 1, else 10 SDUs, and the same in f2"),
    (
        "PDPC",
        "looks at BO at the arrival of an SDU, without that one: only then does a maxth of the buffer's size "
        "mean no discards, as section 6 says; the first unstarted SDU is dropped; "
        "Counter in bytes",
    ),
    ("Goodput", "packets received in order, with their headers, over 60 s, all flows together"),
    (
        "Delay of a packet",
        "from its transmission by TCP to its arrival there, the wired 100 ms included; a packet that TCP "
        "retransmits counts with the transmission that arrives",
    ),
    (
        "Runs",
        "100 of a row of Table 2 (the first 20 are shown, too) and of a study, else 20; a third if quick",
    ),
)


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
