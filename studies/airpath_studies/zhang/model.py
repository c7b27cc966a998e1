"""How Zhang's paper is read, and its downloads. The base scenario is `zhang-dch`."""

from __future__ import annotations

from typing import Any

from airpath_studies.base.choices import Reading
from airpath_studies.downloads import Download
from airpath_studies.lundsten.model import READINGS as OF_THE_THESIS

FILE_BYTES = 10_000_000

DEFAULT_READING = "before"
"""60 ms, as printed in Section 2.3: a block returned after three TTIs is available when the fourth begins."""

READINGS = (
    *OF_THE_THESIS,
    Reading(
        "95 ms",
        "60 ms, `before`; 95 ms one way, as up to 105 ms the windows fill an error-free link (2.4)",
        (("wired.delay", "95 ms"),),
    ),
)

# Window limit in segments by speed in kbit/s and packet size in bytes: the printed column, which is swapped.
WINDOWS = {(384, 1500): 15, (384, 576): 22, (144, 1500): 7, (144, 576): 11, (64, 1500): 6, (64, 576): 9}

PARAMETERS = (
    ("Network", "75 ms one way, infinite rate, no loss; the radio link adds no propagation delay"),
    ("Downlink", "384, 144 or 64 kbit/s; one block fills a TTI of 20 ms; out-of-sequence delivery"),
    ("Block errors", "10 % of all transmissions, independent; no limit of retransmissions"),
    ("Uplink", "64 kbit/s, ACKs whole, no errors; all queues unlimited"),
    ("TCP", "New-Reno, initial window 2, delayed ACKs, timestamps, connection set-up; ns-2's halving"),
    ("Windows", "the printed column belongs to the other packet size: 22, 11 and 9 segments of 576 bytes"),
    ("File", "10,000,000 bytes with headers"),
    ("Increase", "transfer time at 10 % over that at 0 % block errors, both simulated, minus one"),
    ("Column 0 % BLER", "read as the increase with a tenth of the time, for retransmitted blocks, taken off"),
)


def make_download(rate_kbps: int, packet_bytes: int, **differs: Any) -> Download:
    """Make a download of the paper."""
    window = WINDOWS[rate_kbps, packet_bytes]
    return Download(rate_kbps, packet_bytes, window, FILE_BYTES, timestamps=True, **differs)


CELLS = {key: make_download(*key).against_no_errors() for key in WINDOWS}
"""The six downloads of Figure 5."""
