"""The claims of Lundsten's thesis that do not hold, and which experiment shows it."""

from __future__ import annotations

_NO_TIMEOUTS = (
    "no timeout in any run in sequence (field `timeouts`), nor with a minimum of 10 ms and ticks of 10 ms "
    "for the retransmission timer (Study 5)"
)

NOT_REPRODUCED: dict[str, str] = {
    "lundsten-c5": (
        "128/1500 loses nothing, as claimed, the other two less. A block that misses the slot half of the"
        " time, for which the text has no word, comes nearer (reading 'probability 0.5')"
    ),
    "lundsten-c6": (
        "once a fast retransmit has ended the first slow start, the window hardly ever gets back to 25: "
        "it grows by one segment per round trip and is halved before it is there"
    ),
    "lundsten-c9": (
        "the increase is at the floor; in about one run of twenty (in one of two under reading 'after') a"
        " block is lost so often that three packets overtake it: one fast retransmit in a whole file"
    ),
    "lundsten-c11": (
        "384/576 does not fill the bearer: 25 segments last 300 ms, and the round trip with whole TTIs is"
        " longer; the other five cells fill the link"
    ),
    "lundsten-c12": (
        "Westwood and Eifel tie, as claimed, and come out better than in the thesis; so does in-sequence "
        "delivery, as there are no timeouts; split TCP and Reno stand in the published order"
    ),
    "lundsten-c13": (
        "both retransmit often, as the thesis says, but retransmitted segments make up four tenths of "
        "Eifel's excess over the floor, and a quarter with Westwood"
    ),
    "lundsten-c14": (
        "Westwood, Eifel and split TCP tie at 12 %, as claimed; in sequence 384/1500 is at the floor, and"
        " Reno has less than 25 %"
    ),
    "lundsten-c15": ("in sequence 128/576 is a little above the floor; all ranges hold"),
    "lundsten-c18": (
        "as lundsten-c12: Eifel and Westwood are alike, as claimed, but in-sequence delivery is ahead of "
        "both, as it has no timeouts"
    ),
    "lundsten-c19": f"no fast retransmits, as claimed, but {_NO_TIMEOUTS}",
    "lundsten-c20": (
        "384/576 is above 180 % and the order of the first four holds; 384/1500 and 128/576 stay below "
        "it, and 64 kbit/s ties with 128/1500 at the floor"
    ),
    "lundsten-c21": ("three of the four are worse; 128/1500 ties"),
    "lundsten-c23": (
        "all except one: at 64/1500 both are at the floor, as in Tables 14 and 15 themselves (11 and 11)"
    ),
    "lundsten-c24": (f"384/576 has less than claimed, with {_NO_TIMEOUTS}; 384/1500 has more"),
    "lundsten-c25": f"no fast retransmits, as claimed, but {_NO_TIMEOUTS}",
    "lundsten-c26": (
        "split TCP is best, as claimed; Reno, Westwood and Eifel tie near the published value of Eifel, "
        f"with {_NO_TIMEOUTS}"
    ),
    "lundsten-c29": (
        f"the timeout is longer in relation to split TCP's round trip, as claimed, but {_NO_TIMEOUTS}, "
        "split or not"
    ),
    "lundsten-c30": (
        "the two tie where fast retransmits rule, as claimed; without timeouts they tie in sequence, too"
    ),
    "lundsten-c33": (
        "64 kbit/s reaches less of the bearer; Section 5.4.2 compares with an initial window of 1, and a "
        "larger one would reach more; the rest is as claimed"
    ),
    "lundsten-c40": (
        "384/1500 saves several times as much; the published value stands below that of smaller packets, "
        "against the thesis' own remark that large packets gain more"
    ),
    "lundsten-c43": (
        "large packets win at 384 and 128 kbit/s; at 64 kbit/s the sizes tie at the floor. The "
        "thesis' tables contradict it there, too: 11.4 against 11.1 (Table 3), 11.6 against 11.5 (Table"
        " 9)"
    ),
    "lundsten-c44": (
        "so at 384 kbit/s, where the thesis' Table 13 has the reverse; at 128 kbit/s the gains tie, or small "
        "packets gain more, as in four of the thesis' own eight pairs"
    ),
}
"""Claims that do not hold under the default reading, and why."""
