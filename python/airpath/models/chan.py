"""Saw-tooths of the window at a bottleneck: [lakshman1997], and [chan2002] on top of it.

T. V. Lakshman, U. Madhow, "The Performance of Networks with High Bandwidth-delay Products and Random Loss",
IEEE/ACM ToN 5(3), 1997, as equations 1 to 4 of [chan2002] sum it up: one loss per cycle at a bottleneck of
constant rate and delay.

M. C. Chan, R. Ramjee, "TCP/IP Performance over 3G Wireless Links with Rate and Delay Variation", MobiCom
2002, section 4, equations 5 to 19: Reno where rate and delay vary and losses come in bursts, with cycles that
begin with two fast retransmits, or with two and a timeout.

Both are valid for one long Reno flow whose window is not limited and whose losses are overflows of the
bottleneck's buffer. Where Wf stays below mu T, the window is still assumed to grow to mu T: the paper
drops the epoch at the full buffer and leaves the one before as it is.
"""

from __future__ import annotations

import math
from typing import Literal

from airpath.models.inputs import Link, Throughput, not_negative, positive

Form = Literal["fitting", "literal"]
FORMS: tuple[Form, ...] = ("fitting", "literal")


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


def chan_ramjee(
    link: Link,
    single_share: float,
    double_share: float,
    max_window: float,
    timeout_s: float | None,
    *,
    form: Form = "fitting",
) -> Throughput:
    """Equation 19.

    ``"fitting"`` gives Table 2 within 0.3 kbit/s: only Wf is cut to whole packets, W01 = floor(Wf) / 2,
    W02 = W01 / 2, W03 = W02 / 2; the retransmission waits for the packet in service too,
    t_R = T-hat + (B + 1) / mu-hat; slow start sends nothing new, n_ss = 0.

    ``"literal"`` takes equations 5 to 19 at their word: (int) W / 2 as an integer division in all three,
    t_R = T-hat + B / mu-hat, n_ss = W03 / T-hat (whose unit is that of a rate). The time of cycles with a
    timeout has t_A3 in both, as equation 19 has, and not the t_A2 of the text.

    Parameters
    ----------
    link : Link
        mu-hat, tau-hat and B.
    single_share, double_share : float
        p1 and p2; p3 = 1 - p1 - p2.
    max_window : float
        Wf: root mean square of the window before each episode's first cut, packets.
    timeout_s : float or None
        T0, seconds; not needed where p3 is 0.
    form : str
        ``"fitting"`` or ``"literal"``.

    Raises
    ------
    ValueError
        If a value is out of range.
    """
    p1, p2, p3 = _shares(single_share, double_share)
    top = positive("max_window", max_window, "packets")
    windows, t_r, n_ss = _steps(form, link, top)
    (t_a1, n_a1), (t_a2, n_a2), (t_a3, n_a3) = (window_grows(window, link) for window in windows)
    t_b = buffer_fills_s(top, link)
    # A slow start that takes no time does not occur: [chan2002], below equation 19.
    t_ss = link.round_trip_s * math.log2(max(1.0, windows[2]))
    n_ss = n_ss if t_ss > 0 else 0.0
    t_0 = not_negative("timeout_s", timeout_s, "seconds") if p3 > 0 else 0.0
    packets = p3 * (n_ss + n_a3) + p2 * n_a2 + p1 * n_a1 + link.service_rate * t_b
    seconds = p3 * (t_r + t_0 + t_ss + t_a3) + p2 * (t_r + t_a2) + p1 * t_a1 + t_b
    if seconds == 0:
        what = f"max_window = {max_window} stays below the {link.pipe_packets:.1f} packets of the pipe"
        raise ValueError(f"{what} and halves to more; give a window that fits the link")
    return Throughput(packets / seconds)


def _steps(form: Form, link: Link, top: float) -> tuple[tuple[float, float, float], float, float]:
    """Where the forms differ: W01 to W03 after one to three losses in packets, t_R in seconds, and n_ss."""
    waiting = not_negative("buffer_packets", link.buffer_packets, "packets")
    round_trip_s, whole = link.round_trip_s, math.floor(top)
    if form == "fitting":
        return (whole / 2, whole / 4, whole / 8), round_trip_s + (waiting + 1) / link.service_rate, 0.0
    if form == "literal":
        windows = whole // 2, whole // 4, whole // 8
        return windows, round_trip_s + waiting / link.service_rate, windows[2] / round_trip_s
    raise ValueError(f"form = {form!r} is unknown; give one of {', '.join(FORMS)}")


def _shares(single: float, double: float) -> tuple[float, float, float]:
    for name, share in (("single_share", single), ("double_share", double)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} = {share} is no share; give a number from 0 to 1")
    rest = 1 - single - double
    # The remainder of a sum of shares that are rounded may be a little off.
    if rest < -1e-9:
        what = f"single_share + double_share = {single + double} is more than all"
        raise ValueError(f"{what}; give shares that add to 1 with that of the timeouts")
    return single, double, max(0.0, rest)
