"""One loss per cycle at a bottleneck of constant rate and delay, [lakshman1997].

T. V. Lakshman, U. Madhow, "The Performance of Networks with High Bandwidth-delay Products and Random Loss",
IEEE/ACM ToN 5(3), 1997, as equations 1 to 4 of [chan2002] (`chan`) sum it up.

Valid for one long flow in congestion avoidance that loses packets by overflow alone and has no window limit.
"""

from __future__ import annotations

from airpath.models.inputs import Link, Throughput, not_negative


def lakshman_madhow(link: Link) -> Throughput:
    """Throughput of the window's saw-tooth from Wmax / 2 to Wmax = mu tau + B + 1.

    A buffer that never empties (Wmax / 2 above mu T) leaves only the second epoch: the rate is mu.

    Parameters
    ----------
    link : Link
        Service rate, propagation delay and buffer.

    Raises
    ------
    ValueError
        If a value is out of range.
    """
    mu, pipe = link.service_rate, link.pipe_packets
    # mu tau + 1 is mu T.
    top = pipe + not_negative("buffer_packets", link.buffer_packets, "packets")
    growing_s, growing = window_grows(top / 2, link)
    full_s = buffer_fills_s(top, link)
    if full_s == 0:
        return Throughput(growing / growing_s)
    return Throughput((growing + mu * full_s) / (growing_s + full_s))


def window_grows(start: float, link: Link) -> tuple[float, float]:
    """Duration in seconds and packets of the epoch in which the window grows from `start` to mu T.

    [chan2002] equations 1 and 2 (6, 7; 12, 13; 17, 18); zero if the window is beyond mu T already.
    """
    round_trip_s = link.round_trip_s
    seconds = max(0.0, round_trip_s * (link.pipe_packets - start))
    return seconds, (start * seconds + seconds**2 / (2 * round_trip_s)) / round_trip_s


def buffer_fills_s(top: float, link: Link) -> float:
    """Duration in seconds of the epoch in which the window grows from mu T to `top`, with a busy link.

    [chan2002] equation 3 (8); zero if the window does not get there.
    """
    return max(0.0, (top**2 - link.pipe_packets**2) / (2 * link.service_rate))
