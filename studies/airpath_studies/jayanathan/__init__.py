"""Jayanathan, Sirisena and Pawlikowski: the RNC tells a sender what the radio has lost.

How it is read is in `paper.toml`, its cells in `model`; table and text, figures, studies and claims have
files of their own.
"""

from __future__ import annotations

from airpath_studies.base.description import description
from airpath_studies.base.paper import Paper
from airpath_studies.jayanathan.claims import CLAIMS
from airpath_studies.jayanathan.figures import FIGURES
from airpath_studies.jayanathan.studies import STUDIES
from airpath_studies.jayanathan.tables import TABLE_2, TEXT, link_alone

PAPER = Paper.of(
    description("jayanathan"),
    experiments=(TABLE_2, *FIGURES, TEXT, *STUDIES),
    claims=CLAIMS,
    link_alone=link_alone,
)
