"""Figures of sweeps, runs and papers."""
