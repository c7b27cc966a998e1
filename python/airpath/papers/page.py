"""The page of a reproduction: one HTML file with everything in it, the same for the same seeds."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from airpath import _core
from airpath.papers.claims import ClaimResult
from airpath.papers.grid import Grid
from airpath.papers.panel_picture import charts_picture, planes_picture, traces_picture
from airpath.papers.paper import Paper, Row
from airpath.papers.picture import comparison_picture, received_picture, round_trips_picture, window_picture
from airpath.papers.report import Comparison, Report, Section
from airpath.papers.verdict import (
    CLAIM_VERDICTS,
    CLOSE_POINTS,
    CLOSE_RELATIVE,
    MISSED,
    REPRODUCED_POINTS,
    REPRODUCED_RELATIVE,
    VERDICTS,
    ClaimVerdict,
    Verdict,
)
from airpath.papers.wording import (
    CLAIM_WORDS,
    VERDICT_WORDS,
    averaged_columns,
    averaged_texts,
    claims_text,
    counted,
    grid_texts,
    heading,
    interval_text,
    not_covered_text,
    number,
    other_text,
    published_text,
    unit_name,
    verdict_words,
)
from airpath.replicate import Estimate

_LONG_TABLE = 12
"""Rows above which a table is folded."""

_CLAIM_COLOURS: dict[ClaimVerdict, Verdict] = {
    "holds": "holds",
    "does_not_hold": "not_reproduced",
    "not_checkable": "more_runs_needed",
    "calibrated": "calibrated",
}

_INTERRUPTED = '<p class="warning">Interrupted: what was not finished is missing.</p>'


def render(report: Report, command: str) -> str:
    """Write the page.

    Parameters
    ----------
    report : Report
        What came out.
    command : str
        The command that gives the same page.
    """
    paper = report.paper
    title = paper.name.capitalize() if paper.is_own else f"{paper.name.capitalize()}, reproduced"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="citation">{escape(paper.citation)}.</p>',
        _INTERRUPTED if report.incomplete else "",
        _scoreboard(report),
        _what_did_not_come_out(report),
        _scores(report),
        *(_section(report, section) for section in report.sections),
        _claims(report),
        _background(report),
        _how_it_was_read(report),
        _how_to_get_it_again(report, command),
    ]
    style = files("airpath.papers").joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)} - airpath</title>",
            f"<style>\n{style}</style></head>",
            "<body>",
            *(part for part in parts if part),
            "</body></html>\n",
        ]
    )


def _scoreboard(report: Report) -> str:
    counts = Counter(comparison.verdict for comparison in report.comparisons)
    tiles = [
        f'<div class="tile {name}"><b>{counts[name]}</b> {verdict_words(name, counts[name])}</div>'
        for name in VERDICTS
        if counts[name]
    ]
    says = f"Measured under reading '{report.paper.default_reading}'"
    says += "; the last columns show the other readings." if report.other_readings else "."
    text = escape(f"{says} {not_covered_text(report.paper)}")
    return f'<div class="tiles">{"".join(tiles)}</div>\n<p>{text}</p>'


def _what_did_not_come_out(report: Report) -> str:
    """List the values and claims that did not come out, the worst first, with reasons; nothing if all did."""
    parts = []
    for verdict in MISSED:
        rows = [
            _row(_link(c.published.id), escape(published_text(c.published)), escape(c.reason))
            for c in report.comparisons
            if c.verdict == verdict
        ]
        if rows:
            table = _table(["value", "published", "measured, and why it did not come out"], rows, "reasons")
            says = f"{VERDICT_WORDS[verdict].capitalize()}: {counted(len(rows), 'value')}"
            parts.append(_folded(says, table, is_open=verdict == "not_reproduced"))
    for judged in CLAIM_VERDICTS[1:]:
        rows = [
            _row(_link(result.claim.id), escape(result.claim.text), escape(result.reason))
            for result in report.claims
            if result.verdict == judged
        ]
        if rows:
            table = _table(["claim", "says", "why"], rows, "reasons")
            says = f"{CLAIM_WORDS[judged].capitalize()}: {counted(len(rows), 'claim')}"
            parts.append(_folded(says, table, is_open=judged == "does_not_hold"))
    return "\n".join(["<h2>What did not come out, and why</h2>", *parts]) if parts else ""


def _scores(report: Report) -> str:
    """Show what each reading would do if it judged; nothing if there is nothing to choose from."""
    if not report.readings_compare:
        return ""
    rows = []
    for name, counts in report.scores.items():
        said = f"{name} (judged)" if name == report.paper.default_reading else name
        cells = [said, *(str(counts[verdict]) for verdict in report.scored)]
        rows.append(_row(*map(escape, cells)))
    heads = ["reading", *(VERDICT_WORDS[verdict] for verdict in report.scored)]
    says = "How each reading would do if it judged everything on this page:"
    return f"<p>{says}</p>\n{_table(heads, rows, 'words')}"


def _claims(report: Report) -> str:
    if not report.claims:
        return ""
    whose = "What the studies show" if report.paper.is_own else "Claims of the paper in other words"
    says = (
        f"{whose}, checked under reading '{report.paper.default_reading}': "
        f"{claims_text(result.verdict for result in report.claims)}. Orders need a difference whose 95 % "
        "interval excludes zero; the rules are the same for all papers."
    )
    rows = [_claim(result) for result in report.claims]
    table = _table(["claim", "place", "says", "measured", "verdict"], rows, "claims")
    return f"<h2>Claims</h2>\n<p>{escape(says)}</p>\n{table}"


def _claim(result: ClaimResult) -> str:
    claim, judged = result.claim, result.verdict
    figures = "".join(
        f"<li>{'' if finding.holds else 'not so: '}{escape(finding.figures)}</li>"
        for finding in result.findings
    )
    reason = f"<p>{escape(result.reason)}</p>" if result.reason else ""
    shown = reason + _folded(counted(len(result.findings), "condition"), f"<ul>{figures}</ul>")
    cells = (f"<td>{escape(text)}</td>" for text in (claim.id, claim.place, claim.text))
    verdict = f'<td class="verdict {_CLAIM_COLOURS[judged]}">{CLAIM_WORDS[judged]}</td>'
    return f'<tr id="{escape(claim.id)}">{"".join(cells)}<td>{shown}</td>{verdict}</tr>'


def _section(report: Report, section: Section) -> str:
    experiment = section.experiment
    parts = [f"<h2>{escape(heading(experiment))}</h2>"]
    if section.comparisons:
        parts.append(_measured_table(report, section))
        parts.extend(_remark(comparison) for comparison in section.comparisons)
    if experiment.kind == "table" and _is_comparable(section):
        parts.append(_comparison_picture(report, section))
    if experiment.question and all(grid.title for grid in experiment.grids):
        parts.append(f"<p>{escape(experiment.question)}</p>")
    parts.extend(_grid(section, grid) for grid in experiment.grids)
    parts.append(_run_picture(report, section))
    parts.append(_charts_picture(section))
    parts.append(_planes_picture(section))
    known = [part for part in parts if part]
    return "\n".join(known if len(known) > 1 else [*known, "<p>Not finished.</p>"])


def _grid(section: Section, grid: Grid) -> str:
    """Show what was measured side by side."""
    experiment = section.experiment
    rows = []
    for row in grid.rows:
        cells = [*row.labels, *grid_texts(section, row)]
        rows.append(_row(*map(escape, cells)))
    unit = unit_name(grid.unit)
    behind = f", {unit}" if unit else ""
    heads = [*(grid.heads or experiment.columns), *(f"{column}{behind}" for column in grid.columns)]
    notes = [f"{', '.join(row.labels)}: {row.note}." for row in grid.rows if row.note]
    shows = f"{grid.title}." if grid.title else experiment.question
    says = f"{shows} Means with half the width of their 95 % intervals.".strip()
    said = [f'<p class="remark">{escape(note)}</p>' for note in notes]
    return "\n".join([f"<p>{escape(says)}</p>", _table(heads, rows, "numbers"), *said])


def _run_picture(report: Report, section: Section) -> str:
    """Show what is drawn of single runs."""
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
        return ""
    seed, reading = report.effort.rule.first_seed, report.paper.default_reading
    return _picture(picture, f"{experiment.place}: {experiment.title}; seed {seed}, reading '{reading}'.")


def _charts_picture(section: Section) -> str:
    """Show what is drawn over a parameter; nothing before all of it is complete."""
    experiment = section.experiment
    if not experiment.charts or None in section.grid.values():
        return ""
    known = {quantity: estimate for quantity, estimate in section.grid.items() if estimate is not None}
    caption = f"{experiment.place}: {experiment.title}, with 95 % intervals."
    return _picture(charts_picture(experiment.charts, known), caption)


def _planes_picture(section: Section) -> str:
    """Show what is drawn of two quantities against each other; nothing before all of it is complete."""
    experiment = section.experiment
    if not experiment.planes or None in section.grid.values():
        return ""
    known = {quantity: estimate for quantity, estimate in section.grid.items() if estimate is not None}
    return _picture(planes_picture(experiment.planes, known), f"{experiment.place}: {experiment.title}.")


def _remark(comparison: Comparison) -> str:
    """Write what a reader should know about a value that came out; the reasons of others stand above."""
    said = comparison.row.remark if comparison.row and not comparison.reason else ""
    return f'<p class="remark"><b>{escape(comparison.published.id)}</b>: {escape(said)}.</p>' if said else ""


def _measured_table(report: Report, section: Section) -> str:
    others = report.other_readings
    averaged, level = section.averaged_runs, report.paper.confidence
    heads = ["published", "measured", "95 % interval", *averaged_columns(averaged, level)]
    heads += ["runs", "unit", "verdict"]
    rows = []
    for comparison in section.comparisons:
        value, measured, row = comparison.published, comparison.measured, comparison.row
        if measured is None or row is None:
            continue
        cells = [
            *row.labels,
            published_text(value),
            number(measured.mean),
            interval_text((measured.ci_low, measured.ci_high), value.unit, value.quantity),
            *averaged_texts(averaged, comparison.like_the_paper, comparison.prediction, value, level),
            str(measured.n) if row.cells else "",
            unit_name(value.unit),
        ]
        judged = comparison.verdict
        tags = [f"<td>{escape(cell)}</td>" for cell in cells]
        tags.append(f'<td class="verdict {judged}">{VERDICT_WORDS[judged]}</td>')
        tags.extend(f'<td class="other">{escape(other_text(comparison, name))}</td>' for name in others)
        rows.append(f'<tr id="{escape(value.id)}">{"".join(tags)}</tr>')
    columns = section.experiment.columns
    return _table([*columns, *heads, *others], rows, "numbers" if len(columns) > 1 else "words")


def _table(heads: Sequence[str], rows: Sequence[str], kind: str) -> str:
    """Write a table that scrolls where it is wider than the page, folded where it is long."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "\n".join(rows)
    table = f'<div class="wide"><table class="{kind}">\n<tr>{head}</tr>\n{body}\n</table></div>'
    return table if len(rows) <= _LONG_TABLE or kind == "reasons" else _folded(f"{len(rows)} rows", table)


