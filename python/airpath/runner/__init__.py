"""One runner for everything that makes many runs: sweeps, reproductions, replications, comparisons.

A *job* is a scenario with a rule for its seeds (`airpath.stats.replication`); a run is one seed of it. Three
pools make runs: `threads` (of this process, for any function), `processes` and `cluster` (workers of a Dask
scheduler). `wanted` knows which runs are missing; `driver` hands them out, receives their results and has
them stored:

>>> from airpath.runner.threads import run_here
>>> replications = [Replication(read, Rule.guarded()) for _ in texts]
>>> run_here(replications, lambda job, seed: simulate(texts[job], seed))

Which runs are made depends on the jobs alone: not on the pool, nor on the order in which runs end.
"""
