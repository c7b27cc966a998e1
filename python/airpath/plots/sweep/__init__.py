"""Figures of sweeps.

Modules, lower to higher:
`quantity`, `wording`, `choice` (which points; refuses mixtures), `labels` (texts instead of names),
`request`, `content` (a figure as numbers), `gather`, `caption`, `ticks`, `heat`, `axes`, `figure` (from
Python). See docs/plot.md.
"""