def _row(*cells: str) -> str:
    """Write a row of cells that are HTML."""
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _link(name: str) -> str:
    """Link to the row of a value or a claim."""
    return f'<a href="#{escape(name)}">{escape(name)}</a>'


def _folded(says: str, what: str, *, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(says)}</summary>{what}</details>"


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>\n" for name, text in facts)
    return f'<div class="wide"><table class="facts">\n{rows}</table></div>'


def _is_comparable(section: Section) -> bool:
    """Whether the values of a table can stand in one picture: all measured, in one unit."""
    known = section.comparisons
    return len({c.published.unit for c in known}) == 1 and all(c.row and c.row.cells for c in known)


def _comparison_picture(report: Report, section: Section) -> str:
    known = [(c, c.row) for c in section.comparisons if c.row is not None]
    default = report.paper.default_reading

    def points(reading: str) -> list[tuple[float, float] | None]:
        estimates = [c.measured if reading == default else c.others.get(reading) for c, _ in known]
        return [_point(estimate) for estimate in estimates]

    picture = comparison_picture(
        labels=_names(row for _, row in known),
        unit=known[0][0].published.unit,
        published=[c.published.target for c, _ in known],
        measured={reading: points(reading) for reading in (default, *report.other_readings)},
    )
    place = section.experiment.place
    return _picture(picture, f"{place}: published values and what each reading gives, with 95 % intervals.")


