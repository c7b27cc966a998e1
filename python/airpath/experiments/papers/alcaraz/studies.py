"""What the paper leaves open, and what it argues against: studies beside its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from airpath.experiments.papers.alcaraz import measured
from airpath.experiments.papers.alcaraz.model import (
    ACK_RATE,
    COMBINED_1,
    COMBINED_2,
    CONVENTIONAL,
    OWN_RUNS,
    PDPC,
    Scheme,
    ack_rate,
    combined,
    make_cell,
    pdpc,
)
from airpath.experiments.papers.alcaraz.planes import MAXTHS, RATIOS
from airpath.experiments.papers.alcaraz.tables import delay, goodput, quantity
from airpath.experiments.papers.base.cell import Cell, Overrides
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.panel import Chart, Line
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.quantity import Quantity

Measure = tuple[str, str, Callable[[Cell], Quantity]]
"""What is measured, its unit, and how."""


def overflows(cell: Cell) -> Quantity:
    """SDUs for which there was no room, in a run."""
    return quantity(cell, measured.overflow_drops, "overflow drops", "1")


def timeouts(cell: Cell) -> Quantity:
    """Timeouts of all flows, in a run."""
    return quantity(cell, measured.timeouts, "timeouts", "1")


def in_order(cell: Cell) -> Quantity:
    """Mean time from a packet's first transmission until all before it has arrived, too."""
    return quantity(cell, measured.in_order_s, "delay until in order", "s")


def after_a_drop(cell: Cell) -> Quantity:
    """Time for which f2 is in force, in a run."""
    return quantity(cell, measured.after_a_drop_s, "f2 in force", "s")


def most_held(cell: Cell) -> Quantity:
    """Most ACKs held at once, in a run."""
    return quantity(cell, measured.most_held, "most ACKs held", "1")


GOODPUT: Measure = ("goodput", "kbit/s", goodput)
DELAY: Measure = ("delay", "s", delay)
IN_ORDER: Measure = ("delay from the first transmission until in order", "s", in_order)
OVERFLOWS: Measure = ("overflow drops", "1", overflows)
TIMEOUTS: Measure = ("timeouts", "1", timeouts)
AFTER_A_DROP: Measure = ("time for which f2 is in force", "s", after_a_drop)
MOST_HELD: Measure = ("most ACKs held at once", "1", most_held)


def make_study(
    number: int,
    title: str,
    question: str,
    head: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, tuple[Cell, ...]]],
    measures: Sequence[Measure],
    charts: tuple[Chart, ...] = (),
) -> Experiment:
    """Make a study of cells, a table for each measure, and charts."""
    # As many runs as the rows of Table 2 that stand beside.
    lines = [
        (name, tuple(replace(cell, runs=OWN_RUNS, most_runs=OWN_RUNS) for cell in cells))
        for name, cells in rows
    ]
    tables = tuple(
        Grid(columns, unit, tuple(GridRow((name,), tuple(map(of, cells))) for name, cells in lines), what)
        for what, unit, of in measures
    )
    return Experiment("study", number, title, (head,), (), question=question, tables=tables, charts=charts)


def flows_said(count: int) -> str:
    """Say how many flows there are."""
    return f"{count} flow{'s' if count > 1 else ''}"


def _columns(schemes: Sequence[Scheme]) -> tuple[str, ...]:
    return tuple(f"{scheme.name}, {flows_said(flows)}" for scheme in schemes for flows in (1, 4))


_CONTROLLED = (ACK_RATE, COMBINED_1, COMBINED_2)


def _released(release: str, occupancy: str) -> tuple[str, tuple[Cell, ...]]:
    variant = f"{release}, {occupancy}"
    schemes = (replace(scheme, release=release, occupancy=occupancy) for scheme in _CONTROLLED)
    default = (release, occupancy) == (ACK_RATE.release, ACK_RATE.occupancy)
    said = "" if default else variant
    return variant, tuple(make_cell(scheme, flows, variant=said) for scheme in schemes for flows in (1, 4))


