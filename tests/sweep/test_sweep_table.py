"""Tables of sweeps: rounding, formats, differences by pairs, several folders."""

from __future__ import annotations

import csv
import json
import math
import re

import pytest
from conftest import check_error

import airpath
from airpath.errors import SweepError
from airpath.experiments.sweep.plan import read_plan
from airpath.experiments.sweep.results import read_results
from airpath.experiments.sweep.store import Store
from airpath.plots.sweep.quantity import matches, same
from airpath.report.sweep import rounded
from airpath.report.sweep_formats import as_csv, as_latex, as_markdown
from airpath.stats.estimate import Estimate, estimate, is_lopsided

GRID = """
scenario = ["umts-384", "lte-5mhz"]
metrics = ["goodput_bps", "rtt_ms.mean"]
runs = 4
[axes]
tcp.cc = ["{ cubic = {} }", "reno"]
"radio.*.downlink.queue" = ['{ droptail = { bytes = "1 MB" } }', "codel"]
"""


def values_of(number, seed):
    """Made-up goodput in bit/s and RTT in ms: most of the spread is common to all points."""
    return 2e6 + 1e5 * number + 4e5 * seed + 100 * ((number * seed) % 3), 100.0 + number + seed / 7


def swept(folder, text=GRID, values=values_of, keep=lambda number, seed: True):
    """Write a sweep's folder with made-up results."""
    folder.mkdir(exist_ok=True)
    (folder / "sweep.toml").write_text(text)
    plan = read_plan(folder / "sweep.toml")
    rows = [
        (number, (seed,), [tuple(values(number, seed))[: len(plan.metrics)]])
        for number in range(len(plan.points))
        for seed in range(1, plan.rule.max_runs + 1)
        if keep(number, seed)
    ]
    with Store(folder / "out", plan) as store:
        store.append(rows)
    return folder / "out"


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return swept(tmp_path_factory.mktemp("grid"))


# GUM (JCGM 100:2008) 7.2.6: at most two digits of the uncertainty, and the estimate to the same place.
@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (10.047_62, 0.002_74, ("10.0476", "0.0027")),
        (19.7554, 0.283, ("19.76", "0.28")),
        (0.5, 0.0996, ("0.50", "0.10")),
        (123_456.0, 7_890.0, ("123500", "7900")),
        (123_456.0, 99_600.0, ("120000", "100000")),
        (9.96, 9.96, ("10.0", "10.0")),
        (-0.0004, 0.21, ("0.00", "0.21")),
        (1234.5678, 0.0, ("1234.57", "0")),
        (1234.5678, None, ("1234.57", "")),
        (1234.5678, math.nan, ("1234.57", "")),
    ],
)
def test_numbers_are_rounded_to_what_the_interval_allows(mean, half, expected):
    if expected[0] == "10.0":
        expected = ("10", "10")
    assert rounded(mean, half) == expected


# Sides of the interval: 0.56 below and 0.14 above; then sums of 0.7 that differ by 19 % and 21 % of its half.
@pytest.mark.parametrize(
    ("mean", "low", "high", "lopsided"),
    [
        (2.04, 1.48, 2.18, True),
        (2.04, 2.04 - 0.35 * 1.095, 2.04 + 0.35 * 0.905, False),
        (2.04, 2.04 - 0.35 * 1.105, 2.04 + 0.35 * 0.895, True),
        (2.04, 2.04 - 0.35 * 0.895, 2.04 + 0.35 * 1.105, True),
        (1.00, 0.03, 2.03, False),
        (1.02, -0.02, 1.98, True),  # 1.02 ± 1.00 would not contain 0.
        (0.00, 0.00, 0.00, False),
        (1.00, 1.00, 1.00, False),
        (1.00, math.nan, math.nan, False),
    ],
)
def test_half_of_an_interval_stands_for_it_where_it_is_nearly_symmetric(mean, low, high, lopsided):
    n = 1 if math.isnan(low) else 3
    known = Estimate(mean=mean, sd=0.1, n=n, ci_low=low, ci_high=high, values=(mean,) * n)
    assert is_lopsided(known) is lopsided


def test_an_asymmetric_interval_is_written_by_its_ends(tmp_path, airpath_command):
    # One of the four runs has a far smaller goodput, one of point 1 a far larger RTT.
    def values(number, seed):
        far = seed == 4
        return 4e6 + 1e3 * seed - 3e5 * far, 100 + seed + 400 * far * (number == 1)

    out = swept(tmp_path, values=values)
    known = read_results(out).points[1].estimates["goodput_bps"]
    assert known.mean - known.ci_low > 1.3 * (known.ci_high - known.mean)
    mean, low, high = (f"{number / 1e6:.2f}" for number in (known.mean, known.ci_low, known.ci_high))
    table = airpath.sweep_table(out)
    assert f"{mean} \\[{low}, {high}\\] |" in as_markdown(table)
    assert "or \\[its ends\\] where it is not symmetric" in as_markdown(table)
    rows = latex_cells(as_latex(table))
    assert rows[2][3] == f"${mean}\\ [{low}, {high}]$"
    assert re.fullmatch(r"\$\d+ \\pm \d+\.?\d*\$|\$[\d.]+ \\pm [\d.]+\$", rows[1][4])
    shown = airpath_command("results", out).out
    assert f"{mean} [{low}, {high}]" in shown and "or [its ends] where it is not symmetric" in shown
    assert f"{mean} [{low}, {high}]" in table._repr_html_()


