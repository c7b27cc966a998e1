"""What the paper proposes of its regulator without a figure, and what it leaves open, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from airpath.terminal import counted
from airpath_studies.base.cell import Cell, Outcome, Overrides
from airpath_studies.base.measure import Measure, chart, tables
from airpath_studies.base.panel import Chart
from airpath_studies.base.paper import study
from airpath_studies.chan import measured
from airpath_studies.chan.curves import ONE_BDP
from airpath_studies.chan.measured import (
    BUFFER_PACKETS,
    GOODPUT,
    RATES,
    RTT,
    TD,
    TO,
    WF,
    rate_share,
)
from airpath_studies.chan.model import (
    CASES,
    FLOWS,
    HDR_RUNS,
    REGULATED,
    RENO,
    RENO_AR,
    SACK,
    SACK_AR,
    Flow,
    hdr_cell,
    make_cell,
)
from airpath_studies.chan.tables import COLUMNS, PUBLISHED, rate_id

RUNS = 4
"""Runs of a cell that no table or figure of the paper needs."""

BOX = "middlebox.0.ack_regulator"
LITERAL: Overrides = (
    (f"{BOX}.reset", "departure"),
    (f"{BOX}.window", "outstanding"),
    (f"{BOX}.threshold", "waiting"),
)
NEVER_IDLE: Overrides = ((f"{BOX}.idle_release", "1 h"),)

TIMES_HELD = Measure("ACKs held", "1", measured.of_regulator("acks_held"))
HELD = Measure("most ACKs held, mean of the runs", "1", measured.of_regulator("peak_held_acks"))
LOST = Measure("loss of throughput", "percent", measured.loss_to_twin)

Place = tuple[int, int]
"""A case of Table 1 and a buffer."""
CellAt = Callable[[Place], Cell]


def _varied(cell: Cell, variant: str = "", changes: Overrides = ()) -> Cell:
    """Change a cell; `variant` says how."""
    name = f"{cell.name}, {variant}" if changes else cell.name
    return replace(cell, name=name, overrides=(*cell.overrides, *changes), runs=RUNS, most_runs=RUNS)


def _at(flow: Flow, variant: str = "", changes: Overrides = ()) -> CellAt:
    return lambda place: _varied(make_cell(flow, CASES[place[0]], place[1]), variant, changes)


_FORMS: dict[str, Overrides] = {
    "working": (),
    "working, no idle release": NEVER_IDLE,
    "literal": LITERAL,
    "literal, no idle release": (*LITERAL, *NEVER_IDLE),
}
_READINGS = ("working", "literal")
_PARTS: dict[str, Overrides] = {
    "reset alone, no idle release": (LITERAL[0], *NEVER_IDLE),
    "reset and window, no idle release": (*LITERAL[:2], *NEVER_IDLE),
    "reset and threshold, no idle release": (LITERAL[0], LITERAL[2], *NEVER_IDLE),
}
"""Some of the three choices as printed."""


def _read(case: int, buffer: int, how: tuple[Flow, str]) -> Cell:
    """Take a flow with the regulator in one of the readings."""
    flow, reading = how
    return _at(flow, reading, (_FORMS | _PARTS)[reading])((case, buffer))


def _widest(flow: Flow, reading: str) -> Cell:
    return _read(4, BUFFER_PACKETS, (flow, reading))


def _printed_in_table_3(_: str, measure: Measure) -> tuple[str, ...]:
    key = next(key for key, (_, metric) in COLUMNS.items() if metric == measure.metric)
    return tuple(f"{PUBLISHED[f't3-{flow}-ar-{key}'].value:g}" for flow in ("reno", "sack"))


FORMS = study(
    1,
    "How Figures 7 to 9 are read",
    "Figure 9 resets AckReleaseCount at a departure, the text whenever the buffer is empty. idle_release "
    "continues after 200 ms with an empty buffer and is airpath's: without it, the printed form stalls.",
    *tables(
        "buffer, e(50)",
        {"no regulator": _at(RENO), **{form: _at(RENO_AR, form, how) for form, how in _FORMS.items()}},
        {f"{buffer}": (3, buffer) for buffer in (4, 5, 6, 8, 10)},
        (GOODPUT, TO),
    ),
    *tables(
        "reading, e(100)",
        {flow.name: partial(_widest, flow) for flow in (RENO_AR, SACK_AR)},
        {reading: reading for reading in (*_READINGS, *_PARTS)},
        (GOODPUT, TD, TO, WF),
        _printed_in_table_3,
    ),
    *tables(
        "reading, u(200,50), 350+e(50)",
        {f"buffer {buffer}": partial(_read, 8, buffer) for buffer in (6, 9, 12, 18)},
        {"SACK": (SACK, "working"), **{reading: (RENO_AR, reading) for reading in _READINGS}},
        (RTT,),
    ),
)

_WIRED_MS = (1, 5, 10, 20, 50, 100)
_WIRED: dict[str, tuple[Flow, Overrides]] = {
    "Reno": (RENO, ()),
    "regulated": (RENO_AR, ()),
    "regulated, literal": (RENO_AR, LITERAL),
}


def _wired(name: str, case: int, wired_ms: float) -> Cell:
    flow, how = _WIRED[name]
    return _varied(make_cell(flow, CASES[case], wired_ms=wired_ms), "literal", how)


def _loss(name: str, near_ms: float, far_ms: float, case: int) -> Cell:
    """Compare the long with the short wired link, run by run."""
    return replace(_wired(name, case, far_ms), reference=_wired(name, case, near_ms).overrides, paired=True)


WIRED = study(
    2,
    "Latency of the wire",
    "Section 6.6: from 20 to 100 ms Reno loses 1.63 %, a regulated flow 2.62 %. It names neither the link "
    "nor whether the latency is one way. D of Figure 10 is, so the left columns judge.",
    *tables(
        "link",
        {
            f"{name}, {way}": partial(_loss, name, near_ms, far_ms)
            for way, near_ms, far_ms in (("one way", 20, 100), ("round trip", 10, 50))
            for name in _WIRED
        },
        {CASES[case].name: case for case in (1, 3, 4, 6, 7, 8)},
        (LOST,),
    ),
    charts=(
        chart(
            CASES[case].name,
            "one-way delay to the RNC, ms",
            _WIRED_MS,
            GOODPUT,
            {name: partial(_wired, name, case) for name in _WIRED},
        )
        for case in (4, 8)
    ),
)

_PLACES = {
    f"{CASES[case].name}, buffer {buffer}": (case, buffer)
    for case, buffer in ((3, 5), (3, 20), (4, 10), (8, 10))
}
"""Where a variant is measured."""


_ECN: Overrides = ((f"{BOX}.loss_signal", "ecn"), ("tcp.ecn", "true"))

BY_MARK = study(
    3,
    "A mark instead of the loss",
    "Section 5: of a source with ECN the regulator may mark a packet, instead of letting one be lost.",
    *tables(
        "link",
        {
            "Reno": _at(RENO),
            "Reno+AR": _at(RENO_AR),
            "Reno+AR, ECN": _at(RENO_AR, "ECN", _ECN),
            "SACK+AR": _at(SACK_AR),
            "SACK+AR, ECN": _at(SACK_AR, "ECN", _ECN),
        },
        _PLACES,
        (
            GOODPUT,
            TD,
            TO,
            RTT,
        ),
    ),
)


def _upload(flow: Flow, place: Place) -> Cell:
    """Let the flow go the other way: the link of the downloads carries it up, that of their ACKs down."""
    case, buffer = place
    (_, down), (_, up) = CASES[case].overrides
    changes: Overrides = (
        ("radio.variable.uplink.channel", down),
        ("radio.variable.downlink.channel", up),
        ("radio.variable.uplink.queue.droptail", f"{{ packets = {buffer}, in_service = 'excluded' }}"),
        ("radio.variable.downlink.queue.droptail", "{}"),
        ("flow.0.direction", "uplink"),
        *(((f"{BOX}.at", "ue"),) if flow.alpha else ()),
    )
    return _at(flow, "upload", changes)(place)


AT_MOBILE = study(
    4,
    "The regulator at the mobile",
    "Section 6.7: for uploads the regulator can be at the mobile. The same links the other way round, with "
    "downloads for comparison.",
    *tables(
        "link",
        {
            **{flow.name: partial(_upload, flow) for flow in FLOWS},
            **{f"{flow.name}, download": _at(flow) for flow in (RENO_AR, SACK_AR)},
        },
        _PLACES,
        (
            GOODPUT,
            TO,
        ),
    ),
)

_DELAYED: Overrides = (("tcp.ack_every", "2"),)
_BY_SEGMENTS: Overrides = (*_DELAYED, (f"{BOX}.count", "segments"))

DELAYED_ACKS = study(
    5,
    "An ACK for two packets",
    "Section 5 takes every packet to be acknowledged and says that delayed ACKs can be accounted for. With "
    "an ACK for two packets: an ACK counted for one packet, or for as many as it acknowledges.",
    *tables(
        "link",
        {
            "Reno": _at(RENO, "delayed ACKs", _DELAYED),
            "Reno+AR, for one": _at(RENO_AR, "delayed ACKs", _DELAYED),
            "Reno+AR, for as many": _at(RENO_AR, "delayed ACKs by segments", _BY_SEGMENTS),
            "SACK+AR, for as many": _at(SACK_AR, "delayed ACKs by segments", _BY_SEGMENTS),
        },
        _PLACES,
        (
            GOODPUT,
            TD,
            TO,
        ),
    ),
)


def _reserve(packets: int) -> CellAt:
    return _at(RENO_AR, f"{packets} reserved", ((f"{BOX}.reserve_fast_retransmit", f"{packets}"),))


def _limited(packets: int) -> CellAt:
    changes = (("tcp.limited_transmit", "true"), (f"{BOX}.reserve_limited_transmit", f"{packets}"))
    return _at(RENO_AR, f"limited transmit, {packets} reserved", changes)


RESERVES = study(
    6,
    "What is reserved for duplicate ACKs",
    "Section 5: one packet more behind three duplicates, for the fast retransmit, and two for limited "
    "transmit. Regulated Reno; the last two columns have a source with limited transmit.",
    *tables(
        "link",
        {
            "none": _reserve(0),
            "1, as printed": _at(RENO_AR),
            "2": _reserve(2),
            "limited transmit, none": _limited(0),
            "limited transmit, 2": _limited(2),
        },
        _PLACES,
        (
            GOODPUT,
            TD,
            TIMES_HELD,
        ),
    ),
)

_ALPHAS = (1, 2, 3, 4)

HELD_ACKS = study(
    7,
    "How many ACKs are held",
    "By Section 5, alpha times the buffer (also printed) is the maximum number of held ACKs.",
    *(
        table
        for case in (4, 8)
        for table in tables(
            "buffer",
            {f"alpha {alpha}": _at(Flow(alpha=alpha)) for alpha in _ALPHAS},
            {f"{buffer}": (case, buffer) for buffer in (5, 10, 15, 20)},
            (HELD,),
            lambda buffer, _: tuple(f"{alpha * int(buffer)}" for alpha in _ALPHAS),
            CASES[case].name,
        )
    ),
)


def _encrypted(flow: Flow) -> Cell:
    return _varied(make_cell(REGULATED[flow], CASES[4]), "encrypted", (("flow.0.encrypted", "true"),))


ESP = study(
    8,
    "A flow that the regulator cannot read",
    "Section 6.7: no regulation with IPsec from end to end. In the split model, a VPN to the RNC and "
    "encryption on the radio link, the RNC reads the flow: that is the column in the middle.",
    *tables(
        "flow, e(100)",
        {
            "no regulator": lambda flow: _varied(make_cell(flow, CASES[4])),
            "regulator": lambda flow: _varied(make_cell(REGULATED[flow], CASES[4])),
            "regulator, encrypted": _encrypted,
        },
        {flow.name: flow for flow in REGULATED},
        (GOODPUT, TD, TO),
    ),
)

HDR_DURATION = "20 min"
"""Duration of a run with HDR here; the figures' runs last an hour."""

