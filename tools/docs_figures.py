"""Writes the figures of reproductions into the documentation, and checks that they are current.

    python tools/docs_figures.py RESULTS   take what RESULTS/PAPER/report.json hold, of `airpath reproduce`
    python tools/docs_figures.py           write the figures again, after a change of a document
    python tools/docs_figures.py --check   change nothing; a line for each passage that is not current

What documents quote is kept in `docs/papers/figures/PAPER.json`, so that a check takes no simulation. Tests
compare the first run of everything there with what the code gives, and read there what takes hundreds of runs
to say. A passage of a document is a template in a comment, followed by its expansion:

    fits <!--= {lundsten-t6-384-576} -->33.9<!--/--> %

A name in braces is the id of a published value, `PAPER|PLACE|ROW|COLUMN` for a grid (with its title behind
the place, if it has one), `PAPER.WHAT` (see `_of_paper`), `run|SCENARIO|KEY=VALUE;...|METRIC/UNIT`: the mean
of ten runs, made on the spot, of a metric of `airpath.replicate` divided by a number, or
`capture|SCENARIO|KEY=VALUE|FIGURE`: like `run`, but what `airpath compare` takes from the captures.
`{NAME@READING}` is the value under another reading, `{NAME@published}` what the paper has. `{says|CLAIM}` is
the words of a claim, with its verdict unless it holds. `{setting|SCENARIO|KEY}` is the value of a key in a
bundled scenario, `{setting|PAPER|PLACE|KEY}` that in all cells of a paper's table, figure or study which set
it. `{=EXPRESSION}` is what Python makes of `of('NAME')`, `runs('NAME')`, `each('PATTERN')`, a list,
`off('PATTERN')`, how far each lies from the published value in percent, and `math`. Behind `!` stands the
form: `pair` (published and measured, bold where the value is not reproduced), `share` (measured in percent of
published), `sd` (of a run) or `range` (where 95 % of single runs fall); optionally followed by a Python
format, such as `.1f`. In a table `[c: 20 ms; 50 ms => {zhang|Study 1|$c|384/576} |]` repeats what is behind
the arrow for each value of `$c`, as lines if it is a whole line; `[c, d: 1 ~ one; 2 ~ two => ...]` for pairs.
The head of a table stands in the document alone: a template without one leaves it as it is.

A number in the prose of a paper's page that is neither generated nor given (see `typed_numbers`) is a
mistake, too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import statistics
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import typed_numbers

import airpath
from airpath.experiments.versus_kernel.measured import Figures as FlowFigures
from airpath.experiments.versus_kernel.runs import simulate_once
from airpath.stats.estimate import estimate, t_quantile
from airpath_studies.base.claims import Claim
from airpath_studies.base.paper import Paper
from airpath_studies.base.verdict import COUNTED, MEASURED_VERDICTS, MET, MISSED
from airpath_studies.base.wording import VERDICT_WORDS, number, unit_name
from airpath_studies.papers import PAPERS
from airpath_studies.report.paper import verdict_words

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs/papers/figures"
PASSAGE = re.compile(r"<!--=(?P<template>.*?)-->(?P<text>.*?)<!--/-->", re.DOTALL)
NAME = re.compile(r"\{([^{}!]+)(?:!([^{}]+))?\}")
RULE = re.compile(r"\|[-:| ]+\|")
REPEAT = re.compile(r"\[(?P<names>\w(?:, \w)*): (?P<values>[^\[\]]*?) => (?P<text>[^\[\]]*)\]")
KINDS = ("values", "grids", "claims")


def condensed(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep of a reproduction's JSON what documents quote, and the first run of everything."""
    kept: dict[str, Any] = {kind: {} for kind in KINDS}
    for entry in entries:
        if "claim" in entry:
            first = [known["seed_1"] for known in entry["measured"]]
            kept["claims"][entry["id"]] = {"verdict": entry["verdict"], "seed_1": first}
        elif "column" in entry:
            kept["grids"][grid_key(entry)] = {name: entry[name] for name in ("measured", "seed_1")}
        else:
            readings = {name: _measured(known) for name, known in entry["readings"].items()}
            printed = entry["published"] if entry["corrected"] is None else entry["corrected"]
            told = {"published": printed, "unit": entry["unit"], "seed_1": entry["seed_1"]}
            if entry["link_alone"] is not None:
                told["link_alone"] = entry["link_alone"]["verdict"]
            kept["values"][entry["id"]] = {**told, **_measured(entry), "readings": readings}
    return kept


