"""The claims of Alcaraz and Cerdan's paper that do not hold, and which experiment shows it."""

from __future__ import annotations

NOT_REPRODUCED: dict[str, str] = {
    "alcaraz-c2": (
        "the picture is right where it happens, but 44 segments do not fill 50 SDUs by themselves: it "
        "takes SDUs that have arrived and are not acknowledged yet, which few runs have. A larger window "
        "overflows in each run (Study 4), but then neither goodput nor delay is that of Table 2"
    ),
    "alcaraz-c4": (
        "a lower maxth does give less delay, and goodput does fall. A higher maxd/maxth gives less delay "
        "only up to a point, and then more: ACKs that were held long leave together as soon as the buffer"
        " is nearly empty"
    ),
    "alcaraz-c7": (
        "goodput falls most with alpha 1 and with 0.2: with alpha 1, ACKs are held below 10 SDUs too. The"
        " delays of maxth 25 and 45 are furthest apart with 0.5 and 0.2"
    ),
    "alcaraz-c10": (
        "Combined Scheme 2 has fewer SDUs than drop-tail, as claimed, and Combined Scheme 1 too few, "
        "since ACKs are held while the buffer runs empty"
    ),
    "alcaraz-c11": (
        "the best combined scheme of Figures 10 and 11 has hardly more goodput than drop-tail with four "
        "flows. Single ones halve the delay at no loss of goodput, as claimed"
    ),
    "alcaraz-c12": (
        "Combined Scheme 1 has less goodput than drop-tail with one flow and with four: f1 holds ACKs "
        "from the first SDU on, and what is held leaves together and overflows. Combined Scheme 2, with "
        "minth 10, has no less with one flow, and a little less with four"
    ),
    "alcaraz-c13": (
        "ACK rate control has the least goodput of all, and Combined Scheme 1 less than drop-tail. At a "
        "lower maxd/maxth ACK rate control has the most (Study 5)"
    ),
    "alcaraz-c15": (
        "drop-tail and PDPC tie, and Combined Scheme 2 with drop-tail; ACK rate control and Combined "
        "Scheme 1 have less"
    ),
    "alcaraz-c16": ("Combined Scheme 2 has more delay than PDPC, and ACK rate control more than combined 1"),
    "alcaraz-c18": (
        "PDPC's delay grows as claimed, drop-tail's by a little less; that of both combined schemes "
        "grows, too, and ACK rate control's does not fall"
    ),
    "alcaraz-c21": ("BO with PDPC varies less, around about the same mean; the rest is as claimed"),
    "alcaraz-c22": (
        "for nine of ten rows. Conventional RLC with one flow has a wider interval, as runs in which "
        "MaxDAT is reached lose a window of SDUs"
    ),
}
"""Claims that do not hold under the default reading, and why."""
