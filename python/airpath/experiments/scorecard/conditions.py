"""The conditions of a scorecard, grouped by the sections of RFC 9743 and RFC 8869 that require them.

A condition is a scenario as plain data without `[tcp]`. Flows without a congestion control have the one
under test; the others are Linux's CUBIC or Reno. A small stream of bursts, drawn by the seed, passes every
wired link, so runs differ and flows do not synchronise (Floyd and Jacobson, On
traffic phase effects in packet-switched gateways, Internetworking 3 (3), 1992).

ASSUMED: rates, delays, buffers and durations. The RFCs name what to look at and no numbers that suit TCP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airpath.experiments.scorecard.measures import (
    DELAY,
    GOODPUT,
    JAIN,
    LOST,
    RETRANSMITTED,
    RTT,
    SENDING,
    TRANSFER,
    Measure,
    share_of,
)

Data = dict[str, Any]

CUBIC: Data = {"cubic": {"hystart": "linux", "variant": "linux"}}
RENO: Data = {"reno": {"variant": "linux"}}
"""As in `tcp.profile` "linux" and "linux-reno"."""

WIRED_S = 30
"""Seconds of a run over a wired bottleneck, unless the condition says otherwise."""
BACKGROUND_SHARE = 0.01
"""Mean rate of the bursts, as a share of a wired bottleneck's rate."""
LEAST_BUFFER_BYTES = 15_000
"""Ten packets."""


@dataclass(frozen=True)
class Row:
    """A measure of some flows of a condition.

    Where `of` names others than the flows under test, the row reports on the competing flows.
    """

    measure: Measure
    flows: tuple[int, ...] = (0,)
    of: str = ""


@dataclass(frozen=True)
class Condition:
    """A scenario without `[tcp]`, and what is measured in it. Names are unique."""

    name: str
    says: str
    scenario: Data
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Group:
    """Conditions that a section requires, and what they show."""

    section: str
    title: str
    says: str
    conditions: tuple[Condition, ...]

    @property
    def heading(self) -> str:
        """Section and title."""
        return f"{self.section}, {self.title}"


def bulk(cc: Data | None = None, start_s: float = 0.0, **more: Any) -> Data:
    """A download without end."""
    return _flow({"bulk": {}}, cc, start_s, **more)


def file(size: str, start_s: float, cc: Data | None = None) -> Data:
    """A download of a file."""
    return _flow({"file": {"size": size}}, cc, start_s)


def _flow(app: Data, cc: Data | None = None, start_s: float = 0.0, **more: Any) -> Data:
    tcp = {} if cc is None else {"tcp": {"cc": cc}}
    return {"start": f"{start_s:g} s", "app": app, **tcp, **more}


CALL = _flow({"cbr": {"rate": "64 kbit/s", "size": "200 B"}}, start_s=1.0)
"""One direction of a call: 40 packets per second."""


def bdp_bytes(rate_mbps: float, rtt_ms: float) -> float:
    """Bandwidth-delay product, bytes."""
    return rate_mbps * rtt_ms * 1000 / 8


def wired(
    *flows: Data,
    rate_mbps: float = 10,
    rtt_ms: float = 40,
    buffer_bdps: float = 1,
    queue: Data | None = None,
    duration_s: float = WIRED_S,
    **link: Any,
) -> Data:
    """A wired bottleneck with a drop-tail buffer, in bandwidth-delay products, unless `queue` is another."""
    octets = max(buffer_bdps * bdp_bytes(rate_mbps, rtt_ms), LEAST_BUFFER_BYTES)
    return {
        "duration": f"{duration_s:g} s",
        "wired": {
            "rate": _rate(rate_mbps),
            "delay": f"{rtt_ms / 2:g} ms",
            "queue": queue or {"droptail": {"bytes": f"{octets:.0f} B"}},
            "uplink": {"delay": f"{rtt_ms / 2:g} ms"},
            **link,
        },
        "radio": {"dch": {"downlink": {"rate": "1 Gbit/s"}, "uplink": {"rate": "1 Gbit/s"}}},
        "flow": [*flows, _background(rate_mbps)],
    }


def changing(
    *flows: Data, steps: Sequence[tuple[float, float, float]], buffer: str, rtt_ms: float = 40
) -> Data:
    """A bottleneck that changes: steps of rate in Mbit/s (0 for none), length in s, more delay in ms."""
    switching = [
        {"rate": _rate(rate), "for": f"{for_s:g} s", "delay": f"{delay_ms:g} ms"}
        for rate, for_s, delay_ms in steps
    ]
    channel = {"switching": {"steps": switching}}
    fastest = max(rate for rate, _, _ in steps)
    return _variable([*flows, _background(fastest)], channel, buffer, rtt_ms, sum(step[1] for step in steps))


