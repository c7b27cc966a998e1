"""Single runs of a scenario: in memory or in a folder, with trace, metrics and picture.

A run is a function of its scenario and its seed: the same two give the same results, trace and capture to
the byte, on any machine. In memory:

    result = airpath.run("umts-384", seed=1)
    result.flows[0]["goodput_bps"]            # results.json, as a dict
    result.trace["rtt_sample"]["rtt_us"]      # events, a column each
    result.plot().save("umts-384.pdf")

Into a folder (`run_to_folder`, and `airpath run --out DIR`) the same run writes `results.json`,
`trace/`, `capture.pcapng`, `scenario.resolved.toml` and `plot.png`, all independent of clock and
machine; these are in `manifest.json`. The manifest is written last: a folder without one holds no finished
run. `FinishedRun` reads a folder and checks each file before it is used; live runs write the same files.
"""
