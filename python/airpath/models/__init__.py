"""Throughput models of a long TCP flow: pure functions, in packets, seconds and packets per second.

Each module names its source, the equations, and where they are valid; `docs/analytic.md` is an overview.
`capacity` is of a cell and not of a flow.
"""

from airpath.models import capacity
from airpath.models.catalogue import MODELS, Model
from airpath.models.chan import FORMS, chan_ramjee, lakshman_madhow
from airpath.models.inputs import Episodes, Link, Throughput
from airpath.models.mathis import mathis
from airpath.models.misra import misra
from airpath.models.padhye import padhye, padhye_approximate, timeout_probability

__all__ = [
    "FORMS",
    "MODELS",
    "Episodes",
    "Link",
    "Model",
    "Throughput",
    "capacity",
    "chan_ramjee",
    "lakshman_madhow",
    "mathis",
    "misra",
    "padhye",
    "padhye_approximate",
    "timeout_probability",
]