def _variable(flows: list[Data], channel: Data, buffer: str, rtt_ms: float, duration_s: float) -> Data:
    uplink = {"distribution": {"rate": {"constant": "100 Mbit/s"}, "delay": {"constant": "0 s"}}}
    return {
        "duration": f"{duration_s:g} s",
        "wired": {"delay": f"{rtt_ms / 2:g} ms"},
        "radio": {
            "variable": {
                "downlink": {"queue": {"droptail": {"bytes": buffer}}, "channel": channel},
                "uplink": {"channel": uplink},
            }
        },
        "flow": flows,
    }


def _rate(mbps: float) -> str:
    return f"{mbps * 1000:g} kbit/s"


def _background(rate_mbps: float) -> Data:
    """Bursts at a twentieth of the rate for a fifth of the time."""
    size = "500 B" if rate_mbps >= 1 else "100 B"
    burst = {"rate": _rate(5 * BACKGROUND_SHARE * rate_mbps), "size": size, "on": "500 ms", "off": "2 s"}
    return {"app": {"on_off": burst}}


def spread(*flows: Data, delays_ms: Sequence[float]) -> Data:
    """A wired bottleneck of 10 Mbit/s followed by UEs, each with its own one-way delay.

    The UEs are of different traffic classes, as bearers of a class may have a delay of their own.
    """
    classes = ("conversational", "streaming", "interactive", "background")[: len(delays_ms)]
    scenario = wired(*flows, rtt_ms=10, buffer_bdps=5, duration_s=60)
    scenario["umts"] = {"qos": list(classes)}
    dch = scenario["radio"]["dch"]
    dch["ues"] = len(classes)
    dch["qos"] = {
        name: {"downlink": {"rate": "1 Gbit/s", "delay": f"{delay:g} ms"}}
        for name, delay in zip(classes, delays_ms, strict=True)
    }
    return scenario


def lte(*flows: Data, sinr: str | list[str] = "15 dB", doppler: str = "5.6 Hz", ues: int = 1) -> Data:
    """An LTE cell of 5 MHz with a buffer of 300 kB for each UE, as in the bundled `lte-5mhz`."""
    return {
        "duration": "20 s",
        "wired": {"rate": "1 Gbit/s", "delay": "15 ms"},
        "radio": {
            "lte": {
                "ues": ues,
                "downlink": {
                    "blocks": {"bandwidth": "5 MHz"},
                    "queue": {"droptail": {"bytes": "300 kB"}},
                    "reception": {
                        "mean_sinr": sinr,
                        "diversity": 2,
                        "shadowing": {"sd": "3 dB", "decorrelation": "5 s"},
                        "fading": {"jakes": {"doppler": doppler}},
                    },
                },
                "uplink": {"bler": "10 %"},
            }
        },
        "flow": list(flows),
    }


def umts(*flows: Data) -> Data:
    """The bundled `umts-384`, for a minute."""
    am = {"pdu": "42 B", "timer_poll": "150 ms", "timer_status_prohibit": "100 ms", "max_dat": 15}
    channel = {"bernoulli": {"bler": "10 %"}}
    return {
        "duration": "60 s",
        "wired": {"rate": "100 Mbit/s", "delay": "75 ms"},
        "radio": {
            "dch": {
                "downlink": {
                    "rate": "384 kbit/s",
                    "delay": "15 ms",
                    "queue": {"droptail": {"packets": 30}},
                    "rlc": {"am": {"tti": "10 ms", **am}},
                    "channel": channel,
                },
                "uplink": {
                    "rate": "64 kbit/s",
                    "delay": "15 ms",
                    "rlc": {"am": {"tti": "20 ms", **am}},
                    "channel": channel,
                },
            }
        },
        "flow": list(flows),
    }


ALONE = (Row(GOODPUT), Row(RTT))
BOTH = (0, 1)


def _beside(name: str, other: Data, buffer_bdps: float) -> Condition:
    kind = next(iter(other))
    title = "CUBIC" if kind == "cubic" else "Reno"
    return Condition(
        f"{kind}-{name}",
        f"against one {title} flow; buffer of {buffer_bdps:g} BDP",
        wired(bulk(), bulk(other), buffer_bdps=buffer_bdps, duration_s=40),
        (Row(GOODPUT, (1,), title), *((Row(share_of(5e6)),) if buffer_bdps == 1 else ())),
    )


