"""QUIC of another implementation through a live link, as `benches/quic.py` has it."""

from __future__ import annotations

import pytest

import airpath

quic_ends = pytest.importorskip("quic_ends", exc_type=ImportError)


def test_a_download_is_carried_by_the_bearer():
    scenario, size = airpath.load("umts-384"), 100_000
    live, virtual = (way(scenario, 1, size, "reno") for way in (quic_ends.live, quic_ends.virtual))
    for run in (live, virtual):
        # 384 kbit/s, and a handshake.
        assert run.done_s > 8 * size / 384e3 + 0.4
        assert run.sent > size / 1200 and run.sent_by_client > 25 and run.rtt_ms > 200
    assert live.carried == pytest.approx(virtual.carried, rel=0.1)
