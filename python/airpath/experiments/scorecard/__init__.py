"""A congestion control compared with CUBIC in a fixed set of conditions (`airpath scorecard`).

Modules: `measures`, `conditions` (the fixed set), `card` (runs, verdicts), `calls` (rate
controllers of calls in test cases). See docs/scorecard.md.
"""
