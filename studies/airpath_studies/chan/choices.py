"""What Chan and Ramjee's paper leaves open, and how it was settled."""

from __future__ import annotations

from airpath_studies.base.choices import Choice
from airpath_studies.chan.measured import RATES
from airpath_studies.chan.tables import rate_id

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
        tried="case 1, not random: every segment, and one in a window, which gives what is printed",
        taken="mean of the samples, one in a window",
        why="case 1; the other eight cases test it",
        uses=("chan-t1-1-mean-rtt",),
    ),
    Choice(
        place="4, Table 1",
        open="what T0 is",
        tried="case 1: the timer's value; the wait since the fast retransmit, which gives what is printed",
        taken="the wait since the last fast retransmit",
        why="case 1; the other eight cases test it",
        uses=("chan-t1-1-mean-timeout-duration",),
    ),
    Choice(
        place="4, 6",
        open="whether the buffer counts the packet in transmission",
        tried="case 1: yes; no, which gives the packets, TD and Wf that are printed",
        taken="no",
        why="case 1. Section 4 has a largest window of twenty-one (pipe, B and one): the last without loss",
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
        tried="limited transmit; one fast retransmit in a window; as taken",
        taken="ns-2's Reno of the time: a second fast retransmit, no limited transmit, ticks of 0.1 s",
        why="section 4 and Figure 5 describe the second fast retransmit; the rest are ns-2's defaults",
    ),
    Choice(
        place="6.4, 6.5",
        open="the least retransmission timer",
        tried="1 s and 0.2 s: no difference from round trips of 400 ms on; with HDR it decides (Study 11)",
        taken="1 s",
        why="ns-2's default of the time; the ticks of 0.1 s follow from T0 of Table 1",
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
        tried="standard deviations, and variances: little difference",
        taken="standard deviations",
        why="section 4 says so of u(a, b)",
    ),
    Choice(
        place="Table 2",
        open="model 2: the right form, or with TD and TO exchanged",
        tried="case 1 as printed, exchanged: what is printed; in the right form far too high",
        taken="exchanged, named as such, and the right form for comparison",
        why="case 1; the other eight cases test it",
        uses=("chan-t2-1-model2", "chan-t2-1-model2-accuracy"),
    ),
    Choice(
        place="5, Figure 9",
        open="when AckReleaseCount is 0",
        tried=(
            "as printed, at a departure, with airpath's idle release and without; whenever the buffer is "
            "empty (Study 1)"
        ),
        taken="whenever the buffer is empty",
        why="the text says whenever; as printed small buffers are slower than unregulated",
    ),
    Choice(
        place="5, Figure 8",
        open="the regulator's window after duplicate ACKs",
        tried="minus the released duplicates, and without that (Study 1)",
        taken="minus the released duplicates",
        why="Figure 7 counts held ACKs by a difference of ACK numbers: a duplicate moves them, too",
        uses=("chan-s63-rtt18",),
    ),
    Choice(
        place="5, Figure 8",
        open="whether QueueLim, in the threshold, counts the packet in transmission",
        tried="yes, and no, as B (Study 1)",
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
        tried="u(200,20), (200,50) and (200,75) (Figure 12)",
        taken="u(200,75)",
        why="the widest of Figure 12a; none comes near",
    ),
    Choice(
        place="6.6",
        open="the link",
        tried="six links (Study 2)",
        taken="that of 6.3",
        why="the last link before HDR, and the only one that varies in both",
    ),
    Choice(
        place="6.6",
        open="whether the latency is one way",
        tried="one way, and round trip (Study 2)",
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
        open="what a slot carries",
        tried="its rate, or a part of a physical-layer packet of 1 to 16 slots (`--explore`)",
        taken="its rate",
        why='the text: "simplified", layer 3 scheduling and packet fragmentation; nothing on radio packets',
    ),
    Choice(
        place="6.4",
        open="how fast the channel fades",
        tried="30 to 50 Hz (`--explore`), 10 to 300 Hz (Study 10)",
        taken="a Doppler frequency of 40 Hz",
        why="the gain of 4 users over Reno comes out; totals, and gains of 1 and 8 users had no say",
        uses=("chan-s65-4-reno", "chan-s65-4-sack"),
    ),
    Choice(
        place="6.4",
        open="for how long a user is chosen",
        tried="for a packet, for a slot (`--explore`)",
        taken="for a packet",
        why="layer 3 scheduling",
    ),
    Choice(
        place="3, Figure 2",
        open="the delays of the live system",
        tried="nothing else",
        taken="values whose pings have the printed least, mean, quantiles and most",
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
    "chan-c10": "a packet that may not overtake waits for the one before, and never arrives sooner",
}
"""The values and claims that follow from others or from the set-up, by id."""
