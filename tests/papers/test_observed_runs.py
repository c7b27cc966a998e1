"""What is read off single runs of a paper: windows, data received, first flights, retransmissions."""

import json

import numpy as np
import pytest

from airpath import _core
from airpath.scenario import Scenario
from airpath.stats.replication import Rule
from airpath_studies.base.observe import FIRST_DATA, FIRST_FLIGHT, LOST_AGAIN, RECEIVED
from airpath_studies.base.send_window import SendWindow
from airpath_studies.lundsten.figures import FIGURES
from airpath_studies.lundsten.text import formula_window
from airpath_studies.outcome import Effort
from airpath_studies.papers import PAPERS
from airpath_studies.reproduction import Reproduction
from airpath_studies.shared.downloads import NO_BLOCK_ERRORS, Download
from airpath_studies.shared.lundsten import EIFEL, beside_reno, make_download

LUNDSTEN = PAPERS["lundsten"]


def text_of(overrides):
    base = LUNDSTEN.base
    return Scenario(base.name, base.source, tuple(overrides), base.folder).text


def observe(download, observation, *more, seed=1):
    """Reduce the trace of one run of a download; also its results."""
    simulation = _core.Simulation(
        text_of((*download.overrides, *more)), seed, list(observation.probes), False
    )
    while not simulation.advance(simulation.end_s):
        pass
    return observation.reduce(simulation.take_trace()), json.loads(simulation.results())


@pytest.fixture(scope="module")
def drawn():
    """The pictures of Figures 3, 4 and 17 to 20, by number."""
    pictures = [figure for figure in FIGURES if figure.number in (3, 4, 17, 18, 19, 20)]
    reproduction = Reproduction(LUNDSTEN, pictures, Effort(Rule.exactly(1), all_readings=False))
    report = reproduction.outcome(reproduction.simulate(), background=False)
    return {section.experiment.number: section for section in report.sections}


@pytest.mark.parametrize(("number", "timeouts", "fast_retransmits"), [(3, 1, 0), (4, 0, 1)])
def test_figures_3_and_4_show_one_loss(number, timeouts, fast_retransmits):
    figure = next(figure for figure in FIGURES if figure.number == number)
    flow = json.loads(_core.run(text_of(figure.window_of.overrides), 1))["flows"][0]
    counted = (flow["timeouts"], flow["fast_retransmits"], flow["retransmissions"]["total"])
    assert counted == (timeouts, fast_retransmits, 1)


