"""Jayanathan, Sirisena and Pawlikowski: the RNC tells a sender what the radio has lost.

How it is read is in `model`; table and text, figures, studies and claims have files of their own.
"""

from __future__ import annotations

from airpath_studies.base.paper import Paper
from airpath_studies.jayanathan.choices import CHOICES
from airpath_studies.jayanathan.claims import CLAIMS, NOT_REPRODUCED
from airpath_studies.jayanathan.figures import FIGURES
from airpath_studies.jayanathan.model import BASE, DEFAULT_READING, PARAMETERS, READINGS
from airpath_studies.jayanathan.studies import STUDIES
from airpath_studies.jayanathan.tables import TABLE_2, TEXT, link_alone

PAPER = Paper(
    name="jayanathan",
    citation=(
        "A. Jayanathan, H. R. Sirisena, K. Pawlikowski, TCP Performance Enhancement over UMTS Network with "
        "RNC Feedback. University of Canterbury, Christchurch"
    ),
    scenario=BASE,
    parameters=PARAMETERS,
    readings=READINGS,
    default_reading=DEFAULT_READING,
    experiments=(TABLE_2, *FIGURES, TEXT, *STUDIES),
    claims=CLAIMS,
    not_reproduced=NOT_REPRODUCED,
    choices=CHOICES,
    derived={"jayanathan-c8": "the cache has the data in flight, and the window of the UE bounds that"},
    link_alone=link_alone,
)
