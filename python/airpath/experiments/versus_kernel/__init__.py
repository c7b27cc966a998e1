"""Simulated beside live: the same scenario with the simulator's TCP and with the kernel's.

In order: `carried` (which transfers of a scenario can be live), `tcp` (which TCP either world speaks),
`nearness` (the closest kernel configuration to a scenario's TCP), `mechanism` (the scenario with a
mechanism), `measured` (what is read off a capture, in both worlds by the same code), `live_run` (the
process of one live run), `runs` (one run in either world), `campaign` (all runs, live ones side by side),
`judgement` (intervals, differences, verdicts) and `as_json`; `published` sets the papers' values beside
both. See docs/compare.md.
"""
