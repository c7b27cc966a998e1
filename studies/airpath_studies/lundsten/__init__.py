"""Lundsten's thesis: TCP over a dedicated channel whose blocks are lost and retransmitted.

How it is read is in `model`; tables, figures, text and claims have files of their own.
"""

from __future__ import annotations

from airpath_studies.base.paper import Paper
from airpath_studies.downloads import link_alone
from airpath_studies.lundsten import at_the_proxy, studies
from airpath_studies.lundsten.choices import CHOICES
from airpath_studies.lundsten.claims import CLAIMS
from airpath_studies.lundsten.figures import FIGURES
from airpath_studies.lundsten.model import DEFAULT_READING, PARAMETERS, READINGS
from airpath_studies.lundsten.not_reproduced import NOT_REPRODUCED
from airpath_studies.lundsten.tables import TABLES
from airpath_studies.lundsten.text import TEXT

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