def test_a_count_equal_in_all_runs_has_the_interval_that_replicate_gives_it(tmp_path, airpath_command):
    text = 'scenario = "umts-384"\nmetrics = ["timeouts", "rtt_ms.mean"]\nruns = 130\n'
    folder = swept(tmp_path, text, lambda _number, seed: (0, 100.0 + seed))
    known = read_results(folder).points[0].estimates["timeouts"]
    # Clopper and Pearson: 1 - 0.05^(1/130).
    assert (known.mean, known.ci_low, known.n) == (0, 0, 130)
    assert known.ci_high == pytest.approx(0.02278, rel=1e-3)
    assert "0.000 [0.000, 0.023]" in airpath_command("results", folder).out


def test_equal_runs_have_an_interval_without_width(tmp_path):
    text = 'scenario = "umts-384"\nmetrics = ["timeouts", "rtt_ms.mean"]\nruns = 4\n'
    known = read_results(swept(tmp_path, text, lambda *_: (0, 100.0))).points[0].estimates["timeouts"]
    assert (known.ci_low, known.ci_high) == (0, 0)


def test_csv_has_full_precision_and_the_ends_of_the_intervals(grid, airpath_command):
    outcome = airpath_command("results", grid, "--format", "csv")
    assert (outcome.code, outcome.err) == (0, "")
    rows = list(csv.DictReader(outcome.out.splitlines()))
    assert len(rows) == 8
    for row, point in zip(rows, read_results(grid).points, strict=True):
        known = point.estimates["goodput_bps"]
        names = ("goodput_bps", "goodput_bps_lower", "goodput_bps_upper")
        assert tuple(float(row[name]) for name in names) == (known.mean, known.ci_low, known.ci_high)
        assert (row["goodput_bps_n"], row["runs"]) == ("4", "4")
        assert {key: row[key] for key in point.parameters} == point.parameters


def test_differences_are_those_of_runs_with_the_same_seeds(grid, airpath_command):
    found = json.loads(airpath_command("results", grid, "--format", "json", "--against", "cc=reno").out)
    points = {point.point: point for point in read_results(grid).points}
    assert found["against"] == {"tcp.cc": "reno"}
    for point in found["points"]:
        # Points 2 and 3, 6 and 7 are Reno's, with the queues of 0 and 1, 4 and 5.
        number = point["point"]
        if number in (2, 3, 6, 7):
            assert point["differences"]["goodput_bps"] is None
            continue
        pairs = points[number].values[:, 0] - points[number + 2].values[:, 0]
        expected = estimate(pairs.tolist())
        shown = point["differences"]["goodput_bps"]
        assert (shown["mean"], shown["ci_low"]) == (expected.mean, expected.ci_low)
        alone = points[number].estimates["goodput_bps"]
        assert shown["ci_high"] - shown["ci_low"] < 0.01 * (alone.ci_high - alone.ci_low)


def test_pairs_are_of_seeds_that_both_have_and_of_values_that_both_measured(tmp_path):
    def values(number, seed):
        goodput, rtt = values_of(number, seed)
        return goodput, math.nan if (number, seed) == (0, 2) else rtt

    out = swept(tmp_path, values=values, keep=lambda number, seed: (number, seed) != (2, 3))
    table = airpath.sweep_table(out, against={"tcp.cc": "reno"})
    goodput, rtt = (table.rows[0].estimates[number] for number in (1, 3))
    assert goodput.values == tuple(values_of(0, seed)[0] - values_of(2, seed)[0] for seed in (1, 2, 4))
    assert rtt.values == tuple(values_of(0, seed)[1] - values_of(2, seed)[1] for seed in (1, 4))


def test_a_point_without_partner_is_told(tmp_path):
    text = GRID + '[[list]]\nscenario = "umts-384"\n"tcp.mss" = "536 B"\n'
    text = text.replace('scenario = ["umts-384", "lte-5mhz"]', 'scenario = "umts-384"')
    table = airpath.sweep_table(swept(tmp_path, text), against=["cc=reno"])
    assert table.warnings == ["1 point without partner: nothing else equal has congestion control Reno"]
    assert table.rows[-1].estimates[1] is None and not table.rows[-1].is_reference


