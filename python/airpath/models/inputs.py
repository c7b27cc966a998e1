"""Inputs and output of the throughput models, and their checks.

Times are in seconds, windows and buffers in packets, rates in packets per second. A packet is a full
segment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Throughput:
    """Prediction of a model, packets per second."""

    packets_per_s: float

    def kbit_per_s(self, packet_bytes: float) -> float:
        """In kbit/s (1 kbit is 1000 bit), for packets of `packet_bytes` bytes."""
        return self.packets_per_s * positive("packet_bytes", packet_bytes, "bytes") * 8 / 1000


@dataclass(frozen=True)
class Episodes:
    """Counts of one flow's losses in a run, as in [chan2002] section 4 and Table 1.

    Attributes
    ----------
    packets : float
        Packets acknowledged.
    duration_s : float
        Time of these packets, seconds.
    fast_retransmits : int
        TD: fast retransmits.
    timeouts : int
        TO: expirations of the retransmission timer.
    rtt_s : float or None
        Mean of the round-trip time samples, seconds; None without a sample.
    timeout_s : float or None
        T0: mean length of the first timeout of an episode, seconds; None without a timeout.
    single_share, double_share : float or None
        p1 and p2: shares of the loss episodes with one fast retransmit, and with two or more, without a
        timeout. p3, those with a timeout, is the rest. None without episodes.
    max_window : float or None
        Wf: root mean square of the whole segments of cwnd before each episode's first cut; None without
        episodes.
    packets_per_ack : int
        b: packets that an ACK acknowledges; 2 with delayed ACKs.
    window_limit : float or None
        Largest window that receiver and sender allow, packets; None if it never limits.
    """

    packets: float
    duration_s: float
    fast_retransmits: int
    timeouts: int
    rtt_s: float | None
    timeout_s: float | None = None
    single_share: float | None = None
    double_share: float | None = None
    max_window: float | None = None
    packets_per_ack: int = 1
    window_limit: float | None = None

    @property
    def loss_probability(self) -> float:
        """Loss indications per packet, p = (TD + TO) / packets: [padhye1998] section 3."""
        packets = positive("packets", self.packets, "acknowledged packets")
        return (self.fast_retransmits + self.timeouts) / packets

    @property
    def timeout_share(self) -> float | None:
        """The share of episodes with a timeout, p3 = 1 - p1 - p2; None without episodes."""
        if self.single_share is None or self.double_share is None:
            return None
        return max(0.0, 1 - self.single_share - self.double_share)

    @property
    def fast_retransmits_per_s(self) -> float:
        """The rate of TD, per second."""
        return self.fast_retransmits / positive("duration_s", self.duration_s, "seconds")

    @property
    def timeouts_per_s(self) -> float:
        """The rate of TO, per second."""
        return self.timeouts / positive("duration_s", self.duration_s, "seconds")


@dataclass(frozen=True)
class Link:
    """The bottleneck of one flow and its other delays: [chan2002] section 4.

    Attributes
    ----------
    service_rate : float
        mu-hat: packets served per second of service.
    propagation_s : float
        tau-hat: mean delay both ways without queueing and without the bottleneck's transmission, seconds.
    buffer_packets : float
        B: most packets that wait behind the one in service.
    """

    service_rate: float
    propagation_s: float
    buffer_packets: float

    @property
    def round_trip_s(self) -> float:
        """T-hat = tau-hat + 1 / mu-hat, seconds: the round trip through an empty buffer."""
        service_s = 1 / positive("service_rate", self.service_rate, "packets/s")
        return not_negative("propagation_s", self.propagation_s, "seconds") + service_s

    @property
    def pipe_packets(self) -> float:
        """mu-hat T-hat: packets in flight when the buffer begins to fill."""
        return self.service_rate * self.round_trip_s


def positive(name: str, value: float | None, unit: str) -> float:
    """Raise a `ValueError` unless the value is known, finite and above 0; return it."""
    if value is None:
        raise ValueError(f"{name} is not known; give a number of {unit} above 0")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} = {value} is not above 0; give a number of {unit} above 0")
    return value


def not_negative(name: str, value: float | None, unit: str) -> float:
    """Raise a `ValueError` unless the value is known, finite and not below 0; return it."""
    if value is None:
        raise ValueError(f"{name} is not known; give a number of {unit}, 0 or more")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} = {value} is out of range; give a number of {unit}, 0 or more")
    return value


def checked_loss_probability(value: float) -> float:
    """Raise a `ValueError` unless a loss probability is above 0 and below 1; return it."""
    if value == 0:
        raise ValueError("loss_probability = 0: nothing was lost; give a probability above 0 and below 1")
    if not 0 < value < 1:
        raise ValueError(f"loss_probability = {value} is out of range; give one above 0 and below 1")
    return value
