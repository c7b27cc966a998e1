"""Runs every bundled scenario, alone and with its trace: by it `make build RELEASE=pgo` learns what is used how often."""

from airpath import _core

DURATION = "300 s"

for name, text in _core.bundled().items():
    short = _core.resolve(text, [("duration", DURATION)], None)
    _core.run(short, 1)
    traced = _core.Simulation(short, 1)
    while traced.advance(1.0):
        traced.take_trace()
