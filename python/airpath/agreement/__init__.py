"""Simulated beside live: the same scenario with the simulator's TCP and with the kernel's.

In order: `carried` (which transfers of a scenario can be live), `tcp` (which TCP either world speaks),
`nearness` (the kernel's as near to a scenario's as it comes), `mechanism` (the scenario with a
mechanism), `figures` (what is read off a capture, in both worlds by the same code), `live_run` (the
process of one live run), `runs` (one run in either world), `campaign` (all runs, live ones side by side),
`judgement` (intervals, differences, verdicts), `table`, `as_json` and `command`; `published` and
`published_command` set the papers' values beside both. See docs/compare.md.
"""
