"""The downloads of Lundsten's thesis, and its remedies.

The base scenario is `lundsten-dch`. Increases are of the transfer time over that of an error-free bearer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from airpath_studies.base.cell import Cell, Overrides
from airpath_studies.shared.downloads import Download, Key

LARGE_FILE_BYTES, SMALL_FILE_BYTES = 16_000_000, 100_000

# Window limit in segments, as in Table 3.
WINDOWS = {(384, 576): 25, (384, 1500): 14, (128, 576): 11, (128, 1500): 7, (64, 576): 9, (64, 1500): 6}

SIX: tuple[Key, ...] = tuple(WINDOWS)
"""All downloads of Table 3."""

THREE = WORST, FAST, MIDDLE = SIX[:3]
"""The downloads that suffer; 384/576 suffers most."""


def make_download(
    rate_kbps: int, packet_bytes: int, file_bytes: int = LARGE_FILE_BYTES, **differs: Any
) -> Download:
    """Make a download of the thesis: what is not said is as in Table 3."""
    window = WINDOWS[rate_kbps, packet_bytes]
    return Download(rate_kbps, packet_bytes, window, file_bytes, **differs)


def eifel(response: str, *, variant: str = "Eifel") -> dict[str, Any]:
    """Make Eifel with a response; the file has as many packets of the same size as without timestamps."""
    options = (("tcp.timestamps", "true"), ("tcp.undo.eifel", f"{{ response = '{response}' }}"))
    return {"variant": variant, "timestamps": True, "options": options}


EIFEL = eifel("restore")
"""After a spurious recovery the window is as it was before (Section 3.1.4)."""

WESTWOOD: dict[str, Any] = {"variant": "Westwood", "options": (("tcp.cc.westwood", "{}"),)}
"""The algorithm of 2001, with the filter that follows the time between ACKs."""

SMALL_PDUS: dict[str, Any] = {"small_pdus": True, "in_sequence": True}
"""PDUs of 40 bytes and in-sequence delivery, as in Table 15."""

DELAY_MS = 135
"""One way between server and cell."""

SPLIT_DELAY_MS = 30
"""Split TCP, as the thesis approximates it: one way between proxy and cell."""


def beside_reno(rate_kbps: int, packet_bytes: int, variant: dict[str, Any], **differs: Any) -> Cell:
    """Compare a variant of TCP with Reno without block errors."""
    reno = make_download(rate_kbps, packet_bytes, **differs)
    return make_download(rate_kbps, packet_bytes, **differs, **variant).against_no_errors(reno)


def with_options(*options: tuple[str, str]) -> Callable[[Key], Cell]:
    """Compare a download under changed conditions with the same download without block errors."""
    return lambda key: make_download(*key, options=options).against_no_errors()


def of_variant(**variant: Any) -> Callable[[Key], Cell]:
    """Compare a variant of TCP with Reno without block errors."""
    return lambda key: beside_reno(*key, variant)


def split_box(
    rate_kbps: int,
    packet_bytes: int,
    file_bytes: int = LARGE_FILE_BYTES,
    *,
    radio_side_ms: int = SPLIT_DELAY_MS,
    proxy: str = "",
    options: Overrides = (),
    **differs: Any,
) -> Download:
    """A download through a proxy so far from the cell that really splits it; `proxy`: further keys."""
    more = f", {proxy}" if proxy else ""
    box = ("middlebox", f'[{{ split = {{ delay = "{radio_side_ms} ms"{more} }} }}]')
    return make_download(
        rate_kbps,
        packet_bytes,
        file_bytes,
        delay_ms=DELAY_MS - radio_side_ms,
        variant=f"split {radio_side_ms} ms from the cell{more}",
        options=(*options, box),
        **differs,
    )


def initial_window_cell(rate_kbps: int, packet_bytes: int, file_bytes: int, segments: int) -> Cell:
    """Compare an initial window with one segment, at 10 % block errors."""
    download = make_download(rate_kbps, packet_bytes, file_bytes, initial_window=segments)
    # At 384/576 one fast retransmit more or less outweighs what the window saves.
    runs = 1000 if (rate_kbps, packet_bytes) == WORST else 1
    return replace(download.against_initial_window_1(), runs=runs)


CELLS = {key: make_download(*key).against_no_errors() for key in SIX}
