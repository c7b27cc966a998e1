"""The page of a reproduction: everything that the terminal shows, with pictures, reasons and choices."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from airpath import _core
from airpath.report.document import Cell, Folded, Heading, Items, Note, Part, Picture, Source, Span, Table
from airpath.stats.estimate import Estimate
from airpath.terminal import counted
from airpath_studies.base.grid import Grid
from airpath_studies.base.paper import Paper
from airpath_studies.base.verdict import (
    CLAIM_VERDICTS,
    CLOSE_POINTS,
    CLOSE_RELATIVE,
    MISSED,
    REPRODUCED_POINTS,
    REPRODUCED_RELATIVE,
    SMALL_PERCENT,
)
from airpath_studies.base.wording import unit_name
from airpath_studies.outcome import PaperOutcome, Section
from airpath_studies.report.paper import (
    claim_words,
    claims_text,
    grid_table,
    heading,
    link_alone_text,
    measured_table,
    not_covered_text,
    published_text,
    scores_table,
    tally,
)
from airpath_studies.report.plots import (
    charts_picture,
    comparison_picture,
    maps_picture,
    planes_picture,
    received_picture,
    round_trips_picture,
    traces_picture,
    window_picture,
)


def title_of(paper: Paper) -> str:
    """Title of a paper's page."""
    return paper.name.capitalize() if paper.is_own else f"{paper.name.capitalize()}, reproduced"


def paper_page(outcome: PaperOutcome, command: str) -> Iterator[Part]:
    """Report on a reproduction in full; `command` gives the same page."""
    paper = outcome.paper
    yield Heading(title_of(paper), level=1)
    yield Note(f"{paper.citation}.", "citation")
    if outcome.incomplete:
        yield Note("Interrupted: what was not finished is missing.", "warning")
    yield tally(outcome)
    says = f"Measured under reading '{paper.default_reading}'"
    says += "; the last columns show the other readings." if outcome.other_readings else "."
    link = f"{said[0].upper()}{said[1:]}. " if (said := link_alone_text(outcome)) else ""
    yield Note(f"{says} {link}{not_covered_text(paper)}")
    if missed := list(_what_did_not_come_out(outcome)):
        yield Heading("What did not come out, and why")
        yield from missed
    if outcome.readings_compare:
        yield Note("How each reading would do if it judged everything on this page:")
        yield scores_table(outcome)
    for section in outcome.sections:
        shown = list(_section(outcome, section))
        yield Heading(heading(section.experiment))
        yield from shown or [Note("Not finished.")]
    yield from _claims(outcome)
    yield from _background(outcome)
    yield from _how_it_was_read(outcome)
    yield from _how_to_get_it_again(outcome, command)


def _what_did_not_come_out(outcome: PaperOutcome) -> Iterator[Part]:
    """The values and claims that did not come out, the worst first, with reasons."""
    for verdict in (*MISSED, "calibrated_not_met"):
        rows: list[tuple[Cell, ...]] = [
            (_link(c.published.id), published_text(c.published), c.reason)
            for c in outcome.comparisons
            if c.verdict == verdict
        ]
        heads = ("value", "published", "measured, and why it did not come out")
        yield from _missed(verdict, heads, rows)
    for judged in CLAIM_VERDICTS[1:]:
        rows = [
            (_link(result.claim.id), result.claim.text, result.reason)
            for result in outcome.claims
            if result.verdict == judged
        ]
        yield from _missed(judged, ("claim", "says", "why"), rows)


