"""Recordings of real links: read from the formats of others, described, and fitted by models.

Modules: `recording` (the neutral form), `formats` (a module for each family of formats), `reader` (finds the
format), `statistics`, `offered` (a scenario as a recording), `fitting` (the model of `channel.process`),
`felt` (transfers over a recording), `judged` (a model compared with its recording), `written`. See
docs/recordings.md.
"""
