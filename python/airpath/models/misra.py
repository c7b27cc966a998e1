"""Losses that come as Poisson processes, [misra1999].

V. Misra, W. Gong, D. Towsley, "Stochastic Differential Equation Modeling and Analysis of TCP Window Size
Behavior", Performance 1999.

The window grows by a packet each round trip, is halved by a loss of the triple duplicate kind, and is set
to one by a timeout. The length of timeouts and slow start are left out. Valid where losses are not
bursty and the window is not limited.
"""

from __future__ import annotations

from airpath.models.inputs import Throughput, not_negative, positive


def misra(
    rtt_s: float, fast_retransmits_per_s: float, timeouts_per_s: float, *, as_printed: bool = False
) -> Throughput:
    """Throughput = E[W] / R with E[W] = (1/R + l_TO) / (l_TD / 2 + l_TO).

    Parameters
    ----------
    rtt_s : float
        R: mean round-trip time, seconds.
    fast_retransmits_per_s, timeouts_per_s : float
        l_TD and l_TO: losses of either kind per second; one of them above 0.
    as_printed : bool
        With l_TD and l_TO exchanged: wrong, but only this gives the values of [chan2002] Table 2 ("Model 2").

    Raises
    ------
    ValueError
        If a value is out of range, or both rates are 0.
    """
    rtt_s = positive("rtt_s", rtt_s, "seconds")
    halves = not_negative("fast_retransmits_per_s", fast_retransmits_per_s, "losses per second")
    resets = not_negative("timeouts_per_s", timeouts_per_s, "losses per second")
    if halves == resets == 0:
        what = "fast_retransmits_per_s and timeouts_per_s are 0: nothing was lost"
        raise ValueError(f"{what}; give one of them above 0")
    if as_printed:
        halves, resets = resets, halves
    window = (1 / rtt_s + resets) / (halves / 2 + resets)
    return Throughput(window / rtt_s)