SINRS_DB = (0.4, 1.4, 2.4, 3.4, 4.4, 5.4)
DOPPLERS_HZ = (10, 20, 40, 70, 150, 300)
HDR_BUFFERS = {1: 15, **ONE_BDP}
"""Buffers of one bandwidth-delay product, per number of users."""

Change = Callable[[float], Overrides]
"""What sets a parameter."""


def _sinr(db: float) -> Overrides:
    return (("radio.evdo.downlink.mean_sinr", f"{db:g} dB"),)


def _doppler(hz: float) -> Overrides:
    return (("radio.evdo.downlink.fading.jakes.doppler", f"{hz:g} Hz"),)


def _hdr(flow: Flow, users: int, changes: Overrides) -> Cell:
    cell = hdr_cell(flow, users, HDR_BUFFERS[users])
    name = ", ".join([cell.name, *(value for _, value in changes)])
    overrides = (*cell.overrides, ("duration", HDR_DURATION), *changes)
    return replace(cell, name=name, overrides=overrides, runs=HDR_RUNS, most_runs=HDR_RUNS)


@cache
def _beside(flow: Flow, users: int, change: Change, value: float) -> Cell:
    """Compare regulated flows with others, run by run."""
    changes = change(value)
    twin = _hdr(flow, users, changes)
    return replace(_hdr(REGULATED[flow], users, changes), reference=twin.overrides, paired=True)