@pytest.mark.parametrize(
    ("words", "key", "cause", "remedy"),
    [
        (("--against", "cc=vegas"), "--against", "no point has tcp.cc = vegas", "reno"),
        (("--against", "ccc=reno"), "--against", "no parameter 'ccc'", "tcp.cc"),
        (("--against", "reno"), "--against", "not KEY=VALUE", "tcp.cc"),
        (("--against", "cc=reno", "--against", "cc=cubic"), "--against", "two values", "one point"),
        (("--where", "cc=cubic", "--where", "queue=fifo"), "--where", "no point has", "codel"),
        (("--label", "reno"), "--label", "not KEY=TEXT", "choose"),
        (("--label", "vegas=Vegas"), "--label", "no parameter, metric or value 'vegas'", "Reno"),
        (("--format", "xlsx"), "--format", "no format 'xlsx'", "latex"),
        (("--format", "csv", "--json"), "--json", "contradicts", "leave"),
    ],
)
def test_a_mistake_is_answered_with_its_option(grid, airpath_command, words, key, cause, remedy):
    check_error(airpath_command("results", grid, *words), key, cause, remedy)


@pytest.mark.parametrize("bytes_", ['"1 MB"', '"1000 kB"', "1000000", '"1000000 B"'])
def test_values_are_compared_as_quantities_in_tables_too(grid, bytes_):
    where = [f"queue={{droptail.bytes={bytes_}}}"]
    assert [row.point.point for row in airpath.sweep_table(grid, where=where).rows] == [0, 2, 4, 6]
    assert airpath.plot_sweep(grid, "cc", "goodput_bps", by="scenario", where=where).data
    with pytest.raises(SweepError, match="no point has"):
        airpath.sweep_table(grid, where=['queue={droptail.bytes="2 MB"}'])


def test_equal_quantities_are_one_value():
    for one, other in [
        ("1 MB", "1000 kB"),
        ('{ a = "1 s", b = [1, "x"] }', '{b=[1.0,"x"],a="1000 ms"}'),
        ("{ reno = {} }", "reno"),
        ("true", True),
    ]:
        assert same(one) == same(other)
    for one, other in [
        ("1 MB", "1 MiB"),
        ('{ a = "1 s" }', '{ a = "1 B" }'),
        ("[1]", "[1, 1]"),
        ("1 MB", None),
    ]:
        assert not matches(same(one), same(other))


def latex_cells(text: str) -> list[list[str]]:
    """Cells of a LaTeX table, after a check of all that would keep it from being compiled."""
    lines = text.splitlines()
    open_, rows, columns = [], [], 0
    assert "\\usepackage{booktabs}" in lines[0] and lines[0].startswith("%")
    for line in lines[1:]:
        line = line.strip()
        bare = re.sub(r"\\(?:[{}$&%#_\\]|[A-Za-z]+)", "", line)
        assert bare.count("{") == bare.count("}")
        if found := re.fullmatch(r"\\(begin|end)\{(\w+)\}(?:\{([lr]+)\})?", line):
            if found[1] == "begin":
                open_.append(found[2])
                columns = len(found[3] or "") or columns
            else:
                assert open_.pop() == found[2]
        elif line in ("\\toprule", "\\midrule", "\\bottomrule"):
            assert open_ == ["table", "tabular"]
        elif line.endswith("\\\\"):
            assert open_ == ["table", "tabular"]
            cells = re.split(r"(?<!\\)&", line.removesuffix("\\\\"))
            assert len(cells) == columns
            rows.append([check_latex_text(cell.strip()) for cell in cells])
        else:
            assert line == "\\centering" or line.startswith("\\caption{")
            if line.startswith("\\caption{"):
                check_latex_text(line.removeprefix("\\caption{").removesuffix("}"))
    assert not open_
    return rows


def check_latex_text(text: str) -> str:
    """Nothing special is bare, mathematics is closed, and only commands of LaTeX itself are there."""
    known = "textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|pm|mu|times|cdot"
    plain = re.sub(rf"\\(?:[{{}}$&%#_]|(?:{known})(?![A-Za-z]))", "", text)
    parts = plain.split("$")
    assert len(parts) % 2 == 1, text
    for outside in parts[::2]:
        assert not set(
            outside.replace("{}", "").replace("{[}", "").replace("{]}", "").replace("{*}", "")
        ) & set("\\{}&%#_^~"), text
    assert plain.isascii(), text
    return text


@pytest.mark.parametrize("against", [(), ("cc=reno",)])
def test_latex_compiles(grid, against):
    rows = latex_cells(as_latex(airpath.sweep_table(grid, against=against)))
    assert len(rows) == 9
    assert rows[0][:4] == ["scenario", "congestion control", "queue", "goodput (Mbit/s)"]
    assert re.fullmatch(r"\$3\.\d+ \\pm \d\.\d+\$", rows[1][3])


