"""The claims of Jayanathan et al. that do not hold, and which experiment shows it."""

from __future__ import annotations

NOT_REPRODUCED: dict[str, str] = {
    "jayanathan-c4": (
        "the gain grows with the drop rate: 2.4, 9.6, 13.9 and 16.3 %, and at every rate of the bearer "
        "(Study 4). With two flagged ACKs, as printed, it has the order of the paper, highest at 5 %, and "
        "not its size: 2.0, 5.9, 3.8 and 1.7 % (Study 5). Neither rule has both"
    ),
    "jayanathan-c9": (
        "SACK with feedback gains 2 % at 5 %, and 7 % at 10 %, where it should tie: the more drops, the more "
        "of them fall into one window, which is what SACK is for"
    ),
    "jayanathan-c10": (
        "7 % is better and not much better. The same section has a tie at 10 % (claim 9); ours lies between"
    ),
}
"""Claims that do not hold under the default reading, and why."""
