"""What limits the kernel's TCP is known here, and the analysis finds it, from either end and from between."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from airpath.captures import analyze
from captures.interfaces import of_interface, shifted
from live.harness import finish

SCRIPT = Path(__file__).with_name("limited.py")
SERVER, UE = 0, 1
WIRED_S = 0.020
# 60 ms there and back.
LINK = """
[wired]
delay = "20 ms"
[radio.variable.downlink]
delay = "10 ms"
queue.droptail.packets = 100
channel.series.rows = "time_s,rate_kbps,loss\\n0,20000,0\\n"
[radio.variable.uplink]
delay = "10 ms"
channel.series.rows = "time_s,rate_kbps,loss\\n0,20000,0\\n"
[[flow]]
app.bulk = {}
"""
