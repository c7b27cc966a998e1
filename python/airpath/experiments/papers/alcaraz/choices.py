"""What Alcaraz and Cerdan's paper leaves open, and how it was settled; figures in kbit/s and seconds."""

from __future__ import annotations

from airpath.experiments.papers.base.choices import Choice

CHOICES = (
    Choice(
        place="3, 3.3, Figure 3",
        open="how ACKs leave that need no delay",
        tried="as printed: 190 to 262 kbit/s; one in a TTI: 253 to 290; all at once: 250 to 292",
        taken="all at once",
        why=(
            "the text: no measure below minth (3), no additional delay with f2 = 0 (3.3); as printed ACKs "
            "wait with no timer on, though the branch for arrivals supposes that it is on while any wait"
        ),
    ),
    Choice(
        place="2, Figure 3",
        open="which SDUs ACK rate control counts",
        tried="BO, not acknowledged: 250 to 292 kbit/s; those of which nothing has been sent: 264 to 306",
        taken="BO, the same as PDPC",
        why="an SDU is stored until it is acknowledged (2), and Figure 3 has one BO",
    ),
    Choice(
        place="6",
        open="maxth of both combined schemes",
        tried="35: 271 and 0.49, 291 and 0.61 with one flow; 40: 274 and 0.53, 292 and 0.68",
        taken="40",
        why="rule 1 has 35 or 40; times 10 ms/SDU, 40 gives the 400 ms of rule 3",
        uses=("alcaraz-s5-tid-high", "alcaraz-c9"),
    ),
    Choice(
        place="6",
        open="maxth of ACK rate control alone",
        tried="40: 267 and 0.78, 248 and 0.81 with four flows; 50: 267 and 0.78, 250 and 0.81",
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
        tried="10, as in f1: 292 and 0.68, 286 and 0.83 with four flows; 0: 291 and 0.68, 285 and 0.83",
        taken="10",
        why="makes no difference",
    ),
    Choice(
        place="3.2, 6",
        open="whether BO at the drop counts the SDU that comes",
        tried="no: 284 and 0.50, 301 and 0.76; yes: 284 and 0.49, 301 and 0.74",
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
        tried="OMNeT++'s: 289 and 0.90, 296 and 1.08; RFC 5681 and 6582: 293 and 0.94, 289 and 1.13",
        taken="OMNeT++'s",
        why="it is the paper's simulator",
    ),
    Choice(
        place="Table 1",
        open="what happens at maxDAT",
        tried="SDUs discarded: 289 and 296; the link reset: 279 and 292; never reached: 292 and 297",
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
        open="packets in 64 kbytes, which are 43.7",
        tried="44: 289 and 0.90; 48: 269 and 0.73; 64: 266 and 0.70",
        taken="44",
        why="the nearest whole number",
    ),
    Choice(
        place="2",
        open="delay of a packet that TCP sends again",
        tried="of what arrives: 0.90 and 1.08 s; from the first transmission until in order: 0.98 and 1.50",
        taken="of what arrives",
        why="it is the transfer time of a packet",
    ),
    Choice(
        place="4, [14]",
        open="what a bad step of the channel loses",
        tried="a TTI, in bursts: 289 and 0.90; each TTI by itself: 325 and 1.27; each PDU: 326 and 1.32",
        taken="all of a TTI, in bursts",
        why="errors come in bursts, and FER is that of radio frames of 10 ms (4)",
    ),
    Choice(
        place="4",
        open="where the 25 ms one way begin",
        tried="at the start of a TTI: 289 and 0.90; at its end: 286 and 0.89",
        taken="at its start",
        why="RTT_w is 50 ms from end to end",
    ),
)
"""In the order of their weight."""