_FILES_S = range(5, 25)
"""When short files start, seconds."""

GROUPS: tuple[Group, ...] = (
    Group(
        "RFC 9743 5.1.1",
        "congestion collapse",
        "Whether it backs off where most of what it sends is lost.",
        (
            Condition(
                "half-lost",
                "every other packet is lost",
                wired(bulk(), loss="50 %", uplink={"delay": "20 ms", "loss": "0 %"}),
                (Row(SENDING),),
            ),
            Condition(
                "crowd",
                "30 flows share 1 Mbit/s: a segment or less for each in flight",
                wired(*(bulk(start_s=i / 10) for i in range(30)), rate_mbps=1, rtt_ms=100, buffer_bdps=2),
                (Row(RETRANSMITTED, tuple(range(30))),),
            ),
        ),
    ),
    Group(
        "RFC 9743 5.1.2",
        "bufferbloat",
        "The queue that a flow alone keeps in a buffer that is too large.",
        (
            Condition("deep", "buffer of 8 BDP", wired(bulk(), buffer_bdps=8), ALONE),
            Condition(
                "deep-4",
                "four flows; buffer of 8 BDP",
                wired(*(bulk(start_s=i) for i in range(4)), buffer_bdps=8),
                (Row(RTT, tuple(range(4))),),
            ),
        ),
    ),
    Group(
        "RFC 9743 5.1.3",
        "high packet loss",
        "The losses that flows cause themselves where the buffer is small.",
        (
            Condition(
                "shallow",
                "buffer of 0.3 BDP",
                wired(bulk(), buffer_bdps=0.3),
                (Row(GOODPUT), Row(RETRANSMITTED)),
            ),
            Condition(
                "shallow-4",
                "four flows; buffer of 0.5 BDP",
                wired(*(bulk(start_s=i) for i in range(4)), buffer_bdps=0.5),
                (Row(GOODPUT, tuple(range(4))), Row(RETRANSMITTED, tuple(range(4)))),
            ),
        ),
    ),
    Group(
        "RFC 9743 5.1.4",
        "fairness within the algorithm",
        "How flows of the same algorithm share a link.",
        (
            Condition(
                "equal-4",
                "four flows with the same round trip, which start together",
                wired(*(bulk() for _ in range(4)), duration_s=60),
                (Row(JAIN, tuple(range(4))),),
            ),
            Condition(
                "latecomer",
                "a flow that comes 20 s after another, for 40 s",
                wired(bulk(), bulk(start_s=20), duration_s=60),
                (Row(share_of(5e6), (1,)),),
            ),
            Condition(
                "rtt-spread",
                "four flows with round trips of 20, 40, 80 and 160 ms",
                spread(*(bulk(ue=ue) for ue in range(4)), delays_ms=(10, 30, 70, 150)),
                (Row(JAIN, tuple(range(4))),),
            ),
        ),
    ),
    Group(
        "RFC 9743 5.1.5",
        "short flows",
        "Transfers that end while they still open their window.",
        (
            Condition(
                "file-30k",
                "30 kB over an idle link",
                wired(file("30 kB", 1), duration_s=10),
                (Row(TRANSFER),),
            ),
            Condition(
                "file-1m", "1 MB over an idle link", wired(file("1 MB", 1), duration_s=15), (Row(TRANSFER),)
            ),
            Condition(
                "file-umts",
                "50 kB over a 384 kbit/s bearer",
                {**umts(file("50 kB", 1)), "duration": "30 s"},
                (Row(TRANSFER),),
            ),
            Condition(
                "files-and-bulk",
                "30 kB each second against a long flow of the same kind",
                wired(bulk(), *(file("30 kB", at) for at in _FILES_S)),
                (Row(TRANSFER, tuple(range(1, 21))), Row(GOODPUT)),
            ),
        ),
    ),
    Group(
        "RFC 9743 5.2.1",
        "existing congestion control",
        "What it leaves to a competing CUBIC or Reno flow, relative to what CUBIC would leave.",
        (
            *(
                _beside(name, other, bdps)
                for other in (CUBIC, RENO)
                for name, bdps in (("shallow", 0.5), ("bdp", 1), ("deep", 4))
            ),
            Condition(
                "one-among-four",
                "one flow against four CUBIC flows; buffer of 1 BDP",
                wired(bulk(), *(bulk(CUBIC) for _ in range(4)), duration_s=40),
                (Row(GOODPUT, (1, 2, 3, 4), "CUBIC"), Row(JAIN, tuple(range(5)))),
            ),
            Condition(
                "cubic-far",
                "RTT of 20 ms against a CUBIC flow of 160 ms",
                spread(bulk(), bulk(CUBIC, ue=1), delays_ms=(10, 150)),
                (Row(GOODPUT, (1,), "CUBIC"),),
            ),
            Condition(
                "cubic-lte",
                "against a CUBIC flow of the same UE over LTE",
                lte(bulk(), bulk(CUBIC)),
                (Row(GOODPUT, (1,), "CUBIC"),),
            ),
        ),
    ),
    Group(
        "RFC 9743 5.2.2",
        "real-time traffic",
        "How a call over UDP fares when competing with it.",
        (
            Condition(
                "call",
                "a call of 64 kbit/s; buffer of 1 BDP",
                wired(bulk(), CALL),
                (Row(DELAY, (1,), "call"), Row(LOST, (1,), "call")),
            ),
            Condition(
                "call-deep",
                "a call of 64 kbit/s; buffer of 4 BDP",
                wired(bulk(), CALL, buffer_bdps=4),
                (Row(DELAY, (1,), "call"), Row(LOST, (1,), "call")),
            ),
        ),
    ),
    Group(
        "RFC 9743 5.2.3",
        "short and long flows",
        "Short flows of one kind against long flows of the other.",
        (
            Condition(
                "cubic-files",
                "CUBIC files of 30 kB each second against a long flow",
                wired(bulk(), *(file("30 kB", at, CUBIC) for at in _FILES_S)),
                (Row(TRANSFER, tuple(range(1, 21)), "CUBIC"),),
            ),
            Condition(
                "cubic-bulk",
                "files of 100 kB each second against a long CUBIC flow",
                wired(bulk(CUBIC), *(file("100 kB", at) for at in _FILES_S)),
                (Row(GOODPUT, (0,), "CUBIC"), Row(TRANSFER, tuple(range(1, 21)))),
            ),
        ),
    ),
    Group(
        "RFC 9743 6.3",
        "wired paths",
        "A flow alone over drop-tail links (6.1) of several rates, with a buffer of 1 BDP: the plain case.",
        (
            Condition("wired-1", "1 Mbit/s, 40 ms, 10 packets", wired(bulk(), rate_mbps=1), ALONE),
            Condition("wired-10", "10 Mbit/s, 40 ms", wired(bulk()), ALONE),
            Condition(
                "wired-100",
                "100 Mbit/s, 20 ms",
                wired(bulk(), rate_mbps=100, rtt_ms=20, duration_s=10),
                ALONE,
            ),
        ),
    ),
    Group(
        "RFC 9743 6.4",
        "wireless paths",
        "Losses that are no sign of congestion, and link layers that repair them.",
        (
            Condition(
                "loss-01",
                "0.1 % of the packets lost at random",
                wired(bulk(), loss="0.1 %", uplink={"delay": "20 ms", "loss": "0 %"}),
                (Row(GOODPUT),),
            ),
            Condition(
                "loss-1",
                "1 % of the packets lost at random",
                wired(bulk(), loss="1 %", uplink={"delay": "20 ms", "loss": "0 %"}),
                (Row(GOODPUT),),
            ),
            Condition("umts", "384 kbit/s over RLC AM, 10 % block errors", umts(bulk()), ALONE),
        ),
    ),
    Group(
        "RFC 9743 7.1",
        "active queue management",
        "Queues that drop before they are full.",
        (
            Condition("codel", "CoDel", wired(bulk(), queue={"codel": {}}), ALONE),
            Condition(
                "pie-cubic",
                "against one CUBIC flow; PIE",
                wired(bulk(), bulk(CUBIC), queue={"pie": {}}, duration_s=40),
                (Row(GOODPUT, (1,), "CUBIC"),),
            ),
            Condition(
                "fq-codel-cubic",
                "against one CUBIC flow; FQ-CoDel",
                wired(bulk(), bulk(CUBIC), queue={"fq_codel": {}}, duration_s=40),
                (Row(GOODPUT, (1,), "CUBIC"),),
            ),
        ),
    ),
    Group(
        "RFC 9743 7.3",
        "varying delay",
        "Delay that no queue makes.",
        (
            Condition(
                "jitter",
                "each packet delayed by 1 to 19 ms more; the order is kept",
                _variable(
                    [bulk(), _background(10)],
                    {
                        "distribution": {
                            "rate": {"constant": "10 Mbit/s"},
                            "delay": {"uniform": {"mean": "10 ms", "sd": "5 ms"}},
                        }
                    },
                    "50 kB",
                    40,
                    WIRED_S,
                ),
                ALONE,
            ),
        ),
    ),
    Group(
        "RFC 9743 7.4",
        "constrained nodes",
        "A pipe of less than three packets.",
        (
            Condition(
                "narrow",
                "64 kbit/s, 400 ms, 10 packets",
                wired(bulk(), rate_mbps=0.064, rtt_ms=400, duration_s=120),
                ALONE,
            ),
        ),
    ),
    Group(
        "RFC 9743 7.5",
        "high delay",
        "A satellite.",
        (
            Condition(
                "satellite", "10 Mbit/s, 600 ms", wired(bulk(), rtt_ms=600, duration_s=60), (Row(GOODPUT),)
            ),
            Condition(
                "file-satellite",
                "1 MB over 10 Mbit/s, 600 ms",
                wired(file("1 MB", 1), rtt_ms=600),
                (Row(TRANSFER),),
            ),
        ),
    ),
    Group(
        "RFC 9743 7.7",
        "reordering",
        "Packets that overtake others.",
        (
            Condition(
                "reorder",
                "1 % of the packets held for 10 ms",
                {
                    **wired(bulk()),
                    "middlebox": [{"disturb": {"downlink": {"reorder": "1 %", "hold": "10 ms"}}}],
                },
                (Row(GOODPUT),),
            ),
        ),
    ),
    Group(
        "RFC 9743 7.8",
        "transient events",
        "Bursts that take the link, and a link that is gone for a while.",
        (
            Condition(
                "bursts",
                "8 of 10 Mbit/s taken for 1 s on average, every 5 s",
                wired(
                    bulk(),
                    {"app": {"on_off": {"rate": "8 Mbit/s", "size": "1000 B", "on": "1 s", "off": "4 s"}}},
                ),
                (Row(GOODPUT), Row(LOST, (1,), "bursts")),
            ),
            Condition(
                "outage",
                "no link for 3 s",
                changing(bulk(), steps=((10, 10, 0), (0, 3, 0), (10, 17, 0)), buffer="50 kB"),
                (Row(GOODPUT),),
            ),
        ),
    ),
    Group(
        "RFC 9743 7.9",
        "sudden changes in the path",
        "A rate or a delay that changes at once and stays.",
        (
            Condition(
                "rate-steps",
                "20, 2 and 20 Mbit/s, 10 s each; buffer of 100 kB",
                changing(bulk(), steps=((20, 10, 0), (2, 10, 0), (20, 10, 0)), buffer="100 kB"),
                ALONE,
            ),
            Condition(
                "delay-steps",
                "round trip of 40, 140 and 40 ms, 10 s each; buffer of 50 kB",
                changing(bulk(), steps=((10, 10, 0), (10, 10, 100), (10, 10, 0)), buffer="50 kB"),
                (Row(GOODPUT),),
            ),
        ),
    ),
    Group(
        "RFC 8869 2.1",
        "varying load of a cell",
        "An LTE cell whose other UEs take and leave their part.",
        (
            Condition(
                "lte-load",
                "five UEs with bursts of 3 Mbit/s for 2 s",
                lte(
                    bulk(),
                    *(
                        {
                            "ue": ue,
                            "app": {
                                "on_off": {"rate": "3 Mbit/s", "size": "1400 B", "on": "2 s", "off": "3 s"}
                            },
                        }
                        for ue in range(1, 6)
                    ),
                    ues=6,
                ),
                ALONE,
            ),
        ),
    ),
    Group(
        "RFC 8869 2.2",
        "bad radio coverage",
        "An LTE cell near its edge, at 3 and 30 km/h, and in its middle.",
        (
            Condition("lte", "mean SINR 15 dB, 3 km/h", lte(bulk()), ALONE),
            Condition("lte-edge", "mean SINR 0 dB, 3 km/h", lte(bulk(), sinr="0 dB"), ALONE),
            Condition(
                "lte-edge-drive",
                "mean SINR 0 dB, 30 km/h",
                lte(bulk(), sinr="0 dB", doppler="56 Hz"),
                ALONE,
            ),
        ),
    ),
)

CONDITIONS: tuple[Condition, ...] = tuple(condition for group in GROUPS for condition in group.conditions)
