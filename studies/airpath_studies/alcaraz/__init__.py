"""Alcaraz and Cerdan's paper: ACK rate control and PDPC at the RLC buffer of a 3G bearer.

How it is read is in `paper.toml`, its cells in `model`; figures (and Table 2), text, studies and claims have
files of their own.
"""

from __future__ import annotations

from airpath_studies.alcaraz.claims import CLAIMS
from airpath_studies.alcaraz.figures import FIGURES, TABLE_2
from airpath_studies.alcaraz.measured import link_alone
from airpath_studies.alcaraz.studies import STUDIES
from airpath_studies.alcaraz.text import TEXT
from airpath_studies.base.description import description
from airpath_studies.base.paper import Paper

PAPER = Paper.of(
    description("alcaraz"),
    experiments=(TABLE_2, *FIGURES, TEXT, *STUDIES),
    claims=CLAIMS,
    link_alone=link_alone,
)
