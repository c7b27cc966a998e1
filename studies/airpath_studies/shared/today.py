"""Senders and queue disciplines of today."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SENDERS: dict[str, dict[str, Any]] = {
    "Reno": {"profile": "linux-reno"},
    "CUBIC": {"profile": "linux"},
    "BBR": {"profile": "linux-bbr"},
    "BBRv3": {"profile": "linux-bbr", "cc": "bbr3"},
    "Prague": {"profile": "linux-prague"},
}
"""`[tcp]` of each sender, and of its receiver."""

_AUTO = {"target": "auto"}

DISCIPLINES: dict[str, Callable[[int], dict[str, Any]]] = {
    "drop-tail": lambda packets: {"droptail": {"packets": packets}},
    "PDPC": lambda packets: {"pdpc": {"packets": packets, "max_threshold": 4 * packets // 5}},
    "CoDel": lambda packets: {"codel": {"packets": packets, **_AUTO}},
    "FQ-CoDel": lambda packets: {"fq_codel": {"packets": packets, **_AUTO}},
    "PIE": lambda packets: {"pie": {"packets": packets}},
    "DualPI2": lambda packets: {"dualpi2": {"packets": packets, "step": "auto", **_AUTO}},
}
"""The downlink's discipline with room for so many packets."""
