"""Tables of sweeps in formats of other programs: CSV, LaTeX with booktabs, Markdown, JSON.

CSV (RFC 4180) and JSON have keys as they are in the scenario and the results, and numbers in full precision
and in the units of the results. LaTeX and Markdown have words, and numbers rounded as `report.sweep` says.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

from airpath.report.sweep import Cell, Row, SweepTable
from airpath.stats.estimate import Estimate
from airpath.terminal import clean

_LATEX = {
    **{one: f"\\{one}" for one in "{}$&%#_"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "''",
    "±": "$\\pm$",
    "µ": "$\\mu$",
    "×": "$\\times$",
    "–": "--",
    # At the start of a row they would be an optional argument of the line before.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#~&])")


def as_csv(table: SweepTable) -> str:
    """Write CSV: per point and metric the mean, both ends of its interval and the number of values."""
    names = ["point", *table.keys, "runs"]
    for column in table.columns:
        stem = f"{column.metric}_difference" if column.is_difference else column.metric
        names += [stem, f"{stem}_lower", f"{stem}_upper", f"{stem}_n"]
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(names)
    for row in table.rows:
        values = [row.point.parameters.get(key) for key in table.keys]
        texts = ["" if value is None else str(value) for value in values]
        numbers = [cell for known in row.estimates for cell in _numbers(known)]
        writer.writerow([row.point.point, *texts, row.point.runs, *numbers])
    return content.getvalue()


def as_latex(table: SweepTable) -> str:
    r"""Write LaTeX: a `table` with `booktabs`, which `\\usepackage{booktabs}` in the preamble provides."""
    keys = table.varied
    headings = [*table.labels.keys(keys), *(column.heading for column in table.columns)]
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{_latex(table.caption)}.}}",
        f"  \\begin{{tabular}}{{{'l' * len(keys)}{'r' * len(table.columns)}}}",
        "    \\toprule",
        f"    {' & '.join(map(_latex, headings))} \\\\",
        "    \\midrule",
    ]
    for row in table.rows:
        cells = [_latex(table.text_of(row.point, key)) for key in keys]
        cells += [_cell(table, row, number, _in_latex, _latex) for number in range(len(table.columns))]
        lines.append(f"    {' & '.join(cells)} \\\\")
    lines += ["    \\bottomrule", "  \\end{tabular}", "\\end{table}"]
    return "\n".join(lines) + "\n"


def as_markdown(table: SweepTable) -> str:
    """Write a table of GitHub Flavored Markdown, and the caption below it."""
    keys = table.varied
    headings = [*table.labels.keys(keys), *(column.heading for column in table.columns)]
    lines = [_markdown_row(map(_markdown, headings))]
    lines.append(_markdown_row([":--"] * len(keys) + ["--:"] * len(table.columns)))
    for row in table.rows:
        cells = [_markdown(table.text_of(row.point, key)) for key in keys]
        cells += [_cell(table, row, number, _in_markdown, _markdown) for number in range(len(table.columns))]
        lines.append(_markdown_row(cells))
    return "\n".join([*lines, "", f"{_markdown(table.caption)}.", ""])


def as_json(table: SweepTable) -> str:
    """Write JSON: what `SweepResults.as_json` has of the shown points, and differences."""
    shown = table.results.as_json([row.point for row in table.rows])
    if table.reference:
        shown["against"] = {key: texts[0] for key, texts in table.reference.items()}
        differences = [number for number, column in enumerate(table.columns) if column.is_difference]
        for point, row in zip(shown["points"], table.rows, strict=True):
            point["differences"] = {
                table.columns[number].metric: _json(row.estimates[number]) for number in differences
            }
    return json.dumps(shown, indent=2) + "\n"


FORMATS: dict[str, Callable[[SweepTable], str]] = {
    "csv": as_csv,
    "latex": as_latex,
    "markdown": as_markdown,
    "json": as_json,
}
"""Formats by name; `table` is the one of a terminal."""


def _numbers(known: Estimate | None) -> list[Any]:
    if known is None:
        return ["", "", "", 0]
    ends = [repr(known.ci_low), repr(known.ci_high)] if known.n > 1 else ["", ""]
    return [repr(known.mean), *ends, known.n]


def _json(known: Estimate | None) -> dict[str, Any] | None:
    if known is None:
        return None
    ends = (known.ci_low, known.ci_high) if known.n > 1 else (None, None)
    return {"mean": known.mean, "n": known.n, "ci_low": ends[0], "ci_high": ends[1]}


def _cell(
    table: SweepTable,
    row: Row,
    number: int,
    write: Callable[[Cell], str],
    escape: Callable[[str], str],
) -> str:
    if row.is_reference and table.columns[number].is_difference:
        return "reference"
    cell = table.cell(row, number)
    text = write(cell) if cell.mean else escape(cell.text)
    return f"{text} {escape(f'({cell.remark})')}" if cell.remark else text


def _in_latex(cell: Cell) -> str:
    """A number in mathematics, where a hyphen is a minus."""
    text = cell.text.replace(" ± ", r" \pm ").replace(" [", r"\ [")
    text = re.sub(r"e\+?(-?)0*(\d+)", r" \\cdot 10^{\1\2}", text)
    return f"${text}$"


def _in_markdown(cell: Cell) -> str:
    """A number as it is, except for brackets, which could be a link."""
    return cell.text.replace("[", r"\[").replace("]", r"\]")


def _latex(text: str) -> str:
    return "".join(_LATEX.get(one, one) for one in clean(text))


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", clean(text))


def _markdown_row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
