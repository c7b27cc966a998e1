"""What the thesis leaves open, and how it was settled: by its text, or by what ns-2 does; by no value."""

from __future__ import annotations

from airpath.experiments.papers.base.choices import Choice

CHOICES = (
    Choice(
        "5.2.3, B.5",
        "when a lost block is back: 60 ms, or 59 in the example",
        "60 ms in three ways, and 59 ms: the table of readings",
        "59 ms",
        "B.5 sets the model's parameters; 5.2.2: sent again at once, before new blocks",
    ),
    Choice(
        "5",
        "rate of the uplink",
        "Study 9: 64, 384, 5000 kbit/s; 238, 242, 241 % at 384/576",
        "64 kbit/s",
        "the slowest bearer; it makes no difference",
    ),
    Choice(
        "5.5, B.4, B.5",
        "how PDUs of 40 bytes are sent",
        "Study 8: together, 363 and 45 % at 384/576 (Tables 14, 15); one by one, 294 and 34",
        "as many as fill a TTI of 20 ms, together",
        "Figure 10 and Section 5.5 have several PDUs in one TTI",
    ),
    Choice(
        "5.3, 5.4.1",
        "connection set-up",
        "none, three-way: 225 and 200 kbit/s at 384/576, 100 kB, no errors",
        "none",
        "A.6: ns-2's TCP agent and sink; times run from the first segment",
    ),
    Choice(
        "5.3",
        "initial window of large files",
        "1, 2: 241, 241 % at 384/576",
        "1",
        "Sections 2.1.3 and 5.4.2",
    ),
    Choice(
        "5.3, 5.4.1",
        "Mbyte and kByte",
        "10^6, 2^20: 241, 240 % at 384/576",
        "10^6 and 10^3 bytes, headers included",
        "5.3 counts whole packets; the word decides nothing",
    ),
    Choice(
        "2.1.5, 5.3.1",
        "details of Reno",
        "without limited transmit 267 %, RFC arithmetic 234, more fast retransmits in a window 254",
        "ns-2's: limited transmit, windows halved to whole segments, ticks of 0.1 s",
        "what ns-2 of 2002 does unless told otherwise",
    ),
    Choice(
        "3.1.5",
        "time constant of Westwood's filter",
        "0.2, 0.5, 1 s: 25, 21, 21 % at 384/576",
        "0.5 s",
        "the default of our Westwood for every paper",
    ),
    Choice(
        "3.1.4",
        "what Eifel restores",
        "Study 1: the old window, RFC 4015: 20.9, 21.3 % at 384/576",
        "the old window",
        "Section 3.1.4; the RFC is later",
    ),
    Choice(
        "B.4",
        "when slots begin; whether packets share a block",
        "slots on a grid 219 %, no sharing 115 % at 384/576",
        "at once when idle; a new packet fills the last unsent block",
        "Appendix B.4 says both",
    ),
)
"""All of them."""
