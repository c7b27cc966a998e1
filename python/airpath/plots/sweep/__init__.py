"""Figures of sweeps."""
