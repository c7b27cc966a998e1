"""What Jayanathan et al. leave open, how it was settled, and on which of their values."""

from __future__ import annotations

from airpath.experiments.papers.base.choices import Choice
from airpath.experiments.papers.jayanathan.model import LOSSES

WITHIN = {44: 3, 46: 4, 48: 3, 50: 2, 52: 2, 56: 1, 64: 1}
"""By rate of the bearer in kbit/s, how many of the four published throughputs of standard TCP lie within two
sd of ours. Those with feedback have no say: they depend on the sender's rule."""

_RATES = ", ".join(map(str, WITHIN))
_COUNTS = ", ".join(map(str, WITHIN.values()))

CHOICES = (
    Choice(
        "6, Figure 5",
        "rate of the bearer",
        f"{_RATES} kbit/s: {_COUNTS} of the four throughputs of standard TCP within two sd (Study 4)",
        "46 kbit/s",
        "the only rate with all four; the gains hardly depend on it",
        tuple(f"jayanathan-t2-{loss}-standard" for loss in LOSSES),
    ),
    Choice(
        "4, 5, Figure 4",
        "which duplicate ACK sends the segment again",
        "the third: gains of 2, 6, 4, 1 %, on another path 3, 11, 17, 14 %; the second: 2, 9, 14, 16 % "
        "(Study 5)",
        "the third, which is the second that is flagged",
        'the text: 4, 5, and Figure 4, which flags no first duplicate; "early" in 6.1 contradicts it',
        ("jayanathan-s4-dupacks", "jayanathan-s5-dupacks"),
    ),
    Choice(
        "6, Figure 5",
        "round trip",
        "0.1, 0.3 and 1 s: four, four and none of the same four within two sd (Study 3)",
        "0.1 s",
        "assumed; anything to 0.3 s would do",
    ),
    Choice(
        "Table 1",
        'window of the UE, "default"',
        "8760 and 65,535 bytes: 38.4 and 37.7 kbit/s with feedback at 5 % (Study 3)",
        "8760 bytes",
        "the server's, which is given",
    ),
    Choice(
        "Table 1",
        'segment size, "auto-assigned"',
        "1460 and 536 bytes: gains up to 6 and 44 % (Study 5)",
        "1460 bytes",
        "a sixth of the window that is given, and Ethernet's",
    ),
    Choice(
        "Table 1",
        "which segments are timed, and how finely",
        "one a window, each, ticks of 0.5 s: standard TCP 21.4, 20.4, 15.8 kbit/s at 15 % (Study 3)",
        "one a window, without ticks",
        "no timestamps; no tick is given",
    ),
    Choice(
        "6",
        "what a UE drops",
        "what it receives, or what it sends, too: 21.4 and 13.4 kbit/s at 15 % (Study 3)",
        "what it receives",
        "the drops are called those of the radio, and are counted in packets of the file (Figures 6, 7)",
    ),
    Choice(
        "Table 2",
        "24.55 kbit/s at 5 %",
        "41.55 over it is a gain of 69 %, over 34.55 of 20.26 %, as printed",
        "34.55 kbit/s",
        "the printed gain, and the order of the column",
    ),
)
"""What is free, and how it was fixed."""