def _missed(verdict: str, heads: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> Iterator[Part]:
    if rows:
        says = f"{verdict.replace('_', ' ').capitalize()}: {counted(len(rows), heads[0])}"
        is_open = verdict in ("not_reproduced", "does_not_hold")
        yield Folded(says, [Table(*heads, rows=rows, kind="reasons")], is_open)


def _claims(outcome: PaperOutcome) -> Iterator[Part]:
    if not outcome.claims:
        return
    whose = "What the studies show" if outcome.paper.is_own else "Claims of the paper in other words"
    yield Heading("Claims")
    yield Note(
        f"{whose}, checked under reading '{outcome.paper.default_reading}': "
        f"{claims_text(result.verdict for result in outcome.claims)}. Orders need a difference whose 95 % "
        "interval excludes zero; the rules are the same for all papers."
    )
    table = Table("claim", "place", "says", "measured", "verdict", kind="claims")
    for result in outcome.claims:
        claim, findings = result.claim, result.findings
        reason = [Note(result.reason)] if result.reason else []
        figures = [f"{'' if finding.holds else 'not so: '}{finding.figures}" for finding in findings]
        shown = Folded(counted(len(findings), "condition"), [Items(figures)])
        verdict = Span(claim_words(result.verdict), result.verdict)
        table.add(claim.id, claim.place, claim.text, [*reason, shown], verdict, name=claim.id)
    yield table


def _section(outcome: PaperOutcome, section: Section) -> Iterator[Part]:
    experiment = section.experiment
    if section.comparisons:
        yield measured_table(outcome, section, averaged=True)
        for comparison in section.comparisons:
            # The reasons of values that did not come out are at the top.
            if comparison.row and comparison.row.remark and not comparison.reason:
                yield Note((Span(comparison.published.id, "bold"), f": {comparison.row.remark}."), "remark")
    if experiment.kind == "table" and _is_comparable(section):
        yield _comparison_picture(outcome, section)
    if experiment.question and all(grid.title for grid in experiment.grids):
        yield Note(experiment.question)
    for grid in experiment.grids:
        yield from _grid(section, grid)
    yield from _run_picture(outcome, section)
    known = {quantity: estimate for quantity, estimate in section.grid.items() if estimate is not None}
    if len(known) < len(section.grid):
        return  # Charts, planes and maps are drawn when all of them is measured.
    if experiment.charts:
        caption = f"{experiment.place}: {experiment.title}, with 95 % intervals."
        yield Picture(charts_picture(experiment.charts, known), caption)
    if experiment.planes:
        yield Picture(planes_picture(experiment.planes, known), f"{experiment.place}: {experiment.title}.")
    if experiment.maps:
        change = " Change in percent." if any(of.over for of in experiment.maps) else ""
        yield Picture(
            maps_picture(experiment.maps, known), f"{experiment.place}: {experiment.title}.{change}"
        )


def _grid(section: Section, grid: Grid) -> Iterator[Part]:
    shows = f"{grid.title}." if grid.title else section.experiment.question
    yield Note(f"{shows} Means with half the width of their 95 % intervals.".strip())
    yield grid_table(section, grid, on_page=True)
    yield from (Note(f"{', '.join(row.labels)}: {row.note}.", "remark") for row in grid.rows if row.note)


def _run_picture(outcome: PaperOutcome, section: Section) -> Iterator[Part]:
    """What is drawn of single runs."""
    experiment, window = section.experiment, section.window
    if window is not None and section.round_trip_s is not None:
        picture = round_trips_picture(window, section.round_trip_s)
    elif window is not None:
        picture = window_picture(window)
    elif section.curves:
        picture = received_picture(section.curves)
    elif section.traces:
        picture = traces_picture(section.traces)
    else:
        return
    seed, reading = outcome.effort.rule.first_seed, outcome.paper.default_reading
    yield Picture(picture, f"{experiment.place}: {experiment.title}; seed {seed}, reading '{reading}'.")


def _is_comparable(section: Section) -> bool:
    """Whether the values of a table can stand in one picture: all measured, in one unit."""
    known = section.comparisons
    return len({c.published.unit for c in known}) == 1 and all(c.row and c.row.cells for c in known)


def _comparison_picture(outcome: PaperOutcome, section: Section) -> Picture:
    known = [(c, c.row) for c in section.comparisons if c.row is not None]
    default = outcome.paper.default_reading

    def points(reading: str) -> list[Estimate | None]:
        return [c.measured if reading == default else c.others.get(reading) for c, _ in known]

    names = [row.cells[0].name for _, row in known]
    if len(set(names)) < len(names):
        names = [", ".join(row.labels) for _, row in known]
    picture = comparison_picture(
        names,
        unit=known[0][0].published.unit,
        published=[c.published.target for c, _ in known],
        measured={reading: points(reading) for reading in (default, *outcome.other_readings)},
    )
    place = section.experiment.place
    return Picture(picture, f"{place}: published values and what each reading gives, with 95 % intervals.")


def _background(outcome: PaperOutcome) -> Iterator[Part]:
    if not outcome.background:
        return
    values = [comparison.published for comparison in outcome.background]
    cells = [(v.quantity.replace("_", " "), published_text(v), unit_name(v.unit), v.place) for v in values]
    yield Heading("Background")
    yield Note("Definitions, recommendations and facts that the paper cites: nothing to simulate.")
    yield Table("quantity", "published", "unit", "place", rows=cells, kind="words")


def _how_it_was_read(outcome: PaperOutcome) -> Iterator[Part]:
    paper = outcome.paper
    readings = [
        (f"{reading.name}{' (judged)' if reading.name == paper.default_reading else ''}", reading.description)
        for reading in paper.readings
    ]
    yield Heading(f"How {'the papers were' if paper.is_own else 'the paper was'} read")
    yield Table(rows=paper.parameters, kind="facts")
    if not paper.is_own:
        yield Note(
            "What it leaves open has several interpretations. One of them is used to judge the whole paper; "
            "the others are shown for comparison."
        )
    yield Table(rows=readings, kind="facts")
    if paper.choices:
        yield Note(
            "What was free, and how it was settled. A value or claim that helped to choose tests nothing."
        )
        here = {each.published.id for each in outcome.comparisons} | {
            each.claim.id for each in outcome.claims
        }
        choices = [
            (choice.place, choice.open, choice.tried, choice.taken, choice.why, _links(choice.uses, here))
            for choice in paper.choices
        ]
        heads = ("place", "left open", "tried", "taken", "because", "calibrated")
        yield Table(*heads, rows=choices, kind="reasons")
    yield Folded(f"Base scenario {paper.scenario}.toml", [Source(paper.base.source)])


def _link(name: str) -> Span:
    """Link to the row of a value or a claim."""
    return Span(name, link=name)


def _links(names: Sequence[str], here: Container[str]) -> Cell:
    """Names of values and claims, those on the page as links."""
    spans = [_link(name) if name in here else Span(name) for name in names]
    return [piece for span in spans for piece in (", ", span)][1:] or "none"


def _how_to_get_it_again(outcome: PaperOutcome, command: str) -> Iterator[Part]:
    rule = outcome.effort.rule
    if rule.min_runs == rule.max_runs:
        stop = f"Every cell ran {rule.max_runs} times, with the seeds from {rule.first_seed} on."
    else:
        stop = (
            f"Every cell ran with the seeds from {rule.first_seed} on, until half the width of the 95 % "
            f"interval was at most {100 * rule.precision:g} % of the mean, or {rule.max_runs} times."
        )
    cells = [cell for section in outcome.sections for row in section.experiment.rows for cell in row.cells]
    if not outcome.effort.is_exact and any(cell.most_runs for cell in cells):
        stop += " Some cells have a number of runs of their own, which the tables show."
    versions = f"airpath {_core.version()}, random numbers {_core.RNG_VERSION}."
    rules = (
        f"Reproduced: the measured mean is within {100 * REPRODUCED_RELATIVE:g} % of the published value "
        f"(percentages: or {REPRODUCED_POINTS:g} points), or that lies where the mean of as many runs as the "
        f"paper averaged falls with 95 % probability, in an interval no wider than {100 * CLOSE_RELATIVE:g} "
        f"% of it (or {CLOSE_POINTS:g} points). Consistent: it lies in such an interval that is wider, as "
        f"runs scatter. Close: within {100 * CLOSE_RELATIVE:g} % (or {CLOSE_POINTS:g} points). Below "
        f"{SMALL_PERCENT:g} % the points shrink with the value. A limit holds on its right side, a range if "
        "both of its ends do. Calibrated: it helped to choose what the paper leaves open; not met, if what "
        "was chosen does not give it. Derived: it follows from other values. Restated: counted elsewhere. "
        "More runs are needed where the verdict could still change. A link without TCP is never idle: what "
        "it gives follows from headers and rates alone."
    )
    yield Heading("To get it again")
    yield Source(command)
    yield Note(f"{stop} {versions}")
    yield Note(rules)
