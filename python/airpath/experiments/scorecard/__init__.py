"""A congestion control beside CUBIC in a fixed set of conditions (`airpath scorecard`): docs/scorecard.md.

Modules: `measures`, `conditions` (the fixed set), `card` (runs, verdicts), `calls` (rate
controllers of calls in test cases). See docs/scorecard.md.
"""
