"""What Chan and Ramjee's paper leaves open, and how it was settled."""

from __future__ import annotations

from airpath.experiments.papers.base.choices import Choice
from airpath.experiments.papers.chan.measured import RATES
from airpath.experiments.papers.chan.tables import rate_id

_OF_TABLE_4 = tuple(f"chan-{rate_id(rate)}" for rate in RATES)
_REGULATED_IN_TABLE_3 = tuple(
    f"chan-t3-{flow}-ar-{column}"
    for flow in ("reno", "sack")
    for column in ("goodput", "loss-events-triple-dupack", "w-f-rms-max-window")
)

CHOICES = (
    Choice(
        place="Table 1",
        open="what rtt is",
        tried="case 1, not random: every segment 653.6 ms, one in a window 616.2 ms (616.2 printed)",
        taken="mean of the samples, one in a window",
        why="case 1; the other eight cases test it",
        uses=("chan-t1-1-mean-rtt",),
    ),
    Choice(
        place="4, Table 1",
        open="what T0 is",
        tried="case 1: the timer's value 1.00 s, the wait since the fast retransmit 1.76 s (1.76 printed)",
        taken="the wait since the last fast retransmit",
        why="case 1; the other eight cases test it",
        uses=("chan-t1-1-mean-timeout-duration",),
    ),
    Choice(
        place="4, 6",
        open="whether the buffer counts the packet in transmission",
        tried="case 1: no 89724 packets, TD 401, Wf 22.1; yes 88804, 421, 21.1 (89713, 401, 22.00 printed)",
        taken="no",
        why="case 1. Section 4 has a largest window of 21 (the pipe, B and one): the last without loss",
        uses=("chan-t1-1-w-f-rms-max-window", "chan-t1-1-loss-events-triple-dupack"),
    ),
    Choice(
        place="4, 6",
        open="TD, TO, p1 to p3: of what",
        tried="nothing else",
        taken="TD and TO count every one, p1 to p3 are shares of loss events",
        why="case 1 prints TD 401, TO 1 and p1 0.998: 400 of 401 events",
        uses=("chan-t1-1-p1-single-loss", "chan-s4-p1-from"),
    ),
    Choice(
        place="6",
        open="Reno's details",
        tried="case 4: 96 timeouts; limited transmit 103; one fast retransmit in a window 191 (114 printed)",
        taken="ns-2's Reno of the time: a second fast retransmit, no limited transmit, ticks of 0.1 s",
        why="section 4 and Figure 5 describe the second fast retransmit; the rest are ns-2's defaults",
    ),
    Choice(
        place="4, 6",
        open="when rate and delay change",
        tried="nothing else",
        taken="with every packet",
        why="6.2: the most a link carries is one over the mean of 1/x, which is that of packets",
    ),
    Choice(
        place="6.1, 6.2, 6.4",
        open="whether a variance is one",
        tried="HDR, 4 flows: standard deviations gain 46 and 21 % over Reno and SACK, variances 44 and 19 %",
        taken="standard deviations",
        why="section 4 says so of u(a, b)",
    ),
    Choice(
        place="Table 2",
        open="model 2: the right form, or with TD and TO exchanged",
        tried="case 1 as printed, exchanged: 201.9 kbit/s, as printed; in the right form 71 to 89 % too high",
        taken="exchanged, called so; the right form beside",
        why="case 1; the other eight cases test it",
        uses=("chan-t2-1-model2", "chan-t2-1-model2-accuracy"),
    ),
    Choice(
        place="5, Figure 9",
        open="when AckReleaseCount is 0",
        tried=(
            "as printed, at a departure, with 4 packets: 80 kbit/s and 643 timeouts, with an idle release of "
            "ours 152 and 1; whenever the buffer is empty: 159 and 1, with or without it (Study 1)"
        ),
        taken="whenever the buffer is empty",
        why="the text says whenever; as printed small buffers are slower than unregulated, 107 kbit/s",
    ),
    Choice(
        place="5, Figure 8",
        open="the regulator's window behind duplicate ACKs",
        tried="less the duplicates released: rtt 46 % above SACK's at a buffer of 18, else 28 % (48 printed)",
        taken="less the duplicates released",
        why="Figure 7 counts held ACKs by a difference of ACK numbers: a duplicate moves them, too",
        uses=("chan-s63-rtt18",),
    ),
    Choice(
        place="5, Figure 8",
        open="whether QueueLim, in the threshold, counts the packet in transmission",
        tried="yes: 185 kbit/s, TD 309, Wf 24.5; no, as B: 181, 335, 23.1 (184, 302, 24 printed)",
        taken="yes",
        why="Table 3, Figure 13b; no word of the paper's. An ns-2 queue in which ten wait has a limit of 11",
        uses=(
            *_REGULATED_IN_TABLE_3,
            "chan-s61-wf-ar",
            "chan-s63-rtt9",
            "chan-s63-rttx",
            "chan-c26",
        ),
    ),
    Choice(
        place="5",
        open="what ends the wait for data that does not come",
        tried="200 ms, and never: no difference (Study 1)",
        taken="200 ms with an empty buffer",
        why="a box must not hold ACKs for ever",
    ),
    Choice(
        place="6.2, Figure 12b",
        open="the spread of the rate",
        tried="gain over SACK with 5 packets at u(200,20), (200,50), (200,75): 1, 2 and 5 % (40 printed)",
        taken="u(200,75)",
        why="the widest of Figure 12a; none comes near",
    ),
    Choice(
        place="6.6",
        open="the link",
        tried="from 20 to 100 ms Reno loses 2 to 10 %, a regulated flow 2 to 16 %, over six links (Study 2)",
        taken="that of 6.3",
        why="the last link before HDR, and the only one that varies in both",
    ),
    Choice(
        place="6.6",
        open="whether the latency is one way",
        tried="one way: 5.3 and 4.0 % lost; round trip: 2.9 and 3.9 % (1.63 and 2.62 printed; Study 2)",
        taken="one way",
        why="section 6: D, of one wire of Figure 10, is 1 ms except where it is varied",
    ),
    Choice(
        place="6.4, Table 4",
        open="mean SINR",
        tried="0.4 to 5.4 dB (Study 9)",
        taken="2.4 dB",
        why="the rates of Table 4 come out",
        uses=_OF_TABLE_4,
    ),
    Choice(
        place="6.4",
        open="how fast the channel fades",
        tried="10 to 300 Hz (Study 10)",
        taken="a Doppler frequency of 35 Hz",
        why="the totals of 4 and 8 users come out, 800 and 960 kbit/s, and the gains of 4 are the nearest",
        uses=(
            "chan-s65-4-reno",
            "chan-s65-4-sack",
            "chan-s65-rate4",
            "chan-s65-rate8",
            "chan-c30",
        ),
    ),
    Choice(
        place="6.4",
        open="how packets share slots, when a user is chosen",
        tried="for each packet: gains of 46 and 21 % over Reno and SACK, 4 flows; for each slot 44, 18 %",
        taken="for each packet; no slot carries two",
        why="one user's link has 553 kbit/s, and 737 if slots were shared (600 printed)",
        uses=("chan-s64-bw",),
    ),
    Choice(
        place="3, Figure 2",
        open="the delays of the live system",
        tried="nothing else",
        taken="values whose pings have the printed least, mean, 75 and 97 % and most",
        why="only the pings are printed; the download is what they are tested by",
        uses=("chan-s1-ping-lo", "chan-s1-ping-hi", "chan-s3-ping-mean", "chan-f2-75", "chan-f2-3"),
    ),
)
"""In the order of the paper's parts: counts, links, models, regulator, HDR, live system."""

_PIPE = "{} kbit/s in a round trip of 0.2 s, and tests nothing of its own"
DERIVED = {
    "chan-s64-bdp": _PIPE.format(600),
    "chan-s65-bdp4": _PIPE.format(200),
    "chan-s65-bdp8": _PIPE.format(120),
}
"""The values that follow from others, by id."""
