"""Studies of the paper's open questions, rejected alternatives, and arguments without figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from airpath.terminal import counted
from airpath_studies.alcaraz import measured
from airpath_studies.alcaraz.figures import MAXTHS, RATIOS, cell, plane
from airpath_studies.alcaraz.measured import DELAY, GOODPUT, OCCUPANCY, OVERFLOWS, TIMEOUTS
from airpath_studies.alcaraz.model import (
    ACK_RATE,
    COMBINED_1,
    COMBINED_2,
    CONVENTIONAL,
    OWN_RUNS,
    PDPC,
    RUNS,
    Scheme,
    ack_rate,
    combined,
    make_cell,
    pdpc,
)
from airpath_studies.alcaraz.observed import LATE_S, LATE_SHARE, MEAN_RTO, MEAN_WINDOW, RUN
from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.base.grid import Grid, GridRow
from airpath_studies.base.measure import Measure, chart, observed, tables
from airpath_studies.base.observe import Observation
from airpath_studies.base.panel import Chart, Plane
from airpath_studies.base.paper import study
from airpath_studies.base.quantity import Quantity

IN_ORDER = Measure("delay from the first transmission until in order", "s", observed("in_order_s"))
AFTER_A_DROP = Measure("time for which f2 is in force", "s", measured.of_box("t_id_after_drop_s"))
MOST_HELD = Measure("most ACKs held at once", "1", measured.of_box("peak_held_acks"))
ROUND_TRIP = Measure("mean round-trip time", "s", measured.rtt_s)


def _few(of: Cell, observe: Observation | None) -> Cell:
    return replace(of, observe=observe, runs=RUNS, most_runs=RUNS)


def _seen(name: str, unit: str, observe: Observation) -> Measure:
    return Measure(name, unit, measured.seen, partial(_few, observe=observe))


def _cell(scheme: Scheme, flows: int = 1, options: Overrides = (), variant: str = "") -> Cell:
    """Make a cell with as many runs as the Table 2 rows shown next to it."""
    of = make_cell(scheme, flows, options=options, variant=variant)
    return replace(of, runs=OWN_RUNS, most_runs=OWN_RUNS)


def _by_flows(*counts: int) -> dict[str, Callable[[Scheme], Cell]]:
    return {counted(flows, "flow"): partial(_cell, flows=flows) for flows in counts}


def _by_scheme(schemes: Iterable[Scheme], read: Callable[..., Cell]) -> dict[str, Callable[..., Cell]]:
    """Make columns of schemes with one flow and with four; `read` has both, and what the row stands for."""
    return {
        f"{scheme.name}, {counted(flows, 'flow')}": partial(read, scheme, flows)
        for scheme in schemes
        for flows in (1, 4)
    }


def _named(*schemes: Scheme) -> dict[str, Scheme]:
    return {scheme.name: scheme for scheme in schemes}


def _released(scheme: Scheme, flows: int, how: tuple[str, str]) -> Cell:
    release, occupancy = how
    changed = replace(scheme, release=release, occupancy=occupancy)
    return _cell(changed, flows, variant="" if changed == scheme else ", ".join(how))


RELEASE = study(
    1,
    "How ACKs are released, and what the occupancy is",
    "Every combination of both, with the overflows: the pseudocode as printed (strict), all ACKs that need "
    "no delay at once (loop, the default reading), or one of them in a TTI; all unacknowledged SDUs, or only "
    "unstarted ones.",
    *tables(
        "release, occupancy",
        _by_scheme((ACK_RATE, COMBINED_1, COMBINED_2), _released),
        {
            f"{release}, {occupancy}": (release, occupancy)
            for release in ("loop", "strict", "one_per_tti")
            for occupancy in ("unacked", "untransmitted")
        },
        (GOODPUT, DELAY, OVERFLOWS),
    ),
)


def _red(weight: float) -> Scheme:
    limits = "packets = 50, min_threshold = 10, max_threshold = 30, max_probability = 0.1"
    return Scheme(f"RED, weight {weight:g}", f"{{ red = {{ {limits}, weight = {weight:g} }} }}")


RED = study(
    2,
    "RED in the RLC buffer",
    "The paper argues against averaging the queue and dropping by chance. RED between 10 and 30 SDUs, with "
    "the weight of its authors and with one ten times as large, compared with the schemes of Table 2.",
    *tables(
        "scheme",
        _by_flows(1, 4),
        _named(CONVENTIONAL, _red(0.002), _red(0.02), PDPC, COMBINED_1, COMBINED_2),
        (GOODPUT, DELAY, OVERFLOWS, TIMEOUTS),
    ),
)


def _both(key: str, value: str) -> Overrides:
    """Change both directions of the bearer."""
    return tuple((f"radio.dch.{direction}.{key}", value) for direction in ("downlink", "uplink"))


def _read(scheme: Scheme, flows: int, row: tuple[str, Overrides, Scheme]) -> Cell:
    """Take a row of Table 2 without ACK control under another reading; the last is PDPC as it is read."""
    variant, options, discard = row
    return _cell(discard if scheme == PDPC else scheme, flows, options, variant)


_BERNOULLI = _both("channel", '{ bernoulli = { bler = "10 %" } }')
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
_READINGS: dict[str, Overrides] = {
    "MaxDAT resets the link": _both("rlc.am.sdu_discard", "no_discard"),
    "MaxDAT never reached": _both("rlc.am.max_dat", "1000"),
    "each PDU lost by itself": (*_both("rlc.am.errors", "per_pdu"), *_BERNOULLI),
    "each TTI lost by itself": _BERNOULLI,
    "30 ms one way": _both("delay", "20 ms"),
    "TTIs of the uplink 5 ms later": (("radio.dch.uplink.rlc.am.offset", "5 ms"),),
    "Reno of RFC 5681 and 6582": _RFC_RENO,
    "New-Reno": (("tcp.recovery", "{ newreno = {} }"), *_RFC_RENO),
    "no connection set-up": (("tcp.handshake", "none"),),
    "an ACK for every segment": (("tcp.ack_every", "1"),),
}

OPEN = study(
    3,
    "What else the paper leaves open",
    "The rows of Table 2 without ACK control under other readings of RLC, channel and TCP.",
    *tables(
        "reading",
        _by_scheme((CONVENTIONAL, PDPC), _read),
        {
            "as stated": ("", (), PDPC),
            "PDPC counts the SDU that comes": ("", (), _COUNTED),
            **{name: (name, options, PDPC) for name, options in _READINGS.items()},
        },
        (GOODPUT, DELAY, IN_ORDER),
    ),
)


def _window(segments: int) -> Cell:
    if segments == 44:
        return _cell(CONVENTIONAL)
    options = (("tcp.max_window", f"{segments}"), ("tcp.receive_buffer", f"{segments * 1460} B"))
    return _cell(CONVENTIONAL, 1, options, f"window {segments}")


WINDOWS = study(
    4,
    "Windows that can overflow the buffer",
    "The window of 44 segments is smaller than the buffer of 50 SDUs, yet the paper's Figure 2 has overflows "
    "and a timeout. The conventional buffer, one flow, with larger windows.",
    *tables(
        "window, segments",
        {"1 flow": _window},
        {"44 (64 kbytes)": 44, **{f"{segments}": segments for segments in (48, 52, 64, 88)}},
        (GOODPUT, DELAY, OVERFLOWS, TIMEOUTS),
    ),
)


def _sweep(
    title: str,
    parameter: str,
    values: tuple[float, ...],
    scheme_of: Callable[..., Scheme],
    *measures: Measure,
) -> tuple[Chart, ...]:
    """Chart measures over a parameter of a scheme, with one flow and with four."""

    def of(flows: int, value: float) -> Cell:
        return make_cell(scheme_of(value), flows)

    lines = {counted(flows, "flow"): partial(of, flows) for flows in (1, 4)}
    return tuple(chart(title, parameter, values, measure, lines) for measure in measures)


SINGLE = study(
    5,
    "The single mechanisms over their parameters",
    "PDPC over its threshold, ACK rate control alone over maxd/maxth (maxth 50).",
    charts=(
        *_sweep("PDPC", "maxth, SDUs", MAXTHS, pdpc, GOODPUT, DELAY),
        *_sweep("ACK rate control", "maxd/maxth, ms/SDU", RATIOS, ack_rate, GOODPUT, DELAY),
    ),
)

AFTER_DROP = study(
    6,
    "What f2 does to four flows",
    "When PDPC drops an SDU, four flows have more ACKs held than one. With f2 = 0 the waiting ACKs leave at "
    "once, with f2 = f1 nothing changes. f2 is in force while PDPC's Counter is above zero.",
    *tables(
        "f2 of Combined Scheme 1",
        _by_flows(1, 4),
        {"0": COMBINED_1, "alpha 1, as f1": combined(1, 40, 12.5, f2_alpha=1)},
        (GOODPUT, DELAY, OVERFLOWS, AFTER_A_DROP, MOST_HELD),
    ),
)


def _queue(scheme: Scheme, name: str, option: str) -> Scheme:
    """Give PDPC another option; the name says so."""
    return replace(
        scheme, name=f"{scheme.name}, {name}", queue=scheme.queue.replace("arriving", f"{option}, arriving")
    )


def _bo_of(scheme: Scheme, flows: int, seen: tuple[str, str]) -> Cell:
    """Let ACK rate control and the drop of a combined scheme see these SDUs."""
    control, drop = seen
    if control == "unacked":
        return _cell(scheme, flows)
    name = f"ACK rate control sees {control}, the drop {drop}"
    return _cell(replace(_queue(scheme, name, f'occupancy = "{drop}"'), occupancy=control), flows)


ONE_BO = study(
    7,
    "Which SDUs both mechanisms see",
    "Figure 3 has one BO, and by section 2 an SDU is in it until it is acknowledged. The combined "
    "schemes with unstarted SDUs instead of BO, for ACK rate control and for "
    "the drop.",
    *tables(
        "ACK rate control, drop",
        {
            f"{name}, {counted(flows, 'flow')}": partial(_bo_of, scheme, flows)
            for name, scheme in (("Combined Scheme 1", COMBINED_1), ("2", COMBINED_2))
            for flows in (1, 4)
        },
        {
            ", ".join(seen): seen
            for seen in (
                ("unacked", "unacked"),
                ("untransmitted", "untransmitted"),
                ("untransmitted", "unacked"),
            )
        },
        (GOODPUT, DELAY, OVERFLOWS),
    ),
)


def _both_f2(alpha: float, flows: int) -> Plane:
    lines = {
        f"maxth {maxth}, {said}": partial(cell, alpha, maxth, flows=flows, f2_alpha=f2_alpha)
        for maxth in (20, 30, 40)
        for f2_alpha, said in ((None, "f2 = 0"), (1, "alpha 1 in f2"))
    }
    return plane(f"alpha {alpha:g}, {counted(flows, 'flow')}", (5.0, 10.0, 15.0, 20.0, 30.0), lines, flows)


F2 = study(
    8,
    "Both f2 in each scenario",
    "Section 5 had alpha 1 in f2 and f2 = 0 in each scenario, and shows both for alpha 1 and one flow "
    "alone. Both for every alpha, with one flow and with four, on a coarser grid.",
    planes=(_both_f2(alpha, flows) for flows in (1, 4) for alpha in (1, 0.5, 0.2)),
)

_ALL = (CONVENTIONAL, ACK_RATE, PDPC, COMBINED_1, COMBINED_2)

TIMEOUTS_OF_SCHEMES = study(
    9,
    "Longer timeouts, and how often there are any",
    "Section 3.1: ACKs that are delayed inflate TCP's timeout; less delay in the buffer makes up for that, "
    "and timeouts are rare. Round trips and timeouts of the schemes of Table 2.",
    *tables(
        "scheme",
        _by_flows(1, 4),
        _named(*_ALL),
        (DELAY, ROUND_TRIP, _seen("mean retransmission timeout", "s", MEAN_RTO), TIMEOUTS),
    ),
)


def _starting(scheme: Scheme, start: float) -> Scheme:
    if start == 1:
        return scheme
    return _queue(scheme, f"Counter from {start:g} BO", f"counter_start = {start:g}")


COUNTER_START = study(
    10,
    "BO and the window, and where Counter starts",
    "Section 3.2: BO is about the window of a flow if there is one; with several the window is smaller. "
    "Counter represents the window and starts at BO; one that is too large makes the algorithm slow. Mean BO "
    "and mean window of a flow; then Counter from a quarter of BO to twice as much.",
    *tables(
        "scheme",
        _by_flows(1, 2, 4),
        _named(CONVENTIONAL, PDPC),
        (OCCUPANCY, _seen("mean window of a flow", "SDU", MEAN_WINDOW)),
    ),
    charts=(
        known
        for scheme in (PDPC, COMBINED_1)
        for known in _sweep(
            scheme.name,
            "Counter at a drop, times BO",
            (0.25, 0.5, 1.0, 1.5, 2.0),
            partial(_starting, scheme),
            GOODPUT,
            DELAY,
            TIMEOUTS,
        )
    ),
)

_BULK, _AT = "{ app = { bulk = {} } }", f'start = "{LATE_S:g} s"'
_WEB = "{ page = '20 kB', objects = 8, object = '5 kB', connections = 'per_object' }"
_PAGE = f"{{ {_AT}, app = {{ web = {_WEB} }} }}"
_LATE = f"{{ {_AT}, app = {{ bulk = {{}} }} }}"

_PAGE_TIME = Measure("page load time", "s", measured.page_s)
_LEAST = Measure("least over most", "percent", measured.least_over_most_percent)
_SHARE = _seen("share of a flow that starts late", "percent", LATE_SHARE)


def _beside(variant: str, flows: str, scheme: Scheme) -> Cell:
    return _few(make_cell(scheme, options=(("flow", f"[{flows}]"),), variant=variant), None)


def _shares(scheme: Scheme) -> tuple[Quantity, Quantity]:
    late = _beside("a second flow after 20 s", f"{_BULK}, {_LATE}", scheme)
    return _LEAST.of(make_cell(scheme, 4)), _SHARE.of(late)


SHARES = study(
    11,
    "Flows that compete, and a page beside a download",
    "Section 2: too much in the buffer makes shares unfair and surfing slow. Four downloads from the "
    "start, least goodput over most; a second one after 20 s, its share of the data that arrives from then "
    "on (50 % would be fair); and a page of 20 kB with eight objects of 5 kB after 20 s, alone and "
    "beside a download.",
    Grid(
        ("least goodput over most, 4 flows", "share of a second flow"),
        "percent",
        tuple(GridRow((scheme.name,), _shares(scheme)) for scheme in _ALL),
        "shares",
        ("scheme",),
    ),
    *tables(
        "scheme",
        {
            "alone": partial(_beside, "a page", _PAGE),
            "beside a download": partial(_beside, "a page beside a download", f"{_BULK}, {_PAGE}"),
        },
        _named(*_ALL),
        (_PAGE_TIME,),
    ),
)

SPACING = Measure("mean time between ACKs", "ms", measured.ack_spacing_ms)

_BY_BYTES: Overrides = (("tcp.cc", '{ reno = { variant = "bytes" } }'),)
_ACKED: dict[str, Overrides] = {
    "as read, an ACK for 2 segments": (),
    **{
        f"an ACK for {segments}, growth by {what}": (("tcp.ack_every", f"{segments}"), *how)
        for segments in (1, 4, 8)
        for what, how in (("ACKs", ()), ("segments", _BY_BYTES))
    },
    "ACKs by the timer of 200 ms alone": (("tcp.delayed_ack", '"timer"'),),
    "ACKs by the timer alone, growth by segments": (("tcp.delayed_ack", '"timer"'), *_BY_BYTES),
}


def _acked(scheme: Scheme, flows: int, row: tuple[str, Overrides]) -> Cell:
    variant, options = row
    return _few(_cell(scheme, flows, options, variant if options else ""), RUN)


ACK_EVERY = study(
    12,
    "Where do the 140 ms between ACKs come from?",
    "Rule 2 has ACKs 140 ms apart. At 384 kbit/s, a tenth of it lost, four packets of 1500 bytes take 139 "
    "ms: an ACK for four segments. What would such a receiver make of the rest?",
    *tables(
        "receiver",
        _by_scheme((CONVENTIONAL, COMBINED_2), _acked),
        {variant: (variant, options) for variant, options in _ACKED.items()},
        (SPACING, GOODPUT, DELAY),
    ),
)

STUDIES = (
    RELEASE,
    RED,
    OPEN,
    WINDOWS,
    SINGLE,
    AFTER_DROP,
    ONE_BO,
    F2,
    TIMEOUTS_OF_SCHEMES,
    COUNTER_START,
    SHARES,
    ACK_EVERY,
)
