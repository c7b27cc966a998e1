"""Lundsten's thesis: TCP over a dedicated channel whose blocks are lost and sent again.

How it is read is in `lundsten_model`; tables, figures, text and claims have files of their own.
"""

from __future__ import annotations

from airpath.papers.lundsten_claims import CLAIMS
from airpath.papers.lundsten_figures import FIGURES
from airpath.papers.lundsten_model import DEFAULT_READING, PARAMETERS, READINGS
from airpath.papers.lundsten_not_reproduced import NOT_REPRODUCED
from airpath.papers.lundsten_tables import TABLES
from airpath.papers.lundsten_text import TEXT
from airpath.papers.paper import Paper

PAPER = Paper(
    name="lundsten",
    citation="E. Lundsten, Improving 3G Performance for the Mobile Internet. Master's thesis, KTH, Stockholm",
    scenario="lundsten-dch",
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(*TABLES, *FIGURES, TEXT),
    claims=CLAIMS,
    not_reproduced=NOT_REPRODUCED,
)
