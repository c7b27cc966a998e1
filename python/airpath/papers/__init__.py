"""Papers whose published values airpath sets beside its own, one file and one line per paper."""

from __future__ import annotations

from airpath.papers import lundsten, zhang
from airpath.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    "lundsten": lundsten.PAPER,
    "zhang": zhang.PAPER,
}
"""Every paper by its name on the command line."""
