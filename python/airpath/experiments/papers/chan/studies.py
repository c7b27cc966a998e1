"""What the paper proposes of its regulator without a figure, and what it leaves open of it, measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from airpath.experiments.papers.base.cell import Cell, Metric, Overrides
from airpath.experiments.papers.base.grid import Grid, GridRow
from airpath.experiments.papers.base.panel import Chart, Line
from airpath.experiments.papers.base.paper import Experiment
from airpath.experiments.papers.base.published import load_published
from airpath.experiments.papers.base.quantity import Quantity
from airpath.experiments.papers.chan import measured
from airpath.experiments.papers.chan.measured import BUFFER_PACKETS
from airpath.experiments.papers.chan.model import CASES, RENO, RENO_AR, SACK, SACK_AR, Flow, make_cell

RUNS = 4
"""Runs of a cell that no table or figure of the paper needs."""

BOX = "middlebox.0.ack_regulator"
LITERAL: Overrides = ((f"{BOX}.reading", "literal"),)
NEVER_IDLE: Overrides = ((f"{BOX}.idle_release", "1 h"),)
ECN: Overrides = ((f"{BOX}.loss_signal", "ecn"), ("tcp.ecn", "true"))
ENCRYPTED: Overrides = (("flow.0.encrypted", "true"),)

Measure = tuple[str, str, Metric]
"""What is measured, its unit, and how."""

GOODPUT: Measure = ("throughput", "kbit/s", measured.goodput_kbps)
TD: Measure = ("fast retransmits", "1", measured.fast_retransmits)
TO: Measure = ("timeouts", "1", measured.timeouts)
WF: Measure = ("Wf", "packets", measured.max_window)
RTT: Measure = ("mean rtt", "ms", measured.rtt_ms)
TIMES_HELD: Measure = ("ACKs held", "1", measured.held_acks)
HELD: Measure = ("most ACKs held, mean of the runs", "1", measured.peak_held_acks)


def varied(cell: Cell, variant: str, *changes: Overrides) -> Cell:
    """Change a cell; `variant` says how."""
    if not changes:
        return replace(cell, runs=RUNS, most_runs=RUNS)
    name = f"{cell.name}, {variant}"
    return replace(cell, name=name, overrides=sum(changes, start=cell.overrides), runs=RUNS, most_runs=RUNS)


def _of(measure: Measure, cell: Cell) -> Quantity:
    name, unit, metric = measure
    return Quantity(f"{name}, {cell.name}", cell, metric, unit)


Rows = Sequence[tuple[str, Sequence[Cell | None]]]


def _tables(
    head: str,
    columns: Sequence[str],
    rows: Rows,
    measures: Sequence[Measure],
    marks: Callable[[str, str], tuple[str, ...]] = lambda row, measure: (),
    title: str = "",
) -> tuple[Grid, ...]:
    """Set cells side by side, in a table for each thing that is measured."""

    def row(name: str, cells: Sequence[Cell | None], measure: Measure) -> GridRow:
        entries = tuple(None if cell is None else _of(measure, cell) for cell in cells)
        return GridRow((name,), entries, marks(name, measure[0]))

    return tuple(
        Grid(
            tuple(columns),
            measure[1],
            tuple(row(name, cells, measure) for name, cells in rows),
            f"{title}: {measure[0]}" if title else measure[0],
            (head,),
        )
        for measure in measures
    )


def _study(
    number: int, title: str, question: str, *tables: tuple[Grid, ...], charts: tuple[Chart, ...] = ()
) -> Experiment:
    known = sum(tables, start=())
    return Experiment("study", number, title, ("",), (), question=question, tables=known, charts=charts)


_FORMS: tuple[tuple[str, tuple[Overrides, ...]], ...] = (
    ("working", ()),
    ("working, no idle release", (NEVER_IDLE,)),
    ("literal", (LITERAL,)),
    ("literal, no idle release", (LITERAL, NEVER_IDLE)),
)
_SMALL = (4, 5, 6, 8, 10)
_PRINTED = load_published("chan")
_KEYS = {"throughput": "goodput", "fast retransmits": "loss-events-triple-dupack", "Wf": "w-f-rms-max-window"}


def _printed_in_table_3(_: str, measure: str) -> tuple[str, ...]:
    key = _KEYS.get(measure, "loss-events-timeout")
    return tuple(f"{_PRINTED[f'chan-t3-{flow}-ar-{key}'].value:g}" for flow in ("reno", "sack"))


def _small_buffers() -> Rows:
    return tuple(
        (
            f"{buffer}",
            (
                varied(make_cell(RENO, CASES[3], buffer), ""),
                *(varied(make_cell(RENO_AR, CASES[3], buffer), form, *how) for form, how in _FORMS),
            ),
        )
        for buffer in _SMALL
    )


def _read(flow: Flow, case: int, buffer: int = BUFFER_PACKETS) -> tuple[tuple[str, Cell], ...]:
    """Take the regulator in both readings."""
    cell = make_cell(flow, CASES[case], buffer)
    return ("working", varied(cell, "")), ("literal", varied(cell, "literal", LITERAL))


FORMS = _study(
    1,
    "How Figures 7 to 9 are read",
    "Figure 9 resets AckReleaseCount at a departure, the text whenever the buffer is empty. idle_release "
    "goes on after 200 ms with an empty buffer and is ours: without it, the form as printed comes to a stop.",
    _tables(
        "buffer, e(50)", ("no regulator", *(form for form, _ in _FORMS)), _small_buffers(), (GOODPUT, TO)
    ),
    _tables(
        "reading, e(100)",
        ("Reno+AR", "SACK+AR"),
        tuple(
            (form, (cell, sack))
            for (form, cell), (_, sack) in zip(_read(RENO_AR, 4), _read(SACK_AR, 4), strict=True)
        ),
        (GOODPUT, TD, TO, WF),
        _printed_in_table_3,
    ),
    _tables(
        "reading, u(200,50), 350+e(50)",
        tuple(f"buffer {buffer}" for buffer in (6, 9, 12, 18)),
        (
            ("SACK", tuple(varied(make_cell(SACK, CASES[8], b), "") for b in (6, 9, 12, 18))),
            *(
                (form, tuple(dict(_read(RENO_AR, 8, b))[form] for b in (6, 9, 12, 18)))
                for form in ("working", "literal")
            ),
        ),
        (RTT,),
    ),
)

_WIRED_CASES = (1, 3, 4, 6, 7, 8)
_WIRED: tuple[tuple[str, Flow, tuple[Overrides, ...]], ...] = (
    ("Reno", RENO, ()),
    ("regulated", RENO_AR, ()),
    ("regulated, literal", RENO_AR, (LITERAL,)),
)


def _wired(flow: Flow, case: int, wired_ms: float, how: tuple[Overrides, ...]) -> Cell:
    return varied(make_cell(flow, CASES[case], wired_ms=wired_ms), "literal", *how)


def _loss(flow: Flow, case: int, near_ms: float, far_ms: float, how: tuple[Overrides, ...]) -> Cell:
    """Set the long wire beside the short one, run by run."""
    far, near = _wired(flow, case, far_ms, how), _wired(flow, case, near_ms, how)
    return replace(far, reference=near.overrides, paired=True)


LOST: Measure = ("loss of throughput", "percent", measured.loss_to_twin)
_WIRED_MS = (1, 5, 10, 20, 50, 100)

WIRED = _study(
    2,
    "Latency of the wire",
    "Section 6.6: from 20 to 100 ms Reno loses 1.63 %, a regulated flow 2.62 %. It names neither the link "
    "nor whether the latency is one way. D of Figure 10 is, so the left columns judge.",
    _tables(
        "link",
        tuple(f"{name}, {way}" for way in ("one way", "round trip") for name, _, _ in _WIRED),
        tuple(
            (
                CASES[case].name,
                tuple(
                    _loss(flow, case, near, far, how)
                    for near, far in ((20, 100), (10, 50))
                    for _, flow, how in _WIRED
                ),
            )
            for case in _WIRED_CASES
        ),
        (LOST,),
    ),
    charts=tuple(
        Chart(
            CASES[case].name,
            "one-way delay to the RNC, ms",
            _WIRED_MS,
            "throughput",
            "kbit/s",
            tuple(
                Line(name, tuple(_of(GOODPUT, _wired(flow, case, ms, how)) for ms in _WIRED_MS))
                for name, flow, how in _WIRED
            ),
        )
        for case in (4, 8)
    ),
)

_PLACES = ((3, 5), (3, 20), (4, 10), (8, 10))
"""Cases of Table 1 and buffers at which a variant is measured."""


def _place(case: int, buffer: int) -> str:
    return f"{CASES[case].name}, buffer {buffer}"


def _at_places(cells_of: Callable[[int, int], Sequence[Cell]]) -> Rows:
    return tuple((_place(case, buffer), cells_of(case, buffer)) for case, buffer in _PLACES)


BY_MARK = _study(
    3,
    "A mark instead of the loss",
    "Section 5: of a source with ECN the regulator may mark a packet, instead of letting one be lost.",
    _tables(
        "link",
        ("Reno", "Reno+AR", "Reno+AR, ECN", "SACK+AR", "SACK+AR, ECN"),
        _at_places(
            lambda case, buffer: (
                varied(make_cell(RENO, CASES[case], buffer), ""),
                *(
                    varied(make_cell(flow, CASES[case], buffer), "ECN", *how)
                    for flow in (RENO_AR, SACK_AR)
                    for how in ((), (ECN,))
                ),
            )
        ),
        (GOODPUT, TD, TO, RTT),
    ),
)


def _upload(flow: Flow, case: int, buffer: int) -> Cell:
    """Let the flow go the other way: the link of the downloads carries it up, that of their ACKs down."""
    link = CASES[case].overrides
    (_, down), (_, up) = link
    queue = f"{{ packets = {buffer}, in_service = 'excluded' }}"
    changes: Overrides = (
        ("radio.variable.uplink.channel", down),
        ("radio.variable.downlink.channel", up),
        ("radio.variable.uplink.queue.droptail", queue),
        ("radio.variable.downlink.queue.droptail", "{}"),
        ("flow.0.direction", "uplink"),
        *(((f"{BOX}.at", "ue"),) if flow.alpha else ()),
    )
    return varied(make_cell(flow, CASES[case], buffer), "upload", changes)


AT_MOBILE = _study(
    4,
    "The regulator at the mobile",
    "Section 6.7: for uploads the regulator can be at the mobile. The same links the other way round, with "
    "downloads beside.",
    _tables(
        "link",
        ("Reno", "Reno+AR", "SACK", "SACK+AR", "Reno+AR, download", "SACK+AR, download"),
        _at_places(
            lambda case, buffer: (
                *(_upload(flow, case, buffer) for flow in (RENO, RENO_AR, SACK, SACK_AR)),
                *(varied(make_cell(flow, CASES[case], buffer), "") for flow in (RENO_AR, SACK_AR)),
            )
        ),
        (GOODPUT, TO),
    ),
)

_DELAYED: Overrides = (("tcp.ack_every", "2"),)
_BY_SEGMENTS: Overrides = ((f"{BOX}.count", "segments"),)

DELAYED_ACKS = _study(
    5,
    "An ACK for two packets",
    "Section 5 takes every packet to be acknowledged and says that delayed ACKs can be accounted for. With "
    "an ACK for two packets: an ACK counted for one packet, or for as many as it acknowledges.",
    _tables(
        "link",
        ("Reno", "Reno+AR, for one", "Reno+AR, for as many", "SACK+AR, for as many"),
        _at_places(
            lambda case, buffer: (
                varied(make_cell(RENO, CASES[case], buffer), "delayed ACKs", _DELAYED),
                varied(make_cell(RENO_AR, CASES[case], buffer), "delayed ACKs", _DELAYED),
                *(
                    varied(
                        make_cell(flow, CASES[case], buffer),
                        "delayed ACKs by segments",
                        _DELAYED,
                        _BY_SEGMENTS,
                    )
                    for flow in (RENO_AR, SACK_AR)
                ),
            )
        ),
        (GOODPUT, TD, TO),
    ),
)

_LIMITED: Overrides = (("tcp.limited_transmit", "true"),)


def _reserve(kind: str, packets: int) -> Overrides:
    return ((f"{BOX}.reserve_{kind}", f"{packets}"),)


RESERVES = _study(
    6,
    "What is reserved for duplicate ACKs",
    "Section 5: one packet more behind three duplicates, for the fast retransmit, and two for limited "
    "transmit. Regulated Reno; the last two columns have a source with limited transmit.",
    _tables(
        "link",
        ("none", "1, as printed", "2", "limited transmit, none", "limited transmit, 2"),
        _at_places(
            lambda case, buffer: (
                *(
                    varied(
                        make_cell(RENO_AR, CASES[case], buffer),
                        f"{packets} reserved",
                        *(() if packets == 1 else (_reserve("fast_retransmit", packets),)),
                    )
                    for packets in (0, 1, 2)
                ),
                *(
                    varied(
                        make_cell(RENO_AR, CASES[case], buffer),
                        f"limited transmit, {packets} reserved",
                        _LIMITED,
                        _reserve("limited_transmit", packets),
                    )
                    for packets in (0, 2)
                ),
            )
        ),
        (GOODPUT, TD, TIMES_HELD),
    ),
)

_ALPHAS, _BOUND_BUFFERS = (1, 2, 3, 4), (5, 10, 15, 20)


def _bounds(buffer: str, _: str) -> tuple[str, ...]:
    return tuple(f"{alpha * int(buffer)}" for alpha in _ALPHAS)


HELD_ACKS = _study(
    7,
    "How many ACKs are held",
    "Section 5 takes alpha times the buffer, printed beside, for the most ACKs that can be held.",
    *(
        _tables(
            "buffer",
            tuple(f"alpha {alpha}" for alpha in _ALPHAS),
            tuple(
                (
                    f"{buffer}",
                    tuple(varied(make_cell(Flow(alpha=alpha), CASES[case], buffer), "") for alpha in _ALPHAS),
                )
                for buffer in _BOUND_BUFFERS
            ),
            (HELD,),
            _bounds,
            CASES[case].name,
        )
        for case in (4, 8)
    ),
)

ESP = _study(
    8,
    "A flow that the regulator cannot read",
    "Section 6.7: no regulation with IPsec from end to end. In the split model, a VPN to the RNC and "
    "encryption on the radio link, the RNC reads the flow: that is the column in the middle.",
    _tables(
        "flow, e(100)",
        ("no regulator", "regulator", "regulator, encrypted"),
        tuple(
            (
                flow.name,
                (
                    varied(make_cell(flow, CASES[4]), ""),
                    varied(make_cell(regulated, CASES[4]), ""),
                    varied(make_cell(regulated, CASES[4]), "encrypted", ENCRYPTED),
                ),
            )
            for flow, regulated in ((RENO, RENO_AR), (SACK, SACK_AR))
        ),
        (GOODPUT, TD, TO),
    ),
)

STUDIES = (FORMS, WIRED, BY_MARK, AT_MOBILE, DELAYED_ACKS, RESERVES, HELD_ACKS, ESP)