def _names(rows: Iterable[Row]) -> list[str]:
    """Name rows by their cells; by their labels where several have the same."""
    known = list(rows)
    names = [row.cells[0].name for row in known]
    return names if len(set(names)) == len(names) else [", ".join(row.labels) for row in known]


def _point(estimate: Estimate | None) -> tuple[float, float] | None:
    return None if estimate is None else (estimate.mean, estimate.half_width)


def _picture(png: bytes, caption: str) -> str:
    data, text = base64.b64encode(png).decode(), escape(caption)
    image = f'<img alt="{text}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def _background(report: Report) -> str:
    if not report.background:
        return ""
    values = [comparison.published for comparison in report.background]
    cells = [(v.quantity.replace("_", " "), published_text(v), unit_name(v.unit), v.place) for v in values]
    rows = [_row(*map(escape, row)) for row in cells]
    says = "Definitions, recommendations and facts that the paper cites: nothing to simulate."
    table = _table(["quantity", "published", "unit", "place"], rows, "words")
    return f"<h2>Background</h2>\n<p>{says}</p>\n{table}"


def _how_it_was_read(report: Report) -> str:
    paper = report.paper
    readings = [
        (f"{reading.name}{' (judged)' if reading.name == paper.default_reading else ''}", reading.description)
        for reading in paper.readings
    ]
    says = "What it leaves open can be read in several ways. One reading judges the whole paper; the others "
    says += "stand beside it."
    return "\n".join(
        [
            f"<h2>How {'the papers were' if paper.is_own else 'the paper was'} read</h2>",
            _facts(paper.parameters),
            "" if paper.is_own else f"<p>{says}</p>",
            _facts(readings),
            _choices(paper),
            _folded(f"Base scenario {paper.scenario}.toml", f"<pre>{escape(paper.base.source)}</pre>"),
        ]
    )


