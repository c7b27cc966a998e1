"""Sweeps: one scenario over many points, each with many runs, in a folder that survives interruptions.

Modules, lower to higher:
`points` (grids, lists, draws), `plan` (the address of each run: scenario, seed and version), `bundled` (the
papers' experiments as sweeps), `readers`, `replications` (when a point has enough runs), `parts` (reads
files of runs, within bounds), `store` (the folder: whole files, one writer), `run`, `results`. See
docs/sweep.md.
"""
