"""Lundsten's thesis: TCP over a dedicated channel whose blocks are lost and retransmitted.

How it is read is in `paper.toml`, its downloads are in `shared/`; tables, figures, text and claims have
files of their own.
"""

from __future__ import annotations

from airpath_studies.base.description import description
from airpath_studies.base.paper import Paper
from airpath_studies.lundsten import at_the_proxy, studies
from airpath_studies.lundsten.claims import CLAIMS
from airpath_studies.lundsten.figures import FIGURES
from airpath_studies.lundsten.tables import TABLES
from airpath_studies.lundsten.text import TEXT
from airpath_studies.shared.downloads import link_alone

STUDIES = (
    studies.EIFEL_RESPONSE,
    at_the_proxy.SNOOP,
    studies.T_TCP,
    studies.SACK,
    studies.TIMERS,
    studies.ASYMMETRY,
    at_the_proxy.PROXY,
    studies.SINGLE_PDUS,
    studies.UPLINK,
    studies.FASTER_LINK,
    studies.PREMATURE,
)

PAPER = Paper.of(
    description("lundsten"),
    experiments=(*TABLES, *FIGURES, TEXT, *STUDIES),
    claims=CLAIMS,
    link_alone=link_alone,
)
