"""Throughput models of a long TCP flow: pure functions, in packets, seconds and packets per second.

Each module names its source, the equations, and where they are valid; `docs/analytic.md` is an overview.
`capacity` is of a cell and not of a flow.
"""

from airpath.analytic import capacity
from airpath.analytic.chan import FORMS, chan_ramjee
from airpath.analytic.inputs import Episodes, Link, Throughput
from airpath.analytic.mathis import mathis
from airpath.analytic.misra import misra
from airpath.analytic.models import MODELS, Model
from airpath.analytic.padhye import padhye, padhye_approximate, timeout_probability
from airpath.analytic.sawtooth import lakshman_madhow

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
