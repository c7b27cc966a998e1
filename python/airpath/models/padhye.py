"""Reno with timeouts, the losses of a round being correlated, [padhye1998].

J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Throughput: a Simple Model and its Empirical
Validation", SIGCOMM 1998.

Both forms give the sending rate, retransmissions included. Once a packet is lost, all later packets of its
round are lost too; slow start is left out, and a window is assumed to be sent in less than a round trip.
"""

from __future__ import annotations

import math

from airpath.models.inputs import Throughput, checked_loss_probability, positive


def padhye(
    loss_probability: float,
    rtt_s: float,
    timeout_s: float,
    *,
    packets_per_ack: float = 1,
    window_limit: float | None = None,
) -> Throughput:
    """The full model: [padhye1998] sections 2.2 and 2.3, with the exact probability of a timeout.

    Parameters
    ----------
    loss_probability : float
        p: loss indications (TD + TO) per packet, above 0 and below 1.
    rtt_s : float
        Mean round-trip time, seconds.
    timeout_s : float
        T0: mean length of a first timeout, not backed off, seconds.
    packets_per_ack : float
        b: packets that an ACK acknowledges.
    window_limit : float, optional
        Wm: the receiver's window in packets, at least 1; none if absent.

    Raises
    ------
    ValueError
        If a value is out of range.
    """
    p, b, rtt_s, timeout_s = _checked(loss_probability, packets_per_ack, rtt_s, timeout_s, window_limit)
    offset = (2 + b) / (3 * b)
    window = offset + math.sqrt(8 * (1 - p) / (3 * b * p) + offset**2)
    rounds = b / 2 * window + 1
    if window_limit is not None and window >= window_limit:
        window = window_limit
        rounds = b / 8 * window + (1 - p) / (p * window) + 2
    timeout_share = timeout_probability(p, window)
    # Consecutive timeouts double up to 64 T0.
    backoff = 1 + sum(2 ** (n - 1) * p**n for n in range(1, 7))
    packets = (1 - p) / p + window + timeout_share / (1 - p)
    seconds = rtt_s * rounds + timeout_share * timeout_s * backoff / (1 - p)
    return Throughput(packets / seconds)


def padhye_approximate(
    loss_probability: float,
    rtt_s: float,
    timeout_s: float,
    *,
    packets_per_ack: float = 1,
    window_limit: float | None = None,
) -> Throughput:
    """The approximate model: [padhye1998] section 2.3; without a limit the equation of RFC 5348 (3.1).

    The parameters, and the errors, are those of `padhye`.
    """
    p, b, rtt_s, timeout_s = _checked(loss_probability, packets_per_ack, rtt_s, timeout_s, window_limit)
    timeout_share = min(1.0, 3 * math.sqrt(3 * b * p / 8))
    seconds = rtt_s * math.sqrt(2 * b * p / 3) + timeout_s * timeout_share * p * (1 + 32 * p**2)
    return Throughput(1 / seconds if window_limit is None else min(1 / seconds, window_limit / rtt_s))


def timeout_probability(p: float, window: float) -> float:
    """Q(p, w): how likely a loss in a window of w packets ends in a timeout; w need not be whole.

    Up to three packets cannot cause three duplicate ACKs: the probability is 1.
    """
    if window <= 3:
        return 1.0
    q3 = (1 - p) ** 3
    return min(1.0, _some_lost(p, 3) * (1 + q3 * _some_lost(p, window - 3)) / _some_lost(p, window))


def _some_lost(p: float, n: float) -> float:
    """1 - (1-p)^n without cancellation where p is small."""
    return -math.expm1(n * math.log1p(-p))


def _checked(
    loss_probability: float, packets_per_ack: float, rtt_s: float, timeout_s: float, limit: float | None
) -> tuple[float, float, float, float]:
    p = checked_loss_probability(loss_probability)
    if not (math.isfinite(packets_per_ack) and packets_per_ack >= 1):
        raise ValueError(f"packets_per_ack = {packets_per_ack} is too few; give 1, or 2 with delayed ACKs")
    rtt_s, timeout_s = positive("rtt_s", rtt_s, "seconds"), positive("timeout_s", timeout_s, "seconds")
    if limit is not None and not (math.isfinite(limit) and limit >= 1):
        raise ValueError(f"window_limit = {limit} is too small; give at least 1 packet, or none")
    return p, packets_per_ack, rtt_s, timeout_s
