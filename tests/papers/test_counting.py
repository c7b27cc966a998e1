"""What is counted: restatements once, ranges whole, and what a link without TCP would meet."""

from dataclasses import replace

import pytest

from airpath.stats.estimate import exact
from airpath.stats.replication import Rule
from airpath_studies.outcome import Effort
from airpath_studies.papers import PAPERS
from airpath_studies.reproduction import Reproduction

PRINTED = [paper for paper in PAPERS.values() if not paper.is_own]
ROUNDED = {"lundsten-s552-300", "chan-t3-reno-p2-double-loss"}
"""Restated with fewer digits than 5 %: 300 for 305, 0.3 for 0.279."""


@pytest.mark.parametrize("paper", PRINTED, ids=lambda paper: paper.name)
def test_a_restatement_says_the_same(paper):
    for value in paper.published.values():
        if value.restates is None:
            continue
        other = paper.published[value.restates]
        assert other.restates is None and other.range_of is None
        assert value.unit == other.unit
        apart = abs(value.target - other.target)
        assert apart <= 0.055 * abs(other.target) or value.id in ROUNDED, value.id


@pytest.mark.parametrize("paper", PRINTED, ids=lambda paper: paper.name)
def test_each_range_has_two_ends(paper):
    values = paper.published
    measured = {row.published_id for experiment in paper.experiments for row in experiment.rows}
    ends = [value.range_of for value in values.values() if value.range_of]
    assert len(ends) == len(set(ends))
    for value in values.values():
        if value.kind != "qualitative_range" or value.id not in measured:
            continue
        if value.bound == "high":
            lower = values[value.range_of]
            assert lower.bound == "low" and lower.value < value.value and lower.unit == value.unit
        else:
            assert value.id in ends or value.id in paper.calibrated


def outcome_of(paper, *rows):
    """Judge rows of a paper, two runs each."""
    (of,) = [one for one in paper.experiments if one.kind == "text"]
    wanted = tuple(row for row in of.rows if row.published_id in rows)
    effort = Effort(Rule.exactly(2), all_readings=False, is_exact=True)
    reproduction = Reproduction(paper, (replace(of, rows=wanted),), effort)
    assert reproduction.simulate()
    return reproduction.outcome(complete=True, background=False)


def test_a_range_and_a_restatement_are_judged_and_counted_once():
    outcome = outcome_of(
        PAPERS["lundsten"], "lundsten-s531-floor", "lundsten-s531-optimal", "lundsten-s531-rlc-share"
    )
    floor, optimal, share = outcome.comparisons
    assert [one.verdict for one in (optimal, share)] == ["restated"] * 2
    assert "lundsten-s531-floor" in optimal.reason
    assert floor.verdict != "restated"


def test_the_link_alone_is_judged_by_the_same_rules():
    paper = PAPERS["lundsten"]
    (table,) = [one for one in paper.experiments if one.place == "Table 3"]
    alone = {row.published_id: paper.link_alone(row, exact(0.0)) for row in table.rows}
    assert list(alone.values()) == pytest.approx([100 / 9] * len(alone))
    wanted = tuple(row for row in table.rows if row.published_id.endswith(("64-576", "384-576")))
    effort = Effort(Rule.exactly(2), all_readings=False, is_exact=True)
    reproduction = Reproduction(paper, (replace(table, rows=wanted),), effort)
    assert reproduction.simulate()
    worst, slow = reproduction.outcome(complete=True, background=False).comparisons
    assert worst.link_alone[1] == "not_reproduced" and slow.link_alone[1] == "reproduced"


def test_a_derived_value_tests_nothing():
    paper = PAPERS["zhang"]
    assert len(paper.derived) == 6 and not set(paper.derived) & set(paper.calibrated)
    assert set(paper.derived) <= set(paper.published)
