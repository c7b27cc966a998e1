"""Run a scenario, and read what it counted."""

import airpath

result = airpath.run("umts-384", seed=1)
flow = result.flows[0]
cell = result.summary["elements"][1]["ues"][0]["downlink"]
print(f"{flow['goodput_bps'] / 1e3:.0f} kbit/s, {flow['rtt_ms']['mean']:.0f} ms round trip")
print(f"{cell['pdus_lost']} blocks lost on the radio, {cell['sdus_dropped']} packets dropped by the buffer")
print(f"{flow['retransmissions']['total']} segments retransmitted")
