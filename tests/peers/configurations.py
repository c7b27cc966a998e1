"""What is simulated on both sides: TCP over a lossy bottleneck with a drop-tail buffer, without RLC.

    server --- rate, delay, drop-tail buffer, random loss --- station --- 1 Gbit/s --- UE

ns-2's one-way agents send at once, count in segments and have a coarse clock; airpath has options for that,
and `AIRPATH` switches them on. Where ns-2 has several ways itself, `NS2` chooses the one that airpath's
options describe:

`syn_`, `delay_growth_`
    no handshake; the SYN would be segment 0, and the ACK for it would set the window instead of opening it.
`windowInit_`
    1 segment; the default is 2.
`precisionReduce_`
    half of a window is a whole number of segments (ns-2's default before 2006).
`tcpTick_`, `minrto_`
    BSD's: a clock of 100 ms, timeouts of at least 1 s.
`SYN_immediate_ack_`
    segment 0 is no SYN here: its ACK is delayed like any other.

Drop-tail buffers of ns-2 refuse a packet when limit - 1 packets wait already, and do not count the packet in
transmission. What remains different is in README.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from textwrap import dedent

from airpath import Scenario, _core

# ns-2's name of each loss recovery.
AGENTS = {"reno": "Reno", "newreno": "Newreno", "sack": "Sack1", "tahoe": "Tahoe"}

NS2 = {
    "Agent/TCP.syn_": "false",
    "Agent/TCP.delay_growth_": "false",
    "Agent/TCP.windowInit_": "1",
    "Agent/TCP.precisionReduce_": "false",
    "Agent/TCP.tcpTick_": "0.1",
    "Agent/TCP.minrto_": "1.0",
    "Agent/TCPSink.SYN_immediate_ack_": "false",
}

AIRPATH = """
    duration = "{time} s"

    [wired]
    rate = "{rate_kbps} kbit/s"
    delay = "{delay_ms} ms"
    loss = "{loss_percent} %"
    queue.droptail = {{ packets = {waiting}, in_service = "excluded" }}

    [wired.uplink]
    loss = "0 %"
    queue.droptail = {{ packets = 100000 }}

    [radio.dch]
    downlink.rate = "1 Gbit/s"
    uplink.rate = "1 Gbit/s"

    [tcp]
    handshake = "none"
    mss = "{payload} B"
    initial_window = 1
    initial_ssthresh = "{window_bytes} B"
    max_window = {window}
    receive_buffer = "16 MB"
    window_arithmetic = "ns2"
    rtt_sampling = "one_per_window"
    ack_every = {ack_every}
    delayed_ack_timeout = "100 ms"
    rto = {{ initial = "3 s", min = "1 s", tick = "100 ms" }}
    cc.reno = {{}}
    recovery.{recovery} = {{}}
{options}
    [[flow]]
    app.bulk = {{}}
"""

# One segment at a time over a lossy link.
DRAWS = """
    duration = "{duration_s} s"

    [wired]
    rate = "1 Gbit/s"
    loss = "{loss_percent} %"
    uplink.loss = "0 %"

    [radio.dch]
    downlink.rate = "1 Gbit/s"
    uplink.rate = "1 Gbit/s"

    [tcp]
    handshake = "none"
    mss = "536 B"
    max_window = 1
    initial_window = 1
    ack_every = 1
    rto = {{ initial = "1 ms", min = "1 ms", max = "1 ms" }}

    [[flow]]
    app.bulk = {{}}
