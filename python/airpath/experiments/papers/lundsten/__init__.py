"""Lundsten's thesis: TCP over a dedicated channel whose blocks are lost and retransmitted.

How it is read is in `model`; tables, figures, text and claims have files of their own.
"""

from __future__ import annotations

from airpath.experiments.papers.base.paper import Paper
from airpath.experiments.papers.downloads import link_alone
from airpath.experiments.papers.lundsten import at_the_proxy, studies
from airpath.experiments.papers.lundsten.choices import CHOICES
from airpath.experiments.papers.lundsten.claims import CLAIMS
from airpath.experiments.papers.lundsten.figures import FIGURES
from airpath.experiments.papers.lundsten.model import DEFAULT_READING, PARAMETERS, READINGS
from airpath.experiments.papers.lundsten.not_reproduced import NOT_REPRODUCED
from airpath.experiments.papers.lundsten.tables import TABLES
from airpath.experiments.papers.lundsten.text import TEXT

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

PAPER = Paper(
    name="lundsten",
    citation="E. Lundsten, Improving 3G Performance for the Mobile Internet. Master's thesis, KTH, Stockholm",
    scenario="lundsten-dch",
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(*TABLES, *FIGURES, TEXT, *STUDIES),
    claims=CLAIMS,
    not_reproduced=NOT_REPRODUCED,
    choices=CHOICES,
    derived={"lundsten-c4": "the link sends a tenth of its blocks again, whatever TCP does"},
    link_alone=link_alone,
)
