"""Chan and Ramjee's paper: TCP over links whose rate and delay vary, a model of it, and the Ack Regulator.

How it is read is in `model`; tables, figures, curves, text and claims have files of their own.
"""

from __future__ import annotations

from airpath.papers.chan.choices import CHOICES
from airpath.papers.chan.claims import CLAIMS
from airpath.papers.chan.curves import CURVES
from airpath.papers.chan.figures import FIGURES
from airpath.papers.chan.measured import BASE
from airpath.papers.chan.model import DEFAULT_READING, PARAMETERS, READINGS
from airpath.papers.chan.not_reproduced import NOT_REPRODUCED
from airpath.papers.chan.sensitivity import SENSITIVITY
from airpath.papers.chan.studies import STUDIES
from airpath.papers.chan.tables import TABLES
from airpath.papers.chan.text import TEXT
from airpath.papers.paper import Paper

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
    experiments=(*TABLES, *FIGURES, *CURVES, TEXT, *STUDIES, *SENSITIVITY),
    claims=CLAIMS,
    not_reproduced=NOT_REPRODUCED,
    choices=CHOICES,
)