"""


@dataclass(frozen=True)
class Configuration:
    """One bottleneck, and one bulk flow over it."""

    recovery: str
    rate_kbps: int
    delay_ms: int
    # ns-2's `limit_` of the drop-tail buffer.
    buffer: int
    loss_percent: float
    ack_every: int = 1
    window: int = 100
    payload: int = 536
    time: int = 600
    runs: int = 8

    @property
    def name(self) -> str:
        """All that tells it from the others."""
        parts = [
            self.recovery,
            f"{self.rate_kbps}kbit",
            f"{self.delay_ms}ms",
            f"{self.buffer}pkt",
            f"{self.loss_percent}%",
            f"ack{self.ack_every}",
        ]
        return "-".join(parts)

    @property
    def most_packets(self) -> int:
        """How many packets the bottleneck can send."""
        return int(self.rate_kbps * 1000 * self.time / 8 / self.payload) + 1

    @property
    def ns2_options(self) -> list[str]:
        """Arguments of `dumbbell.tcl`, without the seed."""
        options = {
            "agent": AGENTS[self.recovery],
            "rate": f"{self.rate_kbps}k",
            "delay": self.delay_ms,
            "buffer": self.buffer,
            "loss": self.loss_percent / 100,
            "ack_every": self.ack_every,
            "window": self.window,
            "payload": self.payload,
            "time": self.time,
            "set": ",".join(f"{variable}:{value}" for variable, value in NS2.items()),
        }
        return [f"{key}={value}" for key, value in options.items()]

    @property
    def scenario(self) -> Scenario:
        """The configuration for airpath."""
        options = "    sack = true\n    dsack = false\n" if self.recovery == "sack" else ""
        fields = vars(self) | {"options": options}
        fields |= {"waiting": self.buffer - 1, "window_bytes": self.window * self.payload}
        return Scenario(self.name, dedent(AIRPATH.format(**fields)))


_ALL = [
    # Losses by overflow alone.
    Configuration("reno", 64, 300, 5, 0.0, time=8000, runs=2),
    Configuration("reno", 128, 105, 20, 0.0, ack_every=2, time=2000, runs=2),
    Configuration("reno", 384, 63, 50, 0.0, runs=2),
    Configuration("reno", 1000, 103, 100, 0.0, window=20, runs=2),
    Configuration("reno", 10_000, 23, 100, 0.0, payload=1460, window=300, time=300, runs=2),
    Configuration("newreno", 128, 105, 20, 0.0, time=2000, runs=2),
    Configuration("newreno", 384, 63, 50, 0.0, runs=2),
    Configuration("newreno", 2000, 11, 10, 0.0, ack_every=2, time=300, runs=2),
    Configuration("sack", 128, 105, 20, 0.0, time=2000, runs=2),
    Configuration("sack", 384, 63, 50, 0.0, runs=2),
    Configuration("tahoe", 64, 300, 10, 0.0, ack_every=2, time=2000, runs=2),
    Configuration("tahoe", 384, 63, 50, 0.0, runs=2),
    # Random losses plus overflows.
    Configuration("reno", 384, 150, 20, 1.0),
    Configuration("reno", 1000, 31, 30, 3.0, ack_every=2),
    Configuration("reno", 10_000, 107, 100, 0.1, ack_every=2, payload=1460, window=300, time=300),
    Configuration("newreno", 64, 150, 10, 1.0, ack_every=2, time=2000),
    Configuration("newreno", 384, 150, 20, 3.0),
    Configuration("newreno", 1000, 300, 100, 0.1),
    Configuration("newreno", 10_000, 53, 100, 0.3, payload=1460, window=300, time=300),
    Configuration("sack", 384, 150, 20, 1.0),
    Configuration("sack", 1000, 31, 30, 3.0, ack_every=2),
    Configuration("sack", 10_000, 53, 100, 0.3, payload=1460, window=300, time=300),
    Configuration("tahoe", 384, 150, 20, 1.0),
    Configuration("tahoe", 1000, 31, 30, 3.0, ack_every=2),
]

# A loss recovery that airpath does not have (yet) is not listed.
_THERE = {entry["name"] for entry in json.loads(_core.registry()) if entry["folder"] == "tcp.recovery"}
CONFIGURATIONS = [one for one in _ALL if one.recovery in _THERE]
