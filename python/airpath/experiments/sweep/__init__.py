"""Sweeps: one scenario over many points, each with many runs, in a folder that survives interruptions."""
