"""What limits the kernel's TCP is known here, and the analysis finds it, from both ends and from between."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from interfaces import between, of_interface

from airpath.captures import analyze
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
queue.droptail.packets = {packets}
channel.series.rows = "time_s,rate_kbps,loss\\n{rows}"
[radio.variable.uplink]
delay = "10 ms"
channel.series.rows = "time_s,rate_kbps,loss\\n0,20000,0\\n"
[[flow]]
app.bulk = {{}}
"""
STEADY = "0,20000,0\\n"
# As when a policer's tokens run out: half is lost during 60 ms of each 600 ms.
POLICED = "".join(f"{0.6 * n:.2f},20000,0\\n{0.6 * n + 0.54:.2f},20000,0.5\\n" for n in range(20))
# By the client's way to ask and read (`limited.py`): packets of the queue, rows of the link, what limits it.
SITUATIONS = {
    "page": (100, STEADY, "application"),
    "bulk": (100, STEADY, "link"),
    "bbr": (100, STEADY, "link"),
    "slow_reader": (100, STEADY, "receive_window"),
    "slow_server": (100, STEADY, "application"),
    "small_window": (100, STEADY, "receive_window"),
    "after_loss": (1000, "0,60000,0.03\\n1.5,60000,0\\n", "congestion_window"),
    "paced": (100, STEADY, "application"),
    "stream": (100, STEADY, "application"),
    "outage": (100, "0,20000,0\\n2.5,20000,1\\n8,20000,0\\n", "timeouts"),
    "losses": (100, "0,20000,0.02\\n", "loss"),
    "policer": (100, POLICED, "loss"),
}


@pytest.fixture
def limited(start, tmp_path):
    """Run a situation; give the capture and what the server's kernel counted of it."""

    def call(how, packets, rows):
        (tmp_path / "link.toml").write_text(LINK.format(packets=packets, rows=rows))
        process = start(
            *(tmp_path / "link.toml", "--out", tmp_path / "out", "--probes", ""),
            server=f"exec {sys.executable} {SCRIPT} serve > {tmp_path}/kernel",
            command=[sys.executable, SCRIPT, "get", how],
        )
        _, err = finish(process)
        assert process.returncode == 0, err
        kernel = (tmp_path / "kernel").read_text().splitlines()
        return (tmp_path / "out" / "capture.pcapng").read_bytes(), json.loads(kernel[-1])

    return call


# Beside other tests a sender misses its pace, which looks like another limit.
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("how", list(SITUATIONS))
def test_the_largest_share_is_what_limits_the_kernel(how, limited, tmp_path):
    packets, rows, expected = SITUATIONS[how]
    whole, kernel = limited(how, packets, rows)
    address = "10.77.0.1"
    server = of_interface(whole, SERVER)
    places = {
        "sender": server,
        "receiver": of_interface(whole, UE),
        "between": between(server, address, WIRED_S),
    }
    for place, content in places.items():
        file = tmp_path / f"{place}.pcapng"
        file.write_bytes(content)
        connection = max(analyze(file)["connections"], key=lambda one: one["payload_bytes"])
        flow = max(connection["flows"], key=lambda flow: flow["bytes_acked"])
        shares = flow["verdict"]["shares"]
        largest = max(shares, key=shares.get)
        said = f"{place}: {flow['verdict']['limited_by']}: {flow['verdict']['because']}, {shares}, {kernel}"
        assert sum(shares.values()) == pytest.approx(1)
        # Where nothing arrives, an outage looks like a pause of the sender.
        looks_like = {"unknown", "application"} if how == "outage" else {"unknown"}
        assert largest == expected or (place != "sender" and largest in looks_like), said
    # Linux counts only while the window is what stops a segment, and not while it defers small ones.
    own = kernel["rwnd_limited_us"] / kernel["busy_us"]
    assert (own > 0.3) == (expected == "receive_window"), kernel
