"""What Zhang's paper leaves open, and how it was settled."""

from __future__ import annotations

from airpath_studies.base.choices import Choice
from airpath_studies.zhang.model import WINDOWS

CHOICES = (
    Choice(
        "2.2",
        "delay of the network",
        "20 to 135 ms (Study 1); with the return of a block (`--explore`)",
        "75 ms one way",
        "the thesis' figure for the Internet; taken, and not its 135 ms, because these values are near. By "
        "Section 2.4 up to 105 ms would do: 95 ms is shown, too",
        ("zhang-f5-384-576-bler10", "zhang-f5-384-1500-bler10", "zhang-f5-144-576-bler10"),
    ),
    Choice(
        "Figure 5, column 0 %",
        "what the column is, as an increase over itself would be 0",
        "an error-free link (0); nine tenths of the time of the other column",
        "the other column, a tenth of the time taken off",
        "all of its values but one are this, within a point; 179.9 is further off",
    ),
    Choice(
        "2.4, Figure 5",
        "window limits: text and table have packet sizes swapped",
        "as in the table, 384/576 could not fill the bearer with 15 segments",
        "22, 15, 11, 7 segments as in the text; 9 and 6 at 64 kbit/s, as in the thesis",
        "the text names bearer and packet size; what sets a limit cannot test it",
        (
            "zhang-s24-win-384-576",
            "zhang-s24-win-384-1500",
            "zhang-s24-win-144-576",
            "zhang-s24-win-144-1500",
        ),
    ),
    Choice(
        "2.3",
        "slot of a block that is back after just three TTIs",
        "all four readings, below",
        "`before`: it catches the slot",
        "the other readings make 60 ms 80, or either at random; no value was used",
    ),
    Choice(
        "2.2",
        "rate of the uplink",
        "other rates in the thesis' model (its Study 9): no difference",
        "64 kbit/s",
        "the slowest bearer of the paper",
    ),
    Choice(
        "2.3",
        "settings by [1], RFC 3481",
        "nothing else",
        "initial window 2, ACKs for every second segment, timestamps, set-up, 3 s as first timeout",
        "Section 2.3 lists them",
    ),
    Choice("2.5", "10 Mbytes", "nothing else", "10,000,000 bytes, headers included", "as in the thesis"),
)
"""All of them."""

DERIVED = {
    f"zhang-f5-{rate}-{packet}-bler0": (
        "follows from the 10 % column, a tenth of its time taken off, and tests nothing of its own"
    )
    for rate, packet in WINDOWS
}
"""The column 0 % BLER, by id."""
