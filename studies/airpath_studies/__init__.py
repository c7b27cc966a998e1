"""Papers whose published values airpath compares with its own, and their open choices.

`base/` is what papers are made of: `description` (what a paper's `paper.toml` says), `cell` (a scenario to
replicate), `quantity` (a metric of a cell, or computed from several), `measure`, `published`, `choices`
(readings, and what was chosen), `verdict` (all tolerances), `conditions` and `claims` (claims in words as
conditions), `grid` and `panel` (tables and charts of what is not printed), `paper`. Then `runs`, `journal`
(keeps runs for a command that resumes), `sources` (the modules that these runs depend on), `reproduction`
(simulates each cell once), `outcome`, `as_json`, `report/`, `papers` (the list of papers). airpath calls
`command`, `sweeps`, `versus_kernel` and `in_studio` by way of `airpath.studies`.

Each paper is a package with its values in `published.csv`, how it is read in `paper.toml`, and, where its
choices are explored, `explore.toml`. It imports no other paper: what several take is in `shared/`.
`extensions/` has our studies of what the papers leave open, `atlas/` their conditions twenty years later.
"""
