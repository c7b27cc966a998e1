"""Simulation compared with live: a scenario with the simulator's TCP and the kernel's; see docs/compare.md.

Modules, lower to higher:
`carried` (which transfers can be live), `tcp` (the closest kernel configuration to a scenario's TCP),
`mechanism`, `measured` (reads a capture, with the same code for simulation and live), `multipath`
(transfers over several paths), `live_run`, `runs`,
`campaign` (all runs, live ones side by side), `judgement`.
"""
