"""A congestion control beside CUBIC in a fixed set of conditions (`airpath scorecard`): docs/scorecard.md."""
