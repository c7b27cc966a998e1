"""The atlas: the papers' conditions and cells of today, with senders, disciplines and cures of both ages.

Nothing here is published; what the studies show is stated as claims, which are checked like those of a paper.
"""

from __future__ import annotations

from airpath_studies.atlas.claims import CLAIMS
from airpath_studies.atlas.studies import STUDIES
from airpath_studies.base.description import description
from airpath_studies.base.paper import Paper

PAPER = Paper.of(description("atlas"), experiments=STUDIES, claims=CLAIMS)
