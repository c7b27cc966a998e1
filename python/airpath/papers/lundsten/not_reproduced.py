"""The claims of Lundsten's thesis that do not hold, and which experiment shows it."""

from __future__ import annotations

_NO_TIMEOUTS = (
    "no timeout in any run in sequence (field `timeouts`), nor with a minimum of 10 ms and ticks of 10 ms "
    "for the retransmission timer"
)

NOT_REPRODUCED: dict[str, str] = {
    "lundsten-c6": (
        "once a fast retransmit has ended the first slow start, the window hardly ever gets back to 25: "
        "it grows by one segment per round trip and is halved every 40 segments or so"
    ),
    "lundsten-c9": (
        "the increase is at the floor; in about one run of six (in one of two under reading 'after') a "
        "block is lost so often that three packets overtake it: one fast retransmit among more than "
        "10,000 segments"
    ),
    "lundsten-c11": (
        "384/576 reaches 95 % of the bearer: 25 segments last 300 ms, and the round trip with whole TTIs "
        "is 315; the other five cells fill the link"
    ),
    "lundsten-c12": (
        "in-sequence delivery comes out better (22 %) than in the thesis (53 %), as there are no "
        "timeouts, and so does Eifel (24 beside 34 %); Westwood, split TCP and Reno stand in the "
        "published order"
    ),
    "lundsten-c13": (
        "both retransmit often, as the thesis says, but segments sent again make up a third of what Eifel"
        " leaves above the floor, and a ninth with Westwood"
    ),
    "lundsten-c15": "in sequence 128/576 is 1.7 points above the floor; all ranges hold",
    "lundsten-c18": (
        "as lundsten-c12: in-sequence delivery is fastest, as it has no timeouts, and Eifel is ahead of "
        "Westwood"
    ),
    "lundsten-c19": f"no fast retransmits, as claimed, but {_NO_TIMEOUTS}",
    "lundsten-c20": (
        "384/576 is above 180 % and the order of the first four holds; 384/1500 and 128/576 stay at 96 "
        "and 61 %, and 64 kbit/s ties with 128/1500 at the floor"
    ),
    "lundsten-c24": f"384/576 has 51 %, with {_NO_TIMEOUTS}; 384/1500 has 21 %",
    "lundsten-c25": f"no fast retransmits, as claimed, but {_NO_TIMEOUTS}",
    "lundsten-c26": (
        "split TCP is best, as claimed; Reno, Westwood and Eifel tie at 51 %, which is the published "
        f"value of Eifel, with {_NO_TIMEOUTS}"
    ),
    "lundsten-c29": (
        f"the timeout is longer in relation to split TCP's round trip, as claimed, but {_NO_TIMEOUTS}, "
        "split or not"
    ),
    "lundsten-c30": (
        "without timeouts the two tie in sequence, and out of sequence Eifel is 10 points better"
    ),
    "lundsten-c33": (
        "64 kbit/s reaches 94 and 95 % of the bearer; an initial window of 2 would give the published "
        "speeds, but Section 5.4.2 compares with a window of 1; the rest is as claimed"
    ),
    "lundsten-c40": (
        "384/1500 saves 7 %; the published 2 % stands below the 3.4 % of smaller packets, against the "
        "thesis' own remark that large packets gain more"
    ),
}
"""Claims that do not hold under the default reading, and why."""