@pytest.mark.slow
def test_a_timeout_leaves_a_window_of_one_and_slow_start(drawn):
    window = drawn[3].window
    fall = int(np.argmin(np.diff(window.segments)))
    before, after = window.segments[fall], window.segments[fall + 1 :]
    assert before > 30 and after[0] == 1
    half = after[after <= before // 2]
    rises_s = np.diff(window.time_s[fall + 1 :])[: len(half) - 1]
    # Slow start to half of the window within six round trips, then one segment for each.
    assert rises_s.sum() < 6 * drawn[3].round_trip_s
    assert np.diff(window.time_s)[-3:] == pytest.approx(drawn[3].round_trip_s, rel=0.2)


def test_a_fast_recovery_halves_the_window(drawn):
    window = drawn[4].window
    largest = int(np.argmax(window.segments))
    before = window.segments[window.time_s < window.time_s[largest] - 2 * drawn[4].round_trip_s].max()
    assert window.segments[largest + 1] == pytest.approx(before / 2, abs=1)


@pytest.mark.parametrize(("number", "file_bytes"), [(17, 16e6), (18, 1e5), (19, 1e5), (20, 16e6)])
def test_what_is_received_grows_to_the_whole_file(drawn, number, file_bytes):
    curves = drawn[number].curves
    assert len(curves) == {17: 5, 18: 3, 19: 3, 20: 4}[number]
    for _, scale, received in curves:
        assert np.all(np.diff(received.time_s) >= 0) and np.all(np.diff(received.data_bytes) > 0)
        assert file_bytes <= scale * received.data_bytes[-1] < file_bytes + 1500


def test_error_free_initial_windows_differ_by_an_offset(drawn):
    one, three, four = (received for _, _, received in drawn[18].curves)
    for size in (50_000, 70_000, 90_000):
        at = [float(np.interp(size, known.data_bytes, known.time_s)) for known in (one, three, four)]
        assert at[0] - at[1] == pytest.approx(0.47, abs=0.05)
        assert at[1] - at[2] == pytest.approx(0.08, abs=0.05)


@pytest.mark.parametrize(
    ("mss", "segments"), [(536, 4), (1095, 4), (1096, 3), (1460, 3), (1461, 2), (2190, 2), (9000, 2)]
)
def test_the_initial_window_follows_the_formula_of_rfc_3390(mss, segments):
    assert formula_window(mss) == segments


def test_the_formula_refuses_a_segment_of_nothing():
    with pytest.raises(ValueError, match="at least one byte, not 0"):
        formula_window(0)


@pytest.mark.parametrize("segments", [1, 2, 5])
def test_the_first_flight_is_the_initial_window(segments):
    download = make_download(384, 576, 100_000, initial_window=segments)
    assert observe(download, FIRST_FLIGHT)[0] == segments


def test_data_waits_for_the_connection():
    download = make_download(384, 576, 100_000)
    assert observe(download, FIRST_DATA)[0] == 0
    # SYN of 44 bytes (with its MSS) and ACK of 40 at 64 kbit/s, SYN-ACK in one TTI, 135 ms three times.
    set_up_s, _ = observe(download, FIRST_DATA, ("tcp.handshake", '"three_way"'))
    assert set_up_s == pytest.approx(3 * 0.135 + 0.0055 + 0.005 + 0.020)


@pytest.mark.parametrize("bler", [0.1, 0.5])
def test_a_retransmission_is_lost_as_often_as_a_first_transmission(bler):
    download = make_download(384, 576, 1_000_000)
    more = (("tcp.max_window", "1"), ("radio.dch.downlink.channel.bernoulli.bler", f"{100 * bler:g} %"))
    shares = [observe(download, LOST_AGAIN, *more, seed=seed)[0] for seed in range(1, 9)]
    assert np.mean(shares) == pytest.approx(bler, rel=0.1)


def test_without_losses_nothing_is_lost_again():
    download = make_download(384, 576, 100_000)
    with pytest.raises(ValueError, match="no block was retransmitted"):
        observe(download, LOST_AGAIN, ("radio.dch.downlink.channel.bernoulli.bler", "0 %"))


def test_data_received_agrees_with_the_counters():
    received, results = observe(make_download(128, 1500, 100_000), RECEIVED)
    assert received.data_bytes[-1] == results["flows"][0]["bytes_received"]
    assert received.time_s[-1] < results["flows"][0]["transfer_s"]


def test_a_window_at_its_limit_and_its_variation():
    # After the first slow start: 4 for 3 s, 2 for 1 s.
    window = SendWindow(np.array([0.0, 1.0, 4.0]), np.array([1, 4, 2]), 5.0)
    assert window.share_at_maximum == pytest.approx(0.75)
    assert window.variation == pytest.approx(np.std([4, 4, 4, 2]) / 3.5)


def test_eifel_sends_the_same_packets_with_less_data():
    eifel, reno = make_download(384, 576, **EIFEL), make_download(384, 576)
    assert (eifel.packets, eifel.packet_bytes) == (reno.packets, reno.packet_bytes)
    assert eifel.payload_bytes == reno.payload_bytes - 12
    cell = beside_reno(384, 576, EIFEL)
    keys = [{key for key, _ in overrides} for overrides in (cell.overrides, cell.reference)]
    assert [any(key.startswith("tcp.undo.eifel") for key in known) for known in keys] == [True, False]
    assert (f"{27778 * 536} B") in dict(cell.reference).values()


def test_options_come_last_and_the_name_tells_the_variant():
    download = Download(384, 576, 25, 16_000_000, variant="no SYN", options=(("tcp.max_window", "3"),))
    assert download.overrides[-1] == ("tcp.max_window", "3")
    assert download.name == "384 kbit/s, 576 B, no SYN"


def test_only_a_full_effort_makes_more_runs_than_the_rule():
    full, quick = Effort.of(quick=False, runs=None), Effort.of(quick=True, runs=None)
    assert (full.rule_for(20).min_runs, full.rule_for(20).max_runs) == (20, 100)
    assert (full.rule_for(1000).min_runs, full.rule_for(1000).max_runs) == (1000, 1000)
    # Without that, the guarded rule of docs/statistics.md.
    assert full.rule_for(1) == Rule(min_runs=20, batch=10, looks=2)
    assert quick.rule_for(1000).max_runs == 5
    assert Effort.of(quick=False, runs=3).rule_for(20) == Rule.exactly(3)


def _flow(download, *more, seed=1):
    return json.loads(_core.run(text_of((*download.overrides, *more)), seed))["flows"][0]


@pytest.mark.parametrize("small_pdus", [False, True])
@pytest.mark.parametrize("timer", ['{ min = "1 s", tick = "100 ms" }', '{ min = "10 ms", tick = "10 ms" }'])
def test_in_sequence_delivery_brings_no_timeout_however_fine_the_timer(small_pdus, timer):
    download = make_download(384, 576, small_pdus=small_pdus, in_sequence=True)
    flows = [_flow(download, ("tcp.rto", timer), seed=seed) for seed in (1, 2, 3)]
    assert all(flow["timeouts"] == flow["fast_retransmits"] == 0 for flow in flows)
    assert max(flow["rtt_ms"]["max"] for flow in flows) > 600


def test_what_in_sequence_delivery_costs_is_the_window_limit():
    download = make_download(384, 576, small_pdus=True, in_sequence=True)

    def increase(segments):
        window = (("tcp.max_window", f"{segments}"), ("tcp.initial_ssthresh", f"{segments * 536} B"))
        ideal_s = _flow(download, *window, NO_BLOCK_ERRORS)["transfer_s"]
        return 100 * (_flow(download, *window)["transfer_s"] / ideal_s - 1)

    floor = 100 * (1 / 0.9 - 1)
    assert increase(25) > 4 * floor
    assert increase(40) == pytest.approx(floor, abs=5)
    assert increase(60) == pytest.approx(floor, abs=0.5)
