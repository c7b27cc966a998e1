"""Figures of sweeps and runs.

Modules: `sweep/` (figures of sweeps), `scorecard`, `overlay` (runs
over each other).
"""
