"""A congestion control beside CUBIC in a fixed set of conditions (`airpath scorecard`): docs/scorecard.md.

Modules: `measures`, `conditions` (the fixed set), `card` (runs, verdicts). See docs/scorecard.md.
"""
