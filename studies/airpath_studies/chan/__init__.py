"""Chan and Ramjee's paper: TCP over links whose rate and delay vary, a model of it, and the Ack Regulator.

How it is read is in `model`; tables, figures, curves, text and claims have files of their own.
"""

from __future__ import annotations

from airpath_studies.base.paper import Paper
from airpath_studies.chan.choices import CHOICES, DERIVED
from airpath_studies.chan.claims import CLAIMS
from airpath_studies.chan.curves import CURVES
from airpath_studies.chan.figures import FIGURES
from airpath_studies.chan.measured import BASE
from airpath_studies.chan.model import DEFAULT_READING, PARAMETERS, READINGS
from airpath_studies.chan.not_reproduced import NOT_REPRODUCED
from airpath_studies.chan.studies import STUDIES
from airpath_studies.chan.tables import TABLES, link_alone
from airpath_studies.chan.text import TEXT

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
