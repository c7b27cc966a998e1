"""Studies of HSDPA and LTE: their cells are what they are called, and their figures are those of runs."""

import pytest

from airpath.experiments.replicate import simulation_of
from airpath.scenario import load
from airpath_studies.base.cell import Outcome
from airpath_studies.extensions import utilisation
from airpath_studies.extensions.hsdpa import Link, _radio

RATES = [(rate, pdus) for rate in (384, 128, 64) for pdus in (1, 2)] + [(1440, 0), (3360, 0)]


@pytest.mark.parametrize(("rate_kbps", "pdus"), RATES)
def test_hsdpa_in_place_of_the_dedicated_channel_has_its_rate(rate_kbps, pdus):
    """Datagrams beyond the rate, of 960 B: whole PDUs of every size, so that none has padding."""
    flow = '[{ app = { cbr = { size = "960 B", rate = "5 Mbit/s" } } }]'
    link = _radio(rate_kbps, Link(pdus=pdus).without_errors)
    scenario = load("lundsten-dch", (("radio", link), ("flow", flow), ("duration", "40 s")))
    cell = simulation_of(scenario.text)(1)["elements"][-1]
    carried_kbps = cell["ues"][0]["downlink"]["bytes_delivered"] * 8 / 1000 / (40 - 0.135)
    assert carried_kbps == pytest.approx(rate_kbps, rel=0.01)


@pytest.mark.parametrize("radio", utilisation.RADIOS)
def test_datagrams_keep_the_air_busy_and_bring_what_the_cell_counts(radio):
    kind = utilisation.RADIOS[radio]
    flows = (*utilisation.datagrams(kind, 4), ("duration", "10 s"))
    results = simulation_of(load(kind.scenario, flows).text)(1)
    cell = results["elements"][-1]
    counted = sum(ue["downlink"]["bytes_delivered"] for ue in cell["ues"])
    outcome = Outcome(results, results)
    brought = utilisation.capacity_mbps(outcome) * 1e6 / 8 * utilisation.RUN_S
    # What is between cell and UE at the end has been counted by the cell alone.
    assert brought == pytest.approx(counted, rel=0.01)
    assert all(ue["downlink"]["sdus_dropped"] > 0 for ue in cell["ues"])
