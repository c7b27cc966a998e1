"""The downloads of Zhang's paper. The base scenario is `zhang-dch`."""

from __future__ import annotations

from typing import Any

from airpath_studies.shared.downloads import Download

FILE_BYTES = 10_000_000

# Window limit in segments by speed in kbit/s and packet size in bytes: the printed column, which is swapped.
WINDOWS = {(384, 1500): 15, (384, 576): 22, (144, 1500): 7, (144, 576): 11, (64, 1500): 6, (64, 576): 9}


def make_download(rate_kbps: int, packet_bytes: int, **differs: Any) -> Download:
    """Make a download of the paper."""
    window = WINDOWS[rate_kbps, packet_bytes]
    return Download(rate_kbps, packet_bytes, window, FILE_BYTES, timestamps=True, **differs)


CELLS = {key: make_download(*key).against_no_errors() for key in WINDOWS}
"""The six downloads of Figure 5."""