def asked_by(claim: Claim) -> str:
    """Digest of what a claim asks: of what its conditions say where every figure is the same."""
    said = [condition.check(lambda _: estimate([1.0, 1.5])).figures for condition in claim.conditions]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def grid_key(entry: dict[str, Any]) -> str:
    """Name an entry of a grid: its place, the grid's title if there is one, labels and column."""
    return "|".join(
        [
            entry["place"],
            *([entry["shows"]] if "shows" in entry else []),
            *entry["row"].values(),
            entry["column"],
        ]
    )


def _measured(entry: dict[str, Any]) -> dict[str, Any]:
    half = None if entry["ci_low"] is None else (entry["ci_high"] - entry["ci_low"]) / 2
    kept = {name: entry[name] for name in ("verdict", "measured", "runs")}
    return {**kept, "half_width": half, "sd": entry["sd"]}


def as_text(kept: dict[str, Any]) -> str:
    """Write JSON with a line for each entry, so that a difference shows what changed."""
    parts = []
    for kind in KINDS:
        lines = [f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in kept[kind].items()]
        parts.append(f"  {json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n  }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


@cache
def load() -> dict[str, dict[str, Any]]:
    """Load what is kept, by the name of the paper."""
    return {name: json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8")) for name in PAPERS}


class Figures:
    """Everything that a template can name."""

    def __init__(self, papers: dict[str, dict[str, Any]]) -> None:
        self._papers = papers
        self._entries = {name: entry for kept in papers.values() for name, entry in kept["values"].items()}
        for paper, kept in papers.items():
            self._entries |= {f"{paper}|{name}": entry for name, entry in kept["grids"].items()}

    def fill(self, template: str) -> str:
        """Replace the names of a template.

        Raises
        ------
        KeyError
            If there is nothing of a name.
        """
        return NAME.sub(lambda found: self._text(found[1], found[2] or ""), template)

    def _text(self, name: str, form: str) -> str:
        paper, _, what = name.partition(".")
        if paper in self._papers and what == "choices":
            return _choices(PAPERS[paper])
        if paper in self._papers and what.startswith("explored"):
            return _explored(paper, what)
        if paper in self._papers and what:
            return _of_paper(self._papers[paper], what)
        kind, _, rest = name.partition("|")
        if kind == "says":
            return self._says(rest)
        if kind == "setting":
            return _setting(*rest.split("|"))
        entry, known = self._found(name)
        kind, _, digits = form.rpartition(" ")
        kind, digits = (digits, "") if digits in FORMS else (kind, digits)
        if not digits and name.endswith("@published"):
            digits = "g"
        return FORMS[kind](
            entry, known, lambda value: format(value, f"z{digits}") if digits else number(value)
        )

    def _says(self, claim: str) -> str:
        """Say what a claim says, and if it is not known to hold, that too."""
        paper = claim.rpartition("-")[0]
        verdict = self._papers[paper]["claims"][claim]["verdict"]
        if verdict == "does_not_hold":
            return f"{SAID[claim]} **This does not hold.** {PAPERS[paper].not_reproduced[claim]}"
        return f"{SAID[claim]} This is not beyond doubt." if verdict == "not_checkable" else SAID[claim]

    def _found(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Look up the value of a name under the requested reading."""
        if name.startswith("="):
            made = {"measured": float(eval(name[1:], {"__builtins__": BUILTINS, **self._functions}))}
            return made, made
        name, _, reading = name.partition("@")
        kind, *of = name.split("|")
        entry = MADE[kind](*of) if kind in MADE else self._entries[name]
        if reading == "published":
            return entry, {"measured": entry["published"]}
        return entry, entry["readings"][reading] if reading else entry

    @property
    def _functions(self) -> dict[str, Any]:
        """What an expression can call."""

        def of(name: str) -> float:
            measured: float = self._found(name)[1]["measured"]
            return measured

        def each(pattern: str) -> list[float]:
            pattern, _, reading = pattern.partition("@")
            names = [name for name in self._entries if fnmatchcase(name, pattern)]
            return [of(f"{name}@{reading}" if reading else name) for name in names] or _unknown(pattern)

        def off(pattern: str) -> list[float]:
            pairs = zip(each(pattern), each(f"{pattern}@published"), strict=True)
            return [100 * (ours / published - 1) for ours, published in pairs]

        def runs(name: str) -> int:
            count: int = self._found(name)[1]["runs"]
            return count

        return {"of": of, "each": each, "off": off, "runs": runs, "math": math}


@cache
def _of_runs(scenario: str, setting: str, metric: str) -> dict[str, Any]:
    """Run a scenario with settings, `;` between them, under the seeds 1 to 10."""
    metric, _, unit = metric.partition("/")
    known = airpath.replicate(_set(scenario, setting), metric, min_runs=10, max_runs=10)
    return {"measured": known.mean / float(unit or 1)}


@cache
def _of_captures(scenario: str, setting: str, figure: str) -> dict[str, Any]:
    """Mean of a figure of `airpath.experiments.versus_kernel` for the first flow, under the seeds 1 to 10."""
    return {"measured": statistics.fmean(getattr(run, figure) for run in _analysed(scenario, setting))}


@cache
def _analysed(scenario: str, setting: str) -> list[FlowFigures]:
    chosen = _set(scenario, setting)
    with TemporaryDirectory() as folder:
        return [simulate_once(chosen, seed, Path(folder) / str(seed))[0] for seed in range(1, 11)]


@cache
def _setting(*where: str) -> str:
    """Look up a key of a bundled scenario, or the one value that the cells at a place of a paper have."""
    *names, key = where
    if len(names) == 1:
        value: Any = tomllib.loads(airpath.load(names[0]).text)
        for part in key.split("."):
            value = value[int(part) if isinstance(value, list) else part]
        return str(value)
    paper, place = names
    shown = [one for one in PAPERS[paper].experiments if one.place == place] or _unknown(place)
    cells = {quantity.cell for one in shown for quantity in one.quantities}
    values = {
        value for cell in cells for path, value in (*cell.overrides, ("runs", str(cell.runs))) if path == key
    }
    if len(values) > 1:
        raise ValueError(f"{key} has several values in {place} of {paper}")
    return values.pop() if values else _unknown(key)


def _set(scenario: str, setting: str) -> airpath.Scenario:
    chosen = airpath.load(scenario)
    for one in setting.split(";"):
        key, _, value = one.partition("=")
        chosen = chosen.with_(key, value)
    return chosen


COMPARED = (*COUNTED, "calibrated", "calibrated_not_met")
"""The verdicts that readings are compared by."""
_MISSED = (*MISSED, "calibrated_not_met")

SAID = {claim.id: claim.text for paper in PAPERS.values() for claim in paper.claims}
"""The words of claims, by id."""

BUILTINS = {known.__name__: known for known in (abs, len, list, max, min, round, sum, zip)}
"""Python names that an expression can use in addition to `math`."""

MADE = {"run": _of_runs, "capture": _of_captures}
"""Figures that are made on the spot, by their kind."""


def sd(known: dict[str, Any]) -> float:
    """Standard deviation of a single run."""
    if "sd" in known:
        spread: float = known["sd"]
        return spread
    # Figures kept by an earlier version, whose intervals were Student's.
    return known["half_width"] * math.sqrt(known["runs"]) / t_quantile(known["runs"])


def _pair(entry: dict[str, Any], known: dict[str, Any], shown: Callable[[float], str]) -> str:
    strong = "**" if known["verdict"] == "not_reproduced" else ""
    return f"{entry['published']:g} → {strong}{shown(known['measured'])}{strong}"


def _range(entry: dict[str, Any], known: dict[str, Any], shown: Callable[[float], str]) -> str:
    half = t_quantile(known["runs"]) * sd(known) * math.sqrt(1 + 1 / known["runs"])
    return f"{shown(known['measured'] - half)} to {shown(known['measured'] + half)}"


Form = Callable[[dict[str, Any], dict[str, Any], Callable[[float], str]], str]
FORMS: dict[str, Form] = {
    "": lambda _, known, shown: shown(known["measured"]),
    "pair": _pair,
    "share": lambda entry, known, shown: shown(100 * known["measured"] / entry["published"]),
    "sd": lambda _, known, shown: shown(sd(known)),
    "range": _range,
}
"""How a figure is written: from its value, what was measured under the reading asked for, and the format."""


def _of_paper(kept: dict[str, Any], what: str) -> str:
    """Say something of a whole paper.

    ``published``, how many values the paper has, and ``stated``, how many claims; ``values``, how many
    were measured and are counted; ``met``, how many of them came out, and ``link``, how many of these a
    link without TCP would meet; ``counts``, the verdicts on them; ``misses``, a table of the values that
    were not reproduced; ``claims``, how many hold of how many that could fail and did not help to choose;
    ``refuted`` and ``open``, the numbers of the claims that do not hold and that need more runs;
    ``counts@READING``, the numbers of all verdicts under a reading, the best first, for a row of a table;
    or the number of one verdict, by its name. ``choices``, a table of what the paper leaves open, comes
    from the paper itself. ``explored`` is a table of the set-ups that a search of the free choices found,
    and ``explored_says`` how it went; ``explored_swapped`` and ``explored_swapped_says``, with the halves
    exchanged.
    """
    what, _, reading = what.partition("@")
    measured = {name: value for name, value in kept["values"].items() if value["verdict"] != "background"}
    if reading:
        read = Counter(value["readings"][reading]["verdict"] for value in measured.values())
        return " | ".join(str(read[name]) for name in COMPARED)
    counts = Counter(value["verdict"] for value in measured.values())
    claims = Counter(claim["verdict"] for claim in kept["claims"].values())
    if what in ("published", "stated"):
        return str(len(kept["values" if what == "published" else "claims"]))
    if what == "values":
        return str(sum(value["verdict"] != "restated" for value in measured.values()))
    met = [value for value in measured.values() if value["verdict"] in MET]
    if what == "met":
        return str(len(met))
    if what == "link":
        return str(sum(value.get("link_alone") in MET for value in met))
    if what == "counts":
        return ", ".join(
            f"{counts[name]} {verdict_words(name, counts[name])}"
            for name in MEASURED_VERDICTS
            if counts[name]
        )
    if what == "claims":
        return f"{claims['holds']} of {sum(claims.values()) - claims['calibrated'] - claims['derived']}"
    if what in ("refuted", "open"):
        verdict = "does_not_hold" if what == "refuted" else "not_checkable"
        found = [name for name, claim in kept["claims"].items() if claim["verdict"] == verdict]
        return _in_words([name.rpartition("-c")[2] for name in found])
    if what == "misses":
        heads = ["| value | published | ours | unit | verdict |", "|---|---:|---:|---|---|"]
        missed = [name for name, value in measured.items() if value["verdict"] in _MISSED]
        missed.sort(key=lambda name: _MISSED.index(measured[name]["verdict"]))
        return "\n".join([*heads, *(_miss(name, measured[name]) for name in missed)])
    return str(counts[what]) if what in MEASURED_VERDICTS else _unknown(what)


def _in_words(items: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:]))) or "none"


def _choices(paper: Paper) -> str:
    heads = "| left open | tried | taken, because | used up |\n|---|---|---|---|"
    rows = (
        f"| {choice.open} ({choice.place}) | {choice.tried} | {choice.taken}: {choice.why} "
        f"| {', '.join(f'`{name}`' for name in choice.uses) or 'none'} |"
        for choice in paper.choices
    )
    return "\n".join([heads, *rows])


def _explored(paper: str, what: str) -> str:
    """Say what a search of the free choices found: with ``swapped`` that with the halves exchanged."""
    told = json.loads((FIGURES / f"explored-{paper}.json").read_text(encoding="utf-8"))
    found = told["searches"]["swapped" in what]
    rounds = found["rounds"]
    if what.endswith("says"):
        steps = ", ".join(f"{one['setups']} with {one['runs']} runs" for one in rounds)
        return (
            f"{len(told['choices'])} choices with {math.prod(map(len, told['choices'].values()))} set-ups, "
            f"chosen by {len(found['choose'])} values and tested by {len(found['test'])} ({steps})"
        )
    heads = [
        "",
        *told["choices"],
        "misfit",
        "came out",
        "misfit, tested",
        "came out, tested",
        "tested: verdicts",
    ]
    rows = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for place, one in enumerate(found["best"], 1):
        name = f"**{one['name']}**" if one["name"] else str(place)
        verdicts = ", ".join(
            f"{one['tested_verdicts'][verdict]} {VERDICT_WORDS[verdict]}"
            for verdict in COUNTED
            if one["tested_verdicts"].get(verdict)
        )
        cells = [
            name + ("*" if told["argued"] and one["argued"] else ""),
            *one["options"],
            number(one["misfit"]),
            f"{one['came_out']} of {len(found['choose'])}",
            number(one["tested_misfit"]),
            f"{one['tested_came_out']} of {len(found['test'])}",
            verdicts,
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _miss(name: str, value: dict[str, Any]) -> str:
    unit, ours = unit_name(value["unit"]), number(value["measured"])
    return f"| `{name}` | {value['published']:g} | {ours} | {unit} | {VERDICT_WORDS[value['verdict']]} |"


def _unknown(what: str) -> NoReturn:
    raise KeyError(what)


def repeated(template: str) -> str:
    """Write out the repetitions of a template, the innermost first."""

    def write(found: re.Match[str]) -> str:
        names, before, behind = (
            found["names"].split(", "),
            found.string[: found.start()],
            found.string[found.end() :],
        )
        is_line = before[-1:] in ("", "\n") and behind[:1] in ("", "\n")
        parts = []
        for values in found["values"].split("; "):
            text = found["text"]
            for name, value in zip(names, values.split(" ~ "), strict=True):
                text = text.replace(f"${name}", value)
            parts.append(text)
        return ("\n" if is_line else "").join(parts)

    while REPEAT.search(template):
        template = REPEAT.sub(write, template)
    return template


def headed(rows: str, table: str) -> str:
    """Put the head of a table in front of its rows, unless they have one."""
    head = table.lstrip("\n").split("\n")[:2]
    has_head = [len(lines) == 2 and RULE.fullmatch(lines[1]) for lines in (rows.split("\n")[1:3], head)]
    return "\n" + "\n".join(head) + rows if has_head[1] and not has_head[0] else rows


def rendered(text: str, figures: Figures) -> str:
    """Write a document with its figures.

    Raises
    ------
    ValueError
        If a passage names what there is not, or one within a sentence begins a line, where Markdown would
        take the line for HTML.
    """

    def render(passage: re.Match[str]) -> str:
        template = passage["template"]
        is_block = "\n" in template
        starts_line = text[: passage.start()].rsplit("\n", 1)[-1].strip() == ""
        if starts_line and not is_block:
            raise ValueError(f"'{passage[0][:60]}' begins a line: put a word before it")
        try:
            filled = figures.fill(repeated(template) if is_block else template)
            filled = headed(filled, passage["text"]) if is_block else filled
        except KeyError as error:
            raise ValueError(f"there is no figure {error}") from None
        return f"<!--={template}-->{filled if is_block else filled.strip()}<!--/-->"

    return PASSAGE.sub(render, text)


def without_figures(text: str) -> str:
    """Leave of each passage of a document the lines that it takes alone."""
    return PASSAGE.sub(lambda passage: "\N{WHITE SQUARE}" + "\n" * passage[0].count("\n"), text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the figures of reproductions into the documentation.")
    parser.add_argument("results", type=Path, nargs="?", help="folder with new results, PAPER/report.json")
    parser.add_argument("--check", action="store_true", help="change nothing, and say what is not current")
    options = parser.parse_args()
    if options.results:
        FIGURES.mkdir(exist_ok=True)
        for report in sorted(options.results.glob("*/report.json")):
            name = report.parent.name
            kept = condensed(json.loads(report.read_text(encoding="utf-8")))
            for claim in PAPERS[name].claims:
                kept["claims"][claim.id]["asks"] = asked_by(claim)
            (FIGURES / f"{name}.json").write_text(as_text(kept), encoding="utf-8")
        for found in sorted(options.results.glob("*/explored.json")):
            told = json.loads(found.read_text(encoding="utf-8"))
            text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
            (FIGURES / f"explored-{found.parent.name}.json").write_text(text, encoding="utf-8")
    figures, stale = Figures(load()), 0
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = document.read_text(encoding="utf-8")
        try:
            current = rendered(text, figures)
        except ValueError as error:
            print(f"error: {document.relative_to(ROOT)}: {error}", file=sys.stderr)
            return 2
        if options.check:
            for old, new in zip(PASSAGE.finditer(text), PASSAGE.finditer(current), strict=True):
                if old["text"] != new["text"]:
                    stale += 1
                    line = text.count("\n", 0, old.start()) + 1
                    print(f"{document.relative_to(ROOT)}:{line}: is '{old['text']}', not '{new['text']}'")
            page = document.stem if document.parent == FIGURES.parent else ""
            for line, found in typed_numbers.typed(page, without_figures(text)):
                stale += 1
                print(f"{document.relative_to(ROOT)}:{line}: '{found}' is typed: generate it")
        elif current != text:
            document.write_text(current, encoding="utf-8")
    if stale:
        print("Run `make docs-figures`.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