def off_table_4(outcome: Outcome) -> float:
    """Largest distance of a rate's share of the slots from that of Table 4, percent of the slots."""
    return 100 * max(abs(rate_share(rate)(outcome) - PUBLISHED[rate_id(rate)].value) for rate in RATES)


OFF = Measure("largest distance from Table 4", "percent", off_table_4)
NEVER_IDLE_KBPS = Measure("throughput if never idle", "kbit/s", measured.max_throughput_kbps)
TOTAL = Measure("regulated Reno, throughput in all", "kbit/s", measured.goodput_kbps)
GAIN = Measure("gain of regulation", "percent", measured.gain_on_twin)


def _charts(parameter: str, values: tuple[float, ...], change: Change) -> tuple[Chart, ...]:
    """Chart the total throughput of regulated flows, and what regulation gains."""
    title = "One bandwidth-delay product"
    totals = {counted(users, "user"): partial(_beside, RENO, users, change) for users in HDR_BUFFERS}
    gains = {
        f"{counted(users, 'user')}, over {flow.name}": partial(_beside, flow, users, change)
        for users in HDR_BUFFERS
        for flow in REGULATED
    }
    return chart(title, parameter, values, TOTAL, totals), chart(title, parameter, values, GAIN, gains)


MEAN_SINR = study(
    9,
    "HDR over the mean SINR",
    "The paper does not state the mean SINR; 2.4 dB is that with which Table 4 comes out. Buffers "
    "of one bandwidth-delay product (15, 5 and 3 packets), a Doppler frequency of 40 Hz, 20 minutes.",
    charts=(
        *(
            chart(title, "mean SINR, dB", SINRS_DB, measure, {"1 user": partial(_beside, RENO, 1, _sinr)})
            for title, measure in (("Table 4", OFF), ("Link of one user", NEVER_IDLE_KBPS))
        ),
        *_charts("mean SINR, dB", SINRS_DB, _sinr),
    ),
)

