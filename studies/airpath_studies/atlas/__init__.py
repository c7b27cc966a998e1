"""The atlas: the papers' conditions and cells of today, with senders, disciplines and cures of both ages.

Nothing here is published; what the studies show is stated as claims, which are checked like those of a paper.
"""

from __future__ import annotations

from airpath_studies.atlas.claims import CLAIMS
from airpath_studies.atlas.places import PLACES
from airpath_studies.atlas.studies import STUDIES
from airpath_studies.base.choices import Reading
from airpath_studies.base.paper import Paper

_AS_THEY_ARE = Reading("as they are", "the scenarios' own settings", ())

PAPER = Paper(
    name="atlas",
    citation="Twenty years later: the five papers' conditions and cells of today",
    scenario="lundsten-dch",
    parameters=(
        ("Places", "; ".join(place.label for place in PLACES.values())),
        ("Path and radio", "those of the scenarios, with a buffer of 10 to 50 packets on dedicated channels"),
        ("Senders", "as in Linux, with its receiver; BBRv3 and Prague after their drafts"),
        ("Disciplines", "in the downlink's buffer; targets of CoDel and DualPI2 follow the rate"),
        ("Delay", "from entering the buffer of the bearer to arrival at the UE"),
    ),
    readings=(_AS_THEY_ARE,),
    default_reading=_AS_THEY_ARE.name,
    experiments=STUDIES,
    claims=CLAIMS,
    not_reproduced={
        "atlas-c9": "Against CUBIC on Lundsten's channel Reno gets a little less than its half; all other "
        "shares lie within the limits.",
    },
)
