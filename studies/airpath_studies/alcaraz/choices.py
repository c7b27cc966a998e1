"""What Alcaraz and Cerdan's paper leaves open, and how it was settled."""

from __future__ import annotations

from airpath_studies.base.choices import Choice

CHOICES = (
    Choice(
        place="3, 3.3, Figure 3",
        open="how ACKs leave that need no delay",
        tried="as printed, one in a TTI, all at once: the table of readings, and `--explore`",
        taken="all at once",
        why=(
            "the text: no measure below minth (3), no additional delay with f2 = 0 (3.3); as printed ACKs "
            "wait with no timer on, though the branch for arrivals supposes that it is on while any wait"
        ),
    ),
    Choice(
        place="2, Figure 3",
        open="which SDUs ACK rate control counts",
        tried="BO, not acknowledged; only unstarted SDUs: the same table",
        taken="BO, the same as PDPC",
        why="an SDU is stored until it is acknowledged (2), and Figure 3 has one BO",
    ),
    Choice(
        place="3.3, Figure 3",
        open="what lets go of an ACK that the printed pseudocode strands",
        tried="`idle_release` of 100 ms to 1 s (`--explore`): with the printed release it decides",
        taken="1 s, and a release that strands none",
        why="the paper has no such timer: a reading that needs one rests on airpath's own parameter",
    ),
    Choice(
        place="6",
        open="maxth of both combined schemes",
        tried="35 and 40",
        taken="40",
        why="rule 1 has 35 or 40; times a ratio of 10, 40 gives the 400 ms of rule 3",
        uses=("alcaraz-s5-tid-high", "alcaraz-c9"),
    ),
    Choice(
        place="6",
        open="maxth of ACK rate control alone",
        tried="40 and 50: no difference",
        taken="50",
        why="it is at least the buffer (6)",
    ),
    Choice(
        place="5, 6",
        open="unit of maxd/maxth",
        tried="nothing else",
        taken="ms per SDU",
        why="with seconds or bytes nothing would move, or nothing be delayed",
    ),
    Choice(
        place="3.4, 6",
        open="minth of f2, Combined Scheme 2",
        tried="10, as in f1, and 0",
        taken="10",
        why="makes no difference",
    ),
    Choice(
        place="3.2, 6",
        open="whether BO at the drop counts the SDU that comes",
        tried="no and yes: hardly any difference",
        taken="no",
        why="else a maxth of the buffer's size would still drop, which section 6 says it does not",
    ),
    Choice(
        place="Figure 3",
        open="unit of Counter",
        tried="nothing else: all SDUs have 1500 bytes",
        taken="bytes",
        why="SDU sizes are taken from it",
    ),
    Choice(
        place="4",
        open="details of Reno",
        tried="that of INET, RFC 5681 and 6582: little difference",
        taken="that of INET, a library of OMNeT++",
        why="nothing tells: the paper says that it has a complete TCP of its own in OMNeT++",
    ),
    Choice(
        place="Table 1",
        open="what happens at maxDAT",
        tried="SDUs discarded, the link reset, never reached",
        taken="SDUs discarded",
        why="Table 1 has nothing about resets, neither their timer nor their number",
    ),
    Choice(
        place="Table 1",
        open="when timers of RLC start",
        tried="all as a transmission begins: polls without end, and no queue without errors",
        taken="the UE's at its end, the network's at its beginning",
        why="TS 25.322, 9.5",
    ),
    Choice(
        place="Table 1",
        open="packets in 64 kbytes, which are no whole number",
        tried="44, 48, 64 (Study 4)",
        taken="44",
        why="the nearest whole number",
    ),
    Choice(
        place="2",
        open="delay of a packet that TCP retransmits",
        tried="of the transmission that arrives; from the first transmission until in order",
        taken="of the transmission that arrives",
        why="it is the transfer time of a packet",
    ),
    Choice(
        place="4, [14]",
        open="what a bad step of the channel loses",
        tried="a TTI, in bursts; each TTI by itself; each PDU",
        taken="all of a TTI, in bursts",
        why="errors come in bursts, and FER is that of radio frames of 10 ms (4)",
    ),
    Choice(
        place="4",
        open="where the 25 ms one way begin",
        tried="at the start of a TTI; at its end",
        taken="at its start",
        why="RTT_w is 50 ms from end to end",
    ),
)
"""In the order of their weight."""