DOPPLER = study(
    10,
    "HDR over the Doppler frequency",
    "The paper does not state how fast the channel fades; 40 Hz is what brings the gain of 4 users "
    "over Reno. Buffers of one bandwidth-delay product (15, 5, 3), a mean SINR of 2.4 dB, 20 minutes.",
    charts=_charts("Doppler frequency, Hz", DOPPLERS_HZ, _doppler),
)

_SLOTS = "radio.evdo.downlink"
_LEFT_OPEN: dict[str, Overrides] = {
    "as read": (),
    "timer of at least 0.2 s": (("tcp.rto.min", "200 ms"),),
    "timer of at least 0.2 s, ticks of 10 ms": (("tcp.rto.min", "200 ms"), ("tcp.rto.tick", "10 ms")),
    "one fast retransmit in a window": (("tcp.multiple_fast_retransmits", "false"),),
    "limited transmit": (("tcp.limited_transmit", "true"),),
    "threshold without the packet in transmission": (LITERAL[2],),
    "reset at a departure": (LITERAL[0],),
    "a user chosen for a slot": ((f"{_SLOTS}.choose", "slot"),),
    "a user chosen for a slot, slots shared": (
        (f"{_SLOTS}.choose", "slot"),
        (f"{_SLOTS}.share_slots", "true"),
    ),
    "scheduler over 100 slots": ((f"{_SLOTS}.scheduler.proportional_fair.window", "100"),),
    "runs of 2 min": (("duration", "2 min"),),
}
"""Settings of Sections 6.4 and 6.5 that the paper leaves open (or, for the scheduler, contradicts)."""


@cache
def _left_open(users: int, flow: Flow, how: Overrides) -> Cell:
    """Compare regulated flows with others under a setting; the twin lacks the regulator's options."""
    twin = _hdr(flow, users, tuple(change for change in how if not change[0].startswith(BOX)))
    return replace(_hdr(REGULATED[flow], users, how), reference=twin.overrides, paired=True)


OPEN_OF_HDR = study(
    11,
    "What the gains of several HDR users rest on",
    "Neither the gain of eight users nor the total of one comes out with the Doppler frequency that gives "
    "the gain of four. A round trip of 0.2 s is below the least retransmission timer of 1 s, and three "
    "packets of buffer bring timeouts: this minimum, which no other section feels, decides. 20 minutes.",
    *tables(
        "setting",
        {
            f"{counted(users, 'user')}, over {flow.name}": partial(_left_open, users, flow)
            for users in HDR_BUFFERS
            for flow in REGULATED
        },
        _LEFT_OPEN,
        (GAIN,),
    ),
    *tables(
        "setting",
        {counted(users, "user"): partial(_left_open, users, RENO) for users in HDR_BUFFERS},
        _LEFT_OPEN,
        (TOTAL,),
    ),
)

STUDIES = (
    FORMS,
    WIRED,
    BY_MARK,
    AT_MOBILE,
    DELAYED_ACKS,
    RESERVES,
    HELD_ACKS,
    ESP,
    MEAN_SINR,
    DOPPLER,
    OPEN_OF_HDR,
)
