"""What Lundsten and Zhang leave open, simulated: one study per question, in their models or on HSDPA and LTE.

Nothing here is published; what the studies show is stated as claims, which are checked like those of a paper.
"""

from __future__ import annotations

from dataclasses import replace

from airpath_studies.base.description import description
from airpath_studies.base.paper import Paper
from airpath_studies.extensions import at_the_rnc, remedies, settings
from airpath_studies.extensions.ack_rate import ACK_RATE, ACK_RATE_CLAIMS
from airpath_studies.extensions.ack_regulator import ACK_REGULATOR, ACK_REGULATOR_CLAIMS
from airpath_studies.extensions.activity import ACTIVITY, ACTIVITY_CLAIMS
from airpath_studies.extensions.capacity import CAPACITY, CAPACITY_CLAIMS
from airpath_studies.extensions.claims import CLAIMS
from airpath_studies.extensions.feedback import FEEDBACK, FEEDBACK_CLAIMS
from airpath_studies.extensions.hand_over import HANDOVER
from airpath_studies.extensions.hsdpa import HSDPA, HSDPA_CLAIMS
from airpath_studies.extensions.media import MEDIA, MEDIA_CLAIMS
from airpath_studies.extensions.pages import PAGES
from airpath_studies.extensions.paths import PATHS, PATHS_CLAIMS
from airpath_studies.extensions.users import USERS
from airpath_studies.extensions.utilisation import UTILISATION, UTILISATION_CLAIMS

PAPER = Paper.of(
    replace(description("extensions"), parameters=description("lundsten").parameters),
    experiments=(
        remedies.SMALL_FILES,
        remedies.PLACEMENT,
        settings.ERROR_RATES,
        settings.UPLINK,
        settings.TTI,
        settings.DELAYED_ACK,
        remedies.THRESHOLD,
        settings.ZHANG_SMALL,
        USERS,
        PAGES,
        at_the_rnc.RNC_GOODPUT,
        at_the_rnc.RNC_RETRANSMITTED,
        at_the_rnc.RNC_TIMEOUTS,
        HANDOVER,
        CAPACITY,
        HSDPA,
        UTILISATION,
        ACK_REGULATOR,
        ACK_RATE,
        FEEDBACK,
        ACTIVITY,
        PATHS,
        MEDIA,
    ),
    claims=(
        *CLAIMS,
        *at_the_rnc.RNC_CLAIMS,
        *CAPACITY_CLAIMS,
        *HSDPA_CLAIMS,
        *UTILISATION_CLAIMS,
        *ACK_REGULATOR_CLAIMS,
        *ACK_RATE_CLAIMS,
        *FEEDBACK_CLAIMS,
        *ACTIVITY_CLAIMS,
        *PATHS_CLAIMS,
        *MEDIA_CLAIMS,
    ),
)
