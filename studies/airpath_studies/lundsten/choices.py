"""The thesis' open choices, and how they were settled: by its text, by ns-2's behaviour, or by Table 10."""

from __future__ import annotations

from airpath_studies.base.choices import Choice
from airpath_studies.lundsten.model import WINDOWS

CHOICES = (
    Choice(
        "5.2.3, B.5",
        "when a lost block is back: 60 ms, or 59 in the example",
        "60 ms in three ways, and 59 ms: the table of readings",
        "59 ms",
        "B.5 sets the model's parameters; 5.2.2: retransmitted at once, before new blocks",
    ),
    Choice(
        "5",
        "rate of the uplink",
        "64, 384, 5000 kbit/s (Study 9)",
        "64 kbit/s",
        "the slowest bearer; it makes no difference",
    ),
    Choice(
        "5.5, B.4, B.5",
        "how PDUs of 40 bytes are sent",
        "together (Tables 14, 15); one by one (Study 8)",
        "as many as fill a TTI of 20 ms, together",
        "Figure 10 and Section 5.5 have several PDUs in one TTI",
    ),
    Choice(
        "5.3, 5.4.1",
        "connection set-up",
        "none, three-way, with the delay (`--explore`)",
        "none",
        "the rates without errors of Table 10, used to choose the delay, the initial window and the uplink; "
        "5.4.1 says that they contain the set-up",
        tuple(f"lundsten-t10-{rate}-{packet}-bler0" for rate, packet in WINDOWS),
    ),
    Choice(
        "5.3",
        "initial window of large files",
        "1, 2: no difference",
        "1",
        "Sections 2.1.3 and 5.4.2",
    ),
    Choice(
        "5.3, 5.4.1",
        "Mbyte and kByte",
        "10^6, 2^20: no difference",
        "10^6 and 10^3 bytes, headers included",
        "5.3 counts whole packets; the word decides nothing",
    ),
    Choice(
        "2.1.5, 5.3.1",
        "details of Reno",
        "without limited transmit, RFC arithmetic, more fast retransmits in a window",
        "ns-2's: limited transmit, windows halved to whole segments, ticks of 0.1 s",
        "what ns-2 did until 7 March 2002, whose ticks are finer since (Study 5)",
    ),
    Choice(
        "3.1.5",
        "time constant of Westwood's filter",
        "0.2, 0.5, 1 s",
        "0.5 s",
        "the default of our Westwood for every paper",
    ),
    Choice(
        "3.1.4",
        "what Eifel restores",
        "the old window, RFC 4015 (Study 1)",
        "the old window",
        "Section 3.1.4; the RFC is later",
    ),
    Choice(
        "B.4",
        "when slots begin; whether packets share a block",
        "slots on a grid, no sharing",
        "at once when idle; a new packet fills the last unsent block",
        "Appendix B.4 says both",
    ),
)
"""All of them."""
