"""Alcaraz and Cerdan's paper: ACK rate control and PDPC at the RLC buffer of a 3G bearer.

How it is read is in `model`, what it leaves open in `choices`; figures (and Table 2), text, studies and
claims have files of their own.
"""

from __future__ import annotations

from airpath_studies.alcaraz.choices import CHOICES
from airpath_studies.alcaraz.claims import CLAIMS
from airpath_studies.alcaraz.figures import FIGURES, TABLE_2
from airpath_studies.alcaraz.measured import link_alone
from airpath_studies.alcaraz.model import BASE, CONFIDENCE, DEFAULT_READING, PARAMETERS, READINGS
from airpath_studies.alcaraz.not_reproduced import NOT_REPRODUCED
from airpath_studies.alcaraz.studies import STUDIES
from airpath_studies.alcaraz.text import TEXT
from airpath_studies.base.paper import Paper

PAPER = Paper(
    name="alcaraz",
    citation=(
        "J. J. Alcaraz, F. Cerdán, Combining ACK Rate Control and AQM to Enhance TCP Performance over 3G "
        "Links. PM2HW2N 2006, Torremolinos"
    ),
    scenario=BASE,
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(TABLE_2, *FIGURES, TEXT, *STUDIES),
    claims=CLAIMS,
    not_reproduced=NOT_REPRODUCED,
    confidence=CONFIDENCE,
    choices=CHOICES,
    derived={
        "alcaraz-s5-tid-low": "12.5 ms per SDU, taken from the paper, times 10 SDUs, and tests nothing",
        "alcaraz-c3": "Equation 1, whatever is sent: t_id at an occupancy is computed from alpha alone",
    },
    link_alone=link_alone,
)
