"""`airpath reproduce reality`: models judged by the half of a recording that they did not see."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from conftest import check_error

from airpath.recordings import cells
from airpath.recordings.felt import SETUPS, Felt, link_of, page_interval_s, pages, windows
from airpath.recordings.judged import offered
from airpath.recordings.validation import (
    HALVES,
    MEASURES,
    NOISE,
    Judgement,
    Seen,
    covered,
    halves,
    noise,
    summary,
    thinned,
)

KNOWN = {
    "counts": [float(count) for count in range(1, 14)],
    "time_constants_s": [1.0, 3.0],
    "weights": [0.4, 0.4],
    "outages": {"per_s": [0.2, 0.05, 0.02, 0.01], "episodes": [[[400, 0]], [[900, 0], [700, 9], [1200, 0]]]},
}


@pytest.mark.slow
def test_process_is_closer_to_a_varying_link_than_a_constant_rate(tmp_path, airpath_command, monkeypatch):
    # A cell is fitted, too, of which nothing is said here: a coarse one takes a fifth of the time.
    for number, value in {"DRAWN": cells.CANDIDATES, "CHANGED": cells.CANDIDATES, "CORRECTIONS": 1}.items():
        monkeypatch.setattr(cells, number, value)
    folder = tmp_path / "drives"
    folder.mkdir()
    counts = offered(KNOWN, 1, 250_000)
    text = "".join(f"{ms}\n" for ms in np.repeat(np.arange(len(counts)), counts))
    (folder / "drive.ms").write_text(text)
    (folder / "short.ms").write_text("".join(f"{ms}\n" for ms in range(60_000)))
    (folder / "README").write_text("a drive\n")
    arguments = ("reproduce", "reality", "--recordings", folder, "--out", tmp_path / "out", "--runs", "4")
    outcome = airpath_command(*arguments)
    assert outcome.code == 0, outcome.err
    assert "short.ms: shorter than 130 s" in outcome.out and "README: " in outcome.out
    said = json.loads((tmp_path / "out/report.json").read_text())
    assert set(said["medians"]) == set(HALVES)
    for half in HALVES:
        models = said["medians"][half]
        assert set(models["process"]) == set(MEASURES)
        for metric in ("rtt_p95", "rtt_max"):
            assert models["process"][metric] < 0.5 * models["constant"][metric]
        assert models["process"]["covered"] > models["constant"]["covered"] + 0.2
        # Of four windows each.
        assert 0 < models[NOISE]["rtt_p95"] < 1
    # The replay of a half is the truth of that half.
    assert said["medians"][HALVES[0]]["replay"]["goodput"] == 0


def test_halves_and_windows_cover_a_recording():
    counts = np.arange(250_000, dtype=np.int32)
    first, second = halves(counts)
    assert (len(first), int(second[0])) == (125_000, 125_000)
    found = windows(first)
    assert [(int(one[0]), len(one)) for one in found] == [
        (0, 60_000),
        (31_250, 60_000),
        (62_500, 60_000),
        (93_750, 60_000),
    ]
    # The ends count nearly as much as the middle: windows from end to end have 0.96 of the mean of this ramp.
    assert np.mean([one.mean() for one in found]) == pytest.approx(first.mean(), rel=0.015)
    assert [int(one[0]) for one in thinned(windows(counts), 4)] == [31_250, 93_750, 156_250, 218_750]
    assert len(windows(counts[:70_000])) == 2 and len(windows(counts[:50_000])) == 1


def test_medians_are_over_recordings_and_set_ups():
    def judged(recording: str, *errors: float) -> Judgement:
        return Judgement(recording, "replay", HALVES[0], {measure: list(errors) for measure in MEASURES})

    judgements = [judged("a", 0.1, 0.5), judged("b", 0.2, math.nan), judged("c", 0.4, 0.3)]
    judgements += [Judgement("a", "cell", HALVES[0], {}), Judgement("a", "replay", HALVES[1], {})]
    assert summary(judgements, "replay", HALVES[0]) == dict.fromkeys(MEASURES, 0.3)


def test_coverage_is_the_share_within_the_central_range():
    def felt(*goodputs: float) -> list[Felt]:
        return [Felt(goodput, 1, 1, 1, 0) for goodput in goodputs]

    said = felt(*range(101))
    assert covered(said, felt(4, 5, 50, 95, 96), "goodput") == pytest.approx(3 / 5)
    assert not math.isnan(covered(felt(1), felt(2), "goodput"))


def test_noise_is_half_the_difference_of_disjoint_windows():
    def seen(*goodputs: float) -> Seen:
        return Seen({setup: [Felt(one, 1, 1, 1, 0) for one in goodputs] for setup in SETUPS}, [[1.0]] * 8)

    found = noise(seen(1, 3, 1, 3, 1, 3, 1, 3), overlapping=False)
    assert found["goodput"] == pytest.approx([math.log(3) / 2] * len(SETUPS))
    assert found["rtt_p50"] == [0] * len(SETUPS) and found["page"] == [0]
    # Windows that overlap by half: each fourth one.
    found = noise(seen(1, 99, 2, 99, 1, 99, 2, 99), overlapping=True)
    assert found["goodput"] == pytest.approx([math.log(2) / 2] * len(SETUPS))


@pytest.mark.parametrize(
    ("per_ms", "every_s", "number"), [(1.0, 10, 5), (0.2, 10, 5), (0.17, 20, 2), (0.05, 40, 1), (0, 60, 1)]
)
def test_a_page_is_alone_on_a_link(per_ms, every_s, number):
    counts = np.diff(np.floor(np.arange(60_001) * per_ms)).astype(np.int32)
    assert page_interval_s(counts) == every_s
    found = pages(link_of(counts), every_s)
    assert len(found) == number and max(found) < every_s


def test_what_reality_cannot_use_is_refused(tmp_path, airpath_command):
    check_error(
        airpath_command("reproduce", "reality"), "--recordings", "is missing", "a folder of recordings"
    )
    check_error(
        airpath_command("reproduce", "reality", "--recordings", tmp_path / "no"),
        "--recordings",
        "no folder",
        "",
    )
    check_error(
        airpath_command("reproduce", "reality", "--recordings", tmp_path), "--recordings", "no recordings", ""
    )
    check_error(
        airpath_command("reproduce", "reality", "--table", 1), "reality", "has no parts", "--recordings"
    )
    check_error(
        airpath_command("reproduce", "zhang", "--recordings", tmp_path), "--recordings", "reality alone", ""
    )
