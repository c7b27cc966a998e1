"""Figures of sweeps: what is drawn of a sweep's folder, and how it looks."""
