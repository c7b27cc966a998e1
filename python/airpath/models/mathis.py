"""The square root formula, [mathis1997].

M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance
Algorithm", ACM CCR 27(3), 1997.

Valid for congestion avoidance alone: few losses, no timeouts, no limit to the window.
"""

from __future__ import annotations

import math
from typing import Literal

from airpath.models.inputs import Throughput, checked_loss_probability, positive

Losses = Literal["periodic", "random"]

# [mathis1997] Table 1: the constant by pattern of losses and whether ACKs are delayed.
CONSTANTS: dict[tuple[Losses, bool], float] = {
    ("periodic", False): math.sqrt(3 / 2),
    ("periodic", True): math.sqrt(3 / 4),
    ("random", False): 1.31,
    ("random", True): 0.93,
}


def mathis(
    loss_probability: float, rtt_s: float, *, delayed_acks: bool = False, losses: Losses = "periodic"
) -> Throughput:
    """Throughput = C / (RTT sqrt(p)).

    Parameters
    ----------
    loss_probability : float
        p: loss events per packet, above 0 and below 1.
    rtt_s : float
        Mean round-trip time, seconds.
    delayed_acks : bool
        Whether an ACK acknowledges two packets.
    losses : str
        ``"periodic"``: one packet in every 1/p is lost; ``"random"``: each is with probability p.

    Raises
    ------
    ValueError
        If a value is out of range.
    """
    if (losses, delayed_acks) not in CONSTANTS:
        raise ValueError(f"losses = {losses!r} is unknown; give 'periodic' or 'random'")
    p = checked_loss_probability(loss_probability)
    constant = CONSTANTS[losses, delayed_acks]
    return Throughput(constant / (positive("rtt_s", rtt_s, "seconds") * math.sqrt(p)))