NASTY = 'a\\b {c} $d$ e&f g%h #i j_k ^l ~m <n> |o "p" [q] *r* ± µ'


def test_texts_are_escaped_in_latex_and_markdown(grid):
    table = airpath.sweep_table(grid, labels=[f"cc={NASTY}", f"reno={NASTY}", "goodput_bps=[x]"])
    rows = latex_cells(as_latex(table))
    assert rows[0][1] == rows[3][1] and rows[0][3] == "{[}x{]} (Mbit/s)"
    lines = as_markdown(table).splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[:10]]
    assert {len(row) for row in cells} == {5}
    assert set(lines[1]) <= set("|:- ")
    shown = re.sub(r"\\([\\`*_\[\]<>|#~&])", r"\1", cells[0][1].strip())
    assert shown == NASTY


@pytest.mark.parametrize("text", ["with, comma", 'with "quotes"', "=1+1"])
def test_csv_can_be_read_back(tmp_path, text):
    values = f"['{{ cubic = {{}} }}', 'reno'] # {text}"
    out = swept(tmp_path, GRID.replace('["{ cubic = {} }", "reno"]', values))
    rows = list(csv.reader(as_csv(airpath.sweep_table(out)).splitlines()))
    assert {len(row) for row in rows} == {len(rows[0])}


def test_labels_are_in_every_part_of_a_table_of_80_columns(grid, airpath_command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = airpath_command("results", grid, "--against", "cc=reno", "--label", "lte-5mhz=LTE").out
    assert all(len(line) <= 80 for line in shown.splitlines())
    for number in range(8):
        lines = [line for line in shown.splitlines() if line.split()[:1] == [str(number)]]
        assert len(lines) >= 2
        for line in lines:
            assert ("LTE" if number >= 4 else "umts-384") in line
            assert ("Reno" if number % 4 >= 2 else "CUBIC") in line
    assert "Mbit/s" in shown and "ms" in shown


def test_several_folders_are_one_table(tmp_path, airpath_command):
    text = GRID.replace('["umts-384", "lte-5mhz"]', '"{}"')
    folders = [swept(tmp_path / name, text.replace("{}", name, 1)) for name in ("umts-384", "umts-128")]
    table = airpath.sweep_table(*folders, against={"tcp.cc": "reno"})
    assert table.keys == ("scenario", "tcp.cc", "radio.*.downlink.queue")
    assert [row.point.parameters["scenario"] for row in table.rows] == 4 * ["umts-384"] + 4 * ["umts-128"]
    assert sum(row.is_reference for row in table.rows) == 4
    rows = list(csv.DictReader(airpath_command("results", *folders, "--format", "csv").out.splitlines()))
    assert [row["scenario"] for row in rows] == 4 * ["umts-384"] + 4 * ["umts-128"]


def test_what_distinguishes_folders_is_told(tmp_path):
    text = GRID.replace('["umts-384", "lte-5mhz"]', '"umts-384"').replace(
        "[axes]", '[set]\nduration = "5 s"\n[axes]'
    )
    one = swept(tmp_path / "one", text)
    two = swept(tmp_path / "two", text.replace("5 s", "9 s").replace('"rtt_ms.mean"', '"segments_sent"'))
    table = airpath.sweep_table(one, two)
    assert [row.point.parameters["duration"] for row in table.rows] == 4 * ["5 s"] + 4 * ["9 s"]
    assert [column.metric for column in table.columns] == ["goodput_bps", "rtt_ms.mean", "segments_sent"]
    assert table.rows[0].estimates[2] is None and table.rows[7].estimates[1] is None
    three = swept(tmp_path / "three", text)
    names = [row.point.parameters["sweep"] for row in airpath.sweep_table(one, three).rows]
    assert names == 4 * [str(one)] + 4 * [str(three)]


def test_folders_of_different_versions_or_levels_are_not_mixed_silently(tmp_path):
    text = GRID.replace('["umts-384", "lte-5mhz"]', '"umts-384"')
    one, two = swept(tmp_path / "one", text), swept(tmp_path / "two", text)
    manifest = json.loads((two / "manifest.json").read_text())
    (two / "manifest.json").write_text(json.dumps(manifest | {"airpath": "0.0.1"}))
    assert any("different versions" in warning for warning in airpath.sweep_table(one, two).warnings)
    runs = manifest["runs"] | {"confidence": 0.9}
    (two / "manifest.json").write_text(json.dumps(manifest | {"runs": runs}))
    with pytest.raises(SweepError, match="different confidence"):
        airpath.sweep_table(one, two)


def test_a_table_shows_itself_in_a_notebook(grid):
    shown = airpath.sweep_table(grid, against={"cc": "reno"})._repr_html_()
    assert shown.count("<tr") == 9 and "reference" in shown
