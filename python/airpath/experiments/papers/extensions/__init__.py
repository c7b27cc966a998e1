"""What Lundsten and Zhang leave open, simulated: one study per question, in the models of their papers.

Nothing here is published; what the studies show is stated as claims, which are checked like those of a paper.
"""

from __future__ import annotations

from airpath.experiments.papers.base.paper import Paper
from airpath.experiments.papers.extensions.at_the_rnc import (
    RNC_CLAIMS,
    RNC_GOODPUT,
    RNC_SENT_AGAIN,
    RNC_TIMEOUTS,
)
from airpath.experiments.papers.extensions.capacity import CAPACITY, CAPACITY_CLAIMS
from airpath.experiments.papers.extensions.claims import CLAIMS
from airpath.experiments.papers.extensions.hand_over import HANDOVER
from airpath.experiments.papers.extensions.pages import PAGES
from airpath.experiments.papers.extensions.remedies import PLACEMENT, SMALL_FILES, THRESHOLD
from airpath.experiments.papers.extensions.settings import DELAYED_ACK, ERROR_RATES, TTI, UPLINK, ZHANG_SMALL
from airpath.experiments.papers.extensions.users import USERS
from airpath.experiments.papers.lundsten.model import DEFAULT_READING, PARAMETERS, READINGS

PAPER = Paper(
    name="extensions",
    citation="What Lundsten's thesis and Zhang's paper leave open, in their models",
    scenario="lundsten-dch",
    parameters=PARAMETERS,
    readings=tuple(reading for reading in READINGS if reading.name == DEFAULT_READING),
    default_reading=DEFAULT_READING,
    experiments=(
        SMALL_FILES,
        PLACEMENT,
        ERROR_RATES,
        UPLINK,
        TTI,
        DELAYED_ACK,
        THRESHOLD,
        ZHANG_SMALL,
        USERS,
        PAGES,
        RNC_GOODPUT,
        RNC_SENT_AGAIN,
        RNC_TIMEOUTS,
        HANDOVER,
        CAPACITY,
    ),
    claims=(*CLAIMS, *RNC_CLAIMS, *CAPACITY_CLAIMS),
)
