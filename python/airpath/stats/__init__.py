"""Statistics over runs: means with intervals, pairs, and one long run.

Modules: `estimate` (means and intervals), `replication` (which seeds until an interval is narrow enough),
`batch_means` and `steady` (one long run).
"""
