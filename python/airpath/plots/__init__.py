"""Figures of sweeps, runs and papers.

Modules: `sweep/` (figures of sweeps), `paper` (pictures of reproductions), `scorecard`, `overlay` (runs
over each other).
"""