def _choices(paper: Paper) -> str:
    """Say what the paper leaves open and how that was settled; nothing if nothing is said of it."""
    if not paper.choices:
        return ""
    rows = [
        _row(
            *map(escape, (choice.place, choice.open, choice.tried, choice.taken, choice.why)),
            ", ".join(map(_link, choice.uses)) or "none",
        )
        for choice in paper.choices
    ]
    says = "What was free, and how it was settled. A value or claim that helped to choose tests nothing."
    heads = ["place", "left open", "tried", "taken", "because", "calibrated"]
    return f"<p>{says}</p>\n{_table(heads, rows, 'reasons')}"


def _how_to_get_it_again(report: Report, command: str) -> str:
    rule = report.effort.rule
    if rule.min_runs == rule.max_runs:
        stop = f"Every cell ran {rule.max_runs} times, with the seeds from {rule.first_seed} on."
    else:
        stop = (
            f"Every cell ran with the seeds from {rule.first_seed} on, until half the width of the 95 % "
            f"interval was at most {100 * rule.precision:g} % of the mean, or {rule.max_runs} times."
        )
    cells = [cell for section in report.sections for row in section.experiment.rows for cell in row.cells]
    if not report.effort.is_exact and any(cell.most_runs for cell in cells):
        stop += " Some cells have a number of runs of their own, which the tables show."
    versions = f"airpath {_core.version()}, random numbers {_core.RNG_VERSION}."
    rules = (
        f"Reproduced: the measured mean is within {100 * REPRODUCED_RELATIVE:g} % of the published value "
        f"(percentages: or {REPRODUCED_POINTS:g} points), or that lies where the mean of as many runs as the "
        f"paper averaged falls with 95 % probability, in an interval no wider than {100 * CLOSE_RELATIVE:g} "
        f"% of it (or {CLOSE_POINTS:g} points). Consistent: it lies in such an interval that is wider, as "
        f"runs scatter. Close: within {100 * CLOSE_RELATIVE:g} % (or {CLOSE_POINTS:g} points). A limit "
        "holds on its right side. Calibrated: it helped to choose what the paper leaves open. More runs are "
        "needed where the verdict could still change."
    )
    text = [f"<p>{escape(said)}</p>" for said in (f"{stop} {versions}", rules)]
    return "\n".join(["<h2>To get it again</h2>", f"<pre>{escape(command)}</pre>", *text])
