"""What Jayanathan et al. leave open, how it was settled, and on which of their values."""

from __future__ import annotations

from airpath_studies.base.choices import Choice
from airpath_studies.jayanathan.model import LOSSES

CHOICES = (
    Choice(
        "Table 1",
        'window of the UE, "default"',
        "8760, 17520 and 65,535 bytes, with the two below (`--explore`)",
        "65,535 bytes",
        "Table 1 gives the server 8760 bytes and the UE, in a line of its own, the default: two windows",
    ),
    Choice(
        "6, Figure 5",
        "round trip",
        "0.1, 0.2, 0.3 and 0.4 s, with the window and the rate (`--explore`); standard TCP cannot tell them",
        "0.2 s",
        "the shortest that the other papers give; argued when the values that test were known",
    ),
    Choice(
        "6, Figure 5",
        "rate of the bearer",
        "44 to 52 kbit/s, with the window and the round trip (`--explore`)",
        "48 kbit/s",
        "with this window and round trip it fits standard TCP best; RNC feedback and its gains had no say",
        tuple(f"jayanathan-t2-{loss}-standard" for loss in LOSSES),
    ),
    Choice(
        "4, 5, Figure 4",
        "which duplicate ACK triggers the retransmission",
        "the third, and the second (`--explore`, Study 5)",
        "the third, which is the second that is flagged",
        'the text: 4, 5, and Figure 4, which flags no first duplicate; "early" in 6.1 contradicts it',
        ("jayanathan-s4-dupacks", "jayanathan-s5-dupacks"),
    ),
    Choice(
        "Table 1",
        'segment size, "auto-assigned"',
        "1460 and 536 bytes (Study 5)",
        "1460 bytes",
        "a sixth of the window that is given, and Ethernet's",
    ),
    Choice(
        "Table 1",
        "which segments are timed, and how finely",
        "one a window, each, ticks of 0.5 s (Study 3)",
        "one a window, without ticks",
        "no timestamps; no tick is given",
    ),
    Choice(
        "6",
        "what a UE drops",
        "what it receives, or what it sends, too (Study 3)",
        "what it receives",
        "the drops are called those of the radio, and are counted in packets of the file (Figures 6, 7)",
    ),
    Choice(
        "Table 2",
        "24.55 kbit/s at 5 %",
        "41.55 over it is a gain far beyond the printed one, over 34.55 one of 20.26 %, as printed",
        "34.55 kbit/s",
        "the printed gain, and the order of the column",
    ),
)
"""What is free, and how it was fixed."""
