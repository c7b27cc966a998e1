"""Sweep `queues.toml` with the command, and draw the figure in Python."""

import subprocess
import sys
from pathlib import Path

import airpath

file = Path(__file__).with_name("queues.toml")
subprocess.run([sys.executable, "-m", "airpath", "sweep", file, "--out", "out/queues"], check=True)
figure = airpath.plot_sweep("out/queues", "rtt_ms.mean", "goodput_bps", by="tcp.cc")
figure.save("queues.pdf")
print("see queues.pdf")
