"""Chan and Ramjee's paper: TCP over links whose rate and delay vary, a model of it, and the Ack Regulator.

How it is read is in `model`; tables, figures, curves, text and claims have files of their own.
"""

from __future__ import annotations

from airpath.experiments.papers.base.paper import Paper
from airpath.experiments.papers.chan.choices import CHOICES, DERIVED
from airpath.experiments.papers.chan.claims import CLAIMS
from airpath.experiments.papers.chan.curves import CURVES
from airpath.experiments.papers.chan.figures import FIGURES
from airpath.experiments.papers.chan.measured import BASE
from airpath.experiments.papers.chan.model import DEFAULT_READING, PARAMETERS, READINGS
from airpath.experiments.papers.chan.not_reproduced import NOT_REPRODUCED
from airpath.experiments.papers.chan.studies import STUDIES
from airpath.experiments.papers.chan.tables import TABLES, link_alone
from airpath.experiments.papers.chan.text import TEXT

PAPER = Paper(
    name="chan",
    citation=(
        "M. C. Chan, R. Ramjee, TCP/IP Performance over 3G Wireless Links with Rate and Delay Variation. "
        "MobiCom 2002, Atlanta"
    ),
    scenario=BASE,
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(*TABLES, *FIGURES, *CURVES, TEXT, *STUDIES),
    claims=CLAIMS,
    not_reproduced=NOT_REPRODUCED,
    choices=CHOICES,
    derived=DERIVED,
    link_alone=link_alone,
)
