"""Runs every bundled scenario, also with its trace: from it `RELEASE=pgo` learns what is used how often."""

from airpath import _core

DURATION = "300 s"

for scenario in _core.bundled().values():
    text = _core.resolve(scenario, [("duration", DURATION)], None)
    _core.run(text, 1)
    traced = _core.Simulation(text, 1)
    while traced.advance(1.0):
        traced.take_trace()
