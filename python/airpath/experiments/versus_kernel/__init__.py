"""Simulated beside live: a scenario with the simulator's TCP and with the kernel's; see docs/compare.md."""
