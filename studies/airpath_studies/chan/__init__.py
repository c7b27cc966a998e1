"""Chan and Ramjee's paper: TCP over links whose rate and delay vary, a model of it, and the Ack Regulator.

How it is read is in `paper.toml`, its cells in `model`; tables, figures, curves, text and claims have files
of their own.
"""

from __future__ import annotations

from airpath_studies.base.description import description
from airpath_studies.base.paper import Paper
from airpath_studies.chan.claims import CLAIMS
from airpath_studies.chan.curves import CURVES
from airpath_studies.chan.figures import FIGURES
from airpath_studies.chan.studies import STUDIES
from airpath_studies.chan.tables import TABLES, link_alone
from airpath_studies.chan.text import TEXT

PAPER = Paper.of(
    description("chan"),
    experiments=(*TABLES, *FIGURES, *CURVES, TEXT, *STUDIES),
    claims=CLAIMS,
    link_alone=link_alone,
)
