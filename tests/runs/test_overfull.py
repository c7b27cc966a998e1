"""A run holds a bounded number of packets, and says which flow and which buffer hold them."""

from __future__ import annotations

import pytest

from airpath.errors import AirpathError
from airpath.runs.memory import run
from airpath.scenario import Scenario

DCH = '[radio.dch.downlink]\nrate = "384 kbit/s"\n[radio.dch.uplink]\nrate = "64 kbit/s"\n'
FLOOD = '[[flow]]\nstart = "10 ms"\n[flow.app.cbr]\nrate = "100 Gbit/s"\n'
BULK = '[[flow]]\napp = "bulk"\n'


def error_of(text, **options):
    """Give the error of a run of 100 s."""
    with pytest.raises(AirpathError) as error:
        run(Scenario("flood", f'duration = "100 s"\n{text}'), 1, **{"probes": ()} | options)
    return str(error.value)


def rlc(name):
    """Write bearers with this link layer, which of `fixed_delay_arq` the uplink lacks."""
    uplink = "none" if name == "fixed_delay_arq" else name
    down = DCH.replace("[radio.dch.uplink]", f'rlc = "{name}"\n[radio.dch.uplink]\nrlc = "{uplink}"')
    return down + FLOOD


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param(DCH + BULK + FLOOD, "radio.dch.downlink (UE 0): 41", id="bearer"),
        # With a huge bandwidth-delay product.
        pytest.param(f'[wired]\ndelay = "20 s"\n{DCH}{FLOOD}', "link: 41", id="wire", marks=pytest.mark.slow),
        *(
            pytest.param(rlc(name), "radio.dch.downlink (UE 0): ", id=name, marks=pytest.mark.slow)
            for name in ("am", "um", "fixed_delay_arq")
        ),
    ],
)
def test_a_flooded_buffer_ends_the_run_with_its_name_and_the_flow(text, where):
    error = error_of(text)
    assert error.startswith(where), error
    assert "of at most 4194304 in all (469 MB of memory); flow " in error, error
    assert "of UE 0 (cbr)" in error, error


@pytest.mark.slow
def test_regions_fail_as_one_piece_does():
    # One thread cuts runs of 128 UEs and more into regions.
    text = 'wired.delay = "20 ms"\n[radio.dch]\nues = 200\n[[flow]]\nue = "each"\napp.bulk = {}\n'
    text += '[[flow]]\nue = "each"\napp.cbr = { rate = "400 Mbit/s", size = "100 B" }\n'
    assert error_of(text, threads=2) == error_of(text, threads=1)
