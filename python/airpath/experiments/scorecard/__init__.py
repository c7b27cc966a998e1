"""A congestion control compared with CUBIC in a fixed set of conditions (`airpath scorecard`).

Modules: `measures`, `conditions` (the fixed set), `card` (runs, verdicts). See docs/scorecard.md.
"""
