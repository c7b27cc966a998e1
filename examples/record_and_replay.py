"""Record the deliveries of a model's link as a trace for mahimahi, and use that trace as a link."""

import subprocess
import sys
from pathlib import Path

import airpath

busy = airpath.load("lte-5mhz").with_("duration", "10 s")
airpath.run_to_folder(busy, 1, "out/lte")
command = [sys.executable, "-m", "airpath", "export", "out/lte", "--format", "mm-trace", "--out", "lte.trace"]
subprocess.run(command, check=True)

Path("replay.toml").write_text(
    """
duration = "10 s"
tcp.profile = "linux-bbr"
wired.delay = "20 ms"

[radio.variable.downlink]
channel.trace_file.file = "lte.trace"

[[flow]]
app.bulk = {}
"""
)
for name, scenario in (("model, cubic", busy), ("trace, bbr", airpath.load("replay.toml"))):
    flow = airpath.run(scenario, seed=1, probes=()).flows[0]
    print(f"{name}: {flow['goodput_bps'] / 1e6:.1f} Mbit/s, {flow['rtt_ms']['mean']:.0f} ms")
