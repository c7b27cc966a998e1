"""What the studies show, as claims that are checked like those of a paper."""

from __future__ import annotations

from collections.abc import Iterable

from airpath_studies.base.cell import Metric
from airpath_studies.base.claims import Claim
from airpath_studies.base.conditions import (
    AtLeast,
    AtMost,
    Condition,
    Less,
    Tie,
    WithinPoints,
    rising,
)
from airpath_studies.base.paper import Experiment
from airpath_studies.base.quantity import Minus, Quantity, Times
from airpath_studies.extensions.hand_over import (
    BEARERS,
    HANDOVER,
    KEYS,
    LINK_LAYERS,
    arrived_twice,
    arrives_s,
    lost_s,
    measure,
    timeouts,
    window_kept,
)
from airpath_studies.extensions.pages import PAGES
from airpath_studies.extensions.remedies import PLACEMENT, SMALL_FILES, THRESHOLD
from airpath_studies.extensions.settings import DELAYED_ACK, ERROR_RATES, TTI, UPLINK, ZHANG_SMALL
from airpath_studies.extensions.users import USERS
from airpath_studies.shared.downloads import fast_retransmits_of

_WORST, _FAST, _MIDDLE = _HURT = ("384/576", "384/1500", "128/576")
_UNHURT = ("128/1500", "64/576", "64/1500")


def _of(study: Experiment, line: str, column: str, *more: str) -> Quantity:
    """What stands in a line, whose labels may be several, and a column of a study's table."""
    return study.tables[0].entry(column, line, *more)


def _lines(study: Experiment, column: str, *lines: str) -> tuple[Quantity, ...]:
    return tuple(_of(study, line, column) for line in lines)


def _claim(number: int, study: Experiment, text: str, *conditions: Condition) -> Claim:
    return Claim(f"extensions-c{number}", study.place, text, conditions)


_RECEIVERS = ("every segment", "every second, 200 ms")
_USERS_OF_SPLIT = _of(USERS, "8", "split by a proxy")

_ONE, _PIPELINED = "HTTP/1.1, one connection", "the same, pipelined"
_FASTER_PAGES = (
    (_ONE, "HTTP/1.0, one after the other"),
    ("HTTP/1.0, four at once", _ONE),
    (_PIPELINED, _ONE),
)


def _handed_over(
    metric: Metric,
    *remedies: str,
    among: Iterable[str] = LINK_LAYERS,
    bearers: Iterable[str] = BEARERS,
    longer: int = 0,
) -> tuple[Quantity, ...]:
    """A metric of remedies: over link layers, outcomes of bearers, and longer outages."""
    keys = [key for key in KEYS if key[0] in among and key[1] in bearers and key[2] > longer]
    return tuple(measure(metric, remedy, key) for remedy in remedies for key in keys)


def _at_least(limit: float, quantities: Iterable[Quantity]) -> tuple[Condition, ...]:
    return tuple(AtLeast(quantity, limit, slack=0) for quantity in quantities)


def _at_most(limit: float, quantities: Iterable[Quantity]) -> tuple[Condition, ...]:
    return tuple(AtMost(quantity, limit, slack=0) for quantity in quantities)


_PAUSE, _LOSE, _AM, _UM = ("pause",), ("lose",), ("AM",), ("UM",)
_FROZEN = ("freeze, network", "freeze, UE")