RELEASE = make_study(
    1,
    "How ACKs are released, and what the occupancy is",
    "Every combination of both, with the overflows: the pseudocode as printed (strict), all ACKs that need "
    "no delay at once (loop, which judges), or one of them in a TTI; all SDUs that are not acknowledged, or "
    "those of which nothing has been sent.",
    "release, occupancy",
    _columns(_CONTROLLED),
    tuple(
        _released(release, occupancy)
        for release in ("loop", "strict", "one_per_tti")
        for occupancy in ("unacked", "untransmitted")
    ),
    (GOODPUT, DELAY, OVERFLOWS),
)


def _red(weight: float) -> Scheme:
    limits = "packets = 50, min_threshold = 10, max_threshold = 30, max_probability = 0.1"
    return Scheme(f"RED, weight {weight:g}", f"{{ red = {{ {limits}, weight = {weight:g} }} }}")


RED = make_study(
    2,
    "RED in the RLC buffer",
    "The paper argues against averaging the queue and dropping by chance. RED between 10 and 30 SDUs, with "
    "the weight of its authors and with one ten times as large, beside the schemes of Table 2.",
    "scheme",
    tuple(map(flows_said, (1, 4))),
    tuple(
        (scheme.name, tuple(make_cell(scheme, flows) for flows in (1, 4)))
        for scheme in (CONVENTIONAL, _red(0.002), _red(0.02), PDPC, COMBINED_1, COMBINED_2)
    ),
    (GOODPUT, DELAY, OVERFLOWS, TIMEOUTS),
)


def _with(variant: str, *options: tuple[str, str], discard: Scheme = PDPC) -> tuple[str, tuple[Cell, ...]]:
    """Make the rows of Table 2 without ACK control under another reading of what the paper leaves open."""
    known: Overrides = tuple(options)
    said = variant if options else ""
    schemes = (CONVENTIONAL, discard)
    return variant, tuple(
        make_cell(scheme, flows, options=known, variant=said) for scheme in schemes for flows in (1, 4)
    )


def _both(key: str, value: str) -> Overrides:
    """Change both directions of the bearer."""
    return tuple((f"radio.dch.{direction}.{key}", value) for direction in ("downlink", "uplink"))


_BERNOULLI = '{ bernoulli = { bler = "10 %" } }'
_RFC_RENO = (
    ("tcp.window_arithmetic", "rfc5681"),
    ("tcp.multiple_fast_retransmits", "false"),
    ("tcp.rtt_sampling", "every_segment"),
)
_COUNTED = replace(
    PDPC,
    name="PDPC, the arriving SDU counted",
    queue="{ pdpc = { packets = 50, max_threshold = 30, arriving = 'counted' } }",
)

OPEN = make_study(
    3,
    "What else the paper leaves open",
    "The rows of Table 2 without ACK control under other readings of RLC, channel and TCP.",
    "reading",
    _columns((CONVENTIONAL, PDPC)),
    (
        _with("as stated"),
        _with("PDPC counts the SDU that comes", discard=_COUNTED),
        _with("MaxDAT resets the link", *_both("rlc.am.sdu_discard", "no_discard")),
        _with("MaxDAT never reached", *_both("rlc.am.max_dat", "1000")),
        _with("each PDU lost by itself", *_both("rlc.am.errors", "per_pdu"), *_both("channel", _BERNOULLI)),
        _with("each TTI lost by itself", *_both("channel", _BERNOULLI)),
        _with("30 ms one way", *_both("delay", "20 ms")),
        _with("TTIs of the uplink 5 ms later", ("radio.dch.uplink.rlc.am.offset", "5 ms")),
        _with("Reno of RFC 5681 and 6582", *_RFC_RENO),
        _with("New-Reno", ("tcp.recovery", "{ newreno = {} }"), *_RFC_RENO),
        _with("no connection set-up", ("tcp.handshake", "none")),
        _with("an ACK for every segment", ("tcp.ack_every", "1")),
    ),
    (GOODPUT, DELAY, IN_ORDER),
)


def _window(segments: int) -> tuple[str, tuple[Cell, ...]]:
    if segments == 44:
        return "44 (64 kbytes)", (make_cell(CONVENTIONAL),)
    options = (("tcp.max_window", f"{segments}"), ("tcp.receive_buffer", f"{segments * 1460} B"))
    return f"{segments}", (make_cell(CONVENTIONAL, options=options, variant=f"window {segments}"),)


