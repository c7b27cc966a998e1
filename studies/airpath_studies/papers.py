"""Every paper by its name on the command line; a line for each."""

from __future__ import annotations

from airpath_studies import alcaraz, atlas, chan, extensions, jayanathan, lundsten, zhang
from airpath_studies.base.paper import Paper

PAPERS: dict[str, Paper] = {
    "lundsten": lundsten.PAPER,
    "zhang": zhang.PAPER,
    "chan": chan.PAPER,
    "alcaraz": alcaraz.PAPER,
    "jayanathan": jayanathan.PAPER,
    "extensions": extensions.PAPER,
    "atlas": atlas.PAPER,
}
"""Every paper by its name on the command line."""