CLAIMS = (
    _claim(
        1,
        SMALL_FILES,
        "Every remedy shortens a transfer of 100 kB where Reno suffers most; split TCP more than in-sequence "
        "delivery at 384/1500, where slow start is the largest part of it.",
        *(
            Less(_of(SMALL_FILES, remedy, _WORST), _of(SMALL_FILES, "Reno", _WORST))
            for remedy in ("in sequence", "30 ms instead of 135", "split by a proxy", "both")
        ),
        Less(_of(SMALL_FILES, "split by a proxy", _FAST), _of(SMALL_FILES, "in sequence", _FAST)),
    ),
    _claim(
        2,
        SMALL_FILES,
        "For small files the thesis' approximation of split TCP, a shorter path, flatters it: a real proxy "
        "still has the rest of the path before it.",
        *(
            Less(_of(SMALL_FILES, "30 ms instead of 135", key), _of(SMALL_FILES, "split by a proxy", key))
            for key in _HURT
        ),
    ),
    _claim(
        3,
        PLACEMENT,
        "At 384/576 a proxy helps the more the nearer it is to the cell; elsewhere 60 ms instead of 5 change "
        "the transfer by less than a point.",
        *rising(*_lines(PLACEMENT, _WORST, "5 ms", "15 ms", "30 ms", "60 ms", "90 ms", "120 ms")),
        *(WithinPoints(Minus(*_lines(PLACEMENT, key, "60 ms", "5 ms")), 0, 1) for key in (_FAST, _MIDDLE)),
    ),
    _claim(
        4,
        ERROR_RATES,
        "One block in a hundred lost costs 384/576 more than half again its transfer time, and the other "
        "downloads no more than the link's own retransmissions. At 128/1500 and 64 kbit/s nothing else "
        "counts at any error rate.",
        AtLeast(_of(ERROR_RATES, "1 %", _WORST), 50),
        *(AtMost(_of(ERROR_RATES, "1 %", key), 100 / 99, slack=1) for key in (_FAST, _MIDDLE, *_UNHURT)),
        *(AtMost(_of(ERROR_RATES, "20 %", key), 25, slack=1) for key in _UNHURT),
    ),
    _claim(
        5,
        UPLINK,
        "Lost blocks on the uplink, 20 % of them, change the transfer by less than two points: ACKs are "
        "cumulative, and at 384/576 ACKs that come late and together even hide reordering.",
        Less(*_lines(UPLINK, _WORST, "20 %", "0 %")),
        Less(*map(fast_retransmits_of, _lines(UPLINK, _WORST, "20 %", "0 %"))),
        *(WithinPoints(Minus(*_lines(UPLINK, key, "20 %", "0 %")), 0, 2) for key in (_FAST, _MIDDLE)),
    ),
    _claim(
        6,
        TTI,
        "Halving the TTI to 10 ms leaves only the link's own retransmissions, except at 384/576, which still "
        "takes more than half again as long; every doubling costs more.",
        *(c for key in _HURT for c in rising(*_lines(TTI, key, "10 ms", "20 ms", "40 ms", "80 ms"))),
        *(AtMost(_of(TTI, "10 ms", key), 100 / 9) for key in (_FAST, _MIDDLE)),
        AtLeast(_of(TTI, "10 ms", _WORST), 50),
    ),
    _claim(
        7,
        DELAYED_ACK,
        "Delayed ACKs make the harm greater where Reno suffers, since the window grows back more slowly; "
        "where it does not, they change nothing.",
        *(Less(*_lines(DELAYED_ACK, key, *_RECEIVERS)) for key in _HURT),
        *(Tie(*_lines(DELAYED_ACK, key, *_RECEIVERS)) for key in _UNHURT),
    ),
    _claim(
        8,
        THRESHOLD,
        "At 384/576 every step of the duplicate ACK threshold helps; one that adapts finds the best of "
        "them by itself, and does better than Eifel alone.",
        *rising(*_lines(THRESHOLD, _WORST, "20", "10", "6", "4", "3")),
        Tie(*_lines(THRESHOLD, _WORST, "adaptive, with Eifel", "20")),
        Less(*_lines(THRESHOLD, _WORST, "adaptive, with Eifel", "3, with Eifel")),
    ),
    _claim(
        9,
        ZHANG_SMALL,
        "With Zhang's settings, too, a small file suffers less than a large one at 384/576: it ends before "
        "the window has been halved often.",
        *rising(*_lines(ZHANG_SMALL, _WORST, "50 kB", "100 kB", "200 kB", "10 MB")),
    ),
    _claim(
        10,
        USERS,
        "Up to four users with Reno do not meet: block errors leave each a part of its bearer only. With "
        "eight, split TCP fills the wire better than Reno does even without block errors, and all get the "
        "same.",
        Tie(Times(2, _of(USERS, "1", "Reno")), _of(USERS, "2", "Reno")),
        Tie(Times(2, _of(USERS, "2", "Reno")), _of(USERS, "4", "Reno")),
        Less(_of(USERS, "8", "Reno"), _USERS_OF_SPLIT),
        Less(_of(USERS, "8", "Reno, no block errors"), _USERS_OF_SPLIT),
        *_at_least(99, (_of(USERS, "8", f"fairness, {of}") for of in ("Reno", "split"))),
    ),
    _claim(
        11,
        PAGES,
        "A page over a connection for each object takes longer than over one connection, as the thesis "
        "expects, if the connections follow one another; four at once are faster than one without "
        "pipelining, and one with pipelining is faster than one without.",
        *(
            Less(_of(PAGES, fast, column, errors), _of(PAGES, slow, column, errors))
            for fast, slow in _FASTER_PAGES
            for column in (*_HURT, *_UNHURT)
            for errors in ("0 %", "10 %")
        ),
    ),
    _claim(
        12,
        HANDOVER,
        "Frozen by the network or by the UE, a sender continues within a round trip after a pause of 1, 3 or "
        "10 s, without a timeout and, in acknowledged mode, where nothing else is lost, with the window "
        "that it had.",
        *_at_most(0.5, _handed_over(arrives_s, *_FROZEN, bearers=_PAUSE)),
        *_at_most(0, _handed_over(timeouts, *_FROZEN, bearers=_PAUSE)),
        *_at_least(100, _handed_over(window_kept, *_FROZEN, among=_AM, bearers=_PAUSE)),
    ),
    _claim(
        13,
        HANDOVER,
        "Behind a pause, freezing by the network costs no more than the outage, and less than doing nothing.",
        *(AtMost(measure(lost_s, _FROZEN[0], key), key[2], slack=0.5) for key in KEYS if key[1] == "pause"),
        *map(
            Less,
            _handed_over(lost_s, _FROZEN[0], bearers=_PAUSE),
            _handed_over(lost_s, "nothing", bearers=_PAUSE),
        ),
    ),
    _claim(
        14,
        HANDOVER,
        "In unacknowledged mode a frozen sender detects radio losses by a timeout, unless it goes back as "
        "BSD's does, or was warned in time; after a pause, going back sends everything twice.",
        *_at_least(0.8, _handed_over(timeouts, _FROZEN[0], among=_UM, bearers=_LOSE)),
        *_at_most(0, _handed_over(timeouts, "the same, goes back", "freeze, UE", among=_UM, bearers=_LOSE)),
        *_at_least(10, _handed_over(arrived_twice, "the same, goes back", bearers=_PAUSE)),
        *_at_most(1, _handed_over(arrived_twice, _FROZEN[0], bearers=_PAUSE)),
    ),
    _claim(
        15,
        HANDOVER,
        "A sender that retransmits into a closed window, as Linux does, cannot be frozen by one for longer "
        "than its timeout.",
        *_at_most(10, _handed_over(window_kept, "the same, retransmits", among=_AM, longer=1)),
        *_at_least(1, _handed_over(timeouts, "the same, retransmits", longer=1)),
    ),
    _claim(
        16,
        HANDOVER,
        "A download whose proxy loses its state at the hand-over never completes: acknowledged data is "
        "not retransmitted. State that moves costs no more than the end-to-end connection does "
        "without freezing.",
        *_at_least(35, _handed_over(lost_s, "split, state lost")),
        *(
            AtMost(measure(lost_s, "split, state moves", key), key[2] + more, slack=0.5)
            for key in KEYS
            for more in (6 if key == ("UM", "lose", 10) else 2,)
        ),
    ),
)