WINDOWS = make_study(
    4,
    "Windows that can overflow the buffer",
    "The window of 44 segments is smaller than the buffer of 50 SDUs, yet the paper's Figure 2 has overflows "
    "and a timeout. The conventional buffer, one flow, with larger windows.",
    "window, segments",
    ("1 flow",),
    tuple(map(_window, (44, 48, 52, 64, 88))),
    (GOODPUT, DELAY, OVERFLOWS, TIMEOUTS),
)


def sweep(
    title: str, parameter: str, schemes: Sequence[Scheme], values: tuple[float, ...], what: Measure
) -> Chart:
    """Make the chart of a measure over a parameter, with one flow and with four."""
    name, unit, of = what
    lines = tuple(
        Line(flows_said(flows), tuple(of(make_cell(scheme, flows)) for scheme in schemes)) for flows in (1, 4)
    )
    return Chart(title, parameter, values, name, unit, lines)


_PDPCS = tuple(map(pdpc, MAXTHS))
_RATES = tuple(map(ack_rate, RATIOS))

SINGLE = Experiment(
    "study",
    5,
    "The single mechanisms over their parameters",
    ("quantity",),
    (),
    question="PDPC over its threshold, ACK rate control alone over maxd/maxth (maxth 50).",
    charts=(
        sweep("PDPC", "maxth, SDUs", _PDPCS, MAXTHS, GOODPUT),
        sweep("PDPC", "maxth, SDUs", _PDPCS, MAXTHS, DELAY),
        sweep("ACK rate control", "maxd/maxth, ms/SDU", _RATES, RATIOS, GOODPUT),
        sweep("ACK rate control", "maxd/maxth, ms/SDU", _RATES, RATIOS, DELAY),
    ),
)

_NO_CHANGE = combined(1, 40, 12.5, f2_alpha=1)

AFTER_DROP = make_study(
    6,
    "What f2 does to four flows",
    "When PDPC drops an SDU, four flows have more ACKs held than one. With f2 = 0 those that wait leave at "
    "once, with f2 = f1 nothing changes. f2 is in force while PDPC's Counter is above zero.",
    "f2 of Combined Scheme 1",
    tuple(map(flows_said, (1, 4))),
    tuple(
        (name, tuple(make_cell(scheme, flows) for flows in (1, 4)))
        for name, scheme in (("0", COMBINED_1), ("alpha 1, as f1", _NO_CHANGE))
    ),
    (GOODPUT, DELAY, OVERFLOWS, AFTER_A_DROP, MOST_HELD),
)


def _seen(by_control: str, by_drop: str) -> Callable[[Scheme], Scheme]:
    """Let ACK rate control and the drop of a combined scheme see these SDUs."""

    def read(scheme: Scheme) -> Scheme:
        if (by_control, by_drop) == ("unacked", "unacked"):
            return scheme
        queue = scheme.queue.replace("arriving", f'occupancy = "{by_drop}", arriving')
        name = f"{scheme.name}, ACK rate control sees {by_control}, the drop {by_drop}"
        return replace(scheme, name=name, queue=queue, occupancy=by_control)

    return read


ONE_BO = make_study(
    7,
    "Which SDUs both mechanisms see",
    "Figure 3 has one BO, and by section 2 an SDU is in it until it is acknowledged. The combined "
    "schemes with the SDUs of which nothing has been sent in the place of BO, for ACK rate control and for "
    "the drop.",
    "ACK rate control, drop",
    tuple(f"{name}, {flows_said(flows)}" for name in ("Combined Scheme 1", "2") for flows in (1, 4)),
    tuple(
        (
            f"{control}, {drop}",
            tuple(
                make_cell(_seen(control, drop)(scheme), flows)
                for scheme in (COMBINED_1, COMBINED_2)
                for flows in (1, 4)
            ),
        )
        for control, drop in (
            ("unacked", "unacked"),
            ("untransmitted", "untransmitted"),
            ("untransmitted", "unacked"),
        )
    ),
    (GOODPUT, DELAY, OVERFLOWS),
)

STUDIES = (RELEASE, RED, OPEN, WINDOWS, SINGLE, AFTER_DROP, ONE_BO)
