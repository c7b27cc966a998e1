"""Text and tables for the terminal: names from files stay text, and everything fits."""

from __future__ import annotations

import json
import re

import pytest
from rich.console import Console

from airpath.captures import analyze, predictions
from airpath.report.capture import capture_report
from airpath.report.document import Span, Table
from airpath.report.run import run_report
from airpath.report.terminal import show
from airpath.runs.folder import run_to_folder
from airpath.scenario import bundled, load
from airpath.terminal import clean, console_for, counted, say

HOSTILE = "[/x] [red]a[/] \x1b]0;owned\x07\n1  forged \u202e\x9b31m"
ADDRESS = "[2001:db8::2]:80"


def printed(width: int, table: Table, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Lines of a table."""
    show([table], Console(width=width))
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_names_are_neither_markup_nor_control_sequences(capsys):
    table = Table("name", HOSTILE.replace("\n", "\r"), title=HOSTILE)
    table.add(HOSTILE, ADDRESS)
    table.add("plain", Span(HOSTILE, "green"))
    show([table], Console(width=300))
    say(Console(width=300), ADDRESS, (HOSTILE, "red"))
    out = capsys.readouterr().out
    assert re.search(r"[^\n -~]", out) is None
    assert out.count("[/x] [red]a[/] \\x1b]0;owned\\x07\\n1  forged \\u202e\\x9b31m") == 4
    assert out.count("owned\\x07\\r1") == 1
    assert out.count(ADDRESS) == 2 and len(out.splitlines()) == 5


def test_clean_keeps_what_can_be_seen():
    assert clean("5 ± 2 µs … ŷ") == "5 ± 2 µs … ŷ"
    assert clean("a\tb\udcff") == "a\\tb\\udcff"


def test_counts_have_their_nouns():
    assert [counted(count, "timeout") for count in (0, 1, 2)] == ["0 timeouts", "1 timeout", "2 timeouts"]


WORDS = "a text that is long and folds between its words"


def example() -> Table:
    table = Table("flow", "rate\nkbit/s", "RTT ms\nmin", "RTT ms\nmax", "says", words=(0, 4))
    table.add("0.0 downlink", "384.0", "180", "1300", WORDS)
    table.add("0.0 uplink", "64.0", "170", "900", "little")
    return table


def test_a_table_that_fits_has_a_line_for_each_row(capsys):
    assert printed(100, example(), capsys) == [
        "                rate  RTT ms",
        "flow          kbit/s     min   max  says",
        f"0.0 downlink   384.0     180  1300  {WORDS}",
        "0.0 uplink      64.0     170   900  little",
    ]


def test_a_narrower_table_folds_between_words(capsys):
    lines = printed(70, example(), capsys)
    assert lines[2].endswith("  a text that is long and folds") and lines[3].strip() == "between its words"
    assert len(lines) == 5


def test_columns_that_do_not_fit_follow_below_with_the_keys_and_their_groups(capsys):
    assert printed(30, example(), capsys) == [
        "                rate  RTT ms",
        "flow          kbit/s     min",
        "0.0 downlink   384.0     180",
        "0.0 uplink      64.0     170",
        "              RTT ms",
        "flow             max",
        "0.0 downlink    1300",
        "0.0 uplink       900",
        "flow          says",
        "0.0 downlink  a text that is",
        "              long and folds",
        "              between its",
        "              words",
        "0.0 uplink    little",
    ]


def test_long_lines_go_on_indented_and_no_word_is_cut(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    path = "/a/path/that/is/longer/than/any/line/of/this/terminal"
    say(console_for(), f"  files in {path}, and ", ("some words more than fit", "green"))
    assert capsys.readouterr().out.splitlines() == [
        "  files in",
        f"    {path},",
        "    and some words more than fit",
    ]
    monkeypatch.delenv("COLUMNS")
    say(console_for(), WORDS * 3)
    assert capsys.readouterr().out == WORDS * 3 + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("name", bundled())
def test_every_summary_fits(name, width, monkeypatch, capsys):
    from airpath.runs.memory import run

    summary = run(load(name).with_("duration", "5 s"), probes=()).summary
    for flow in summary["flows"]:
        for cause in ("fast_retransmit", "partial_ack", "sack", "timeout", "go_back_n"):
            flow["retransmissions"][cause] = 12_345
    monkeypatch.setenv("COLUMNS", str(width))
    show(run_report(summary, name))
    check_fits(capsys.readouterr().out, width)


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("command", ["list", "run -h", "live -h", "compare -h", "plot -h", "-h"])
def test_lists_and_helps_fit(command, width, monkeypatch, airpath_command):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERMINAL_WIDTH", str(width))
    outcome = airpath_command(*command.split())
    assert outcome.code == 0
    check_fits(outcome.out, width)
    assert "[tcp]" in outcome.out or command != "compare -h"


def check_fits(text: str, width: int) -> None:
    """No line is too long, and nothing is shortened."""
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text and "..." not in re.sub(r"[A-Z,\]}]\.\.\.", "", text)


@pytest.mark.slow
def test_an_analysis_prints_ends_and_interfaces_as_they_are(tmp_path, capsys):
    scenario = load("umts-64-simple").with_("tcp.ip", "ipv6").with_("duration", "5 s")
    run_to_folder(scenario, 1, tmp_path / "run")
    report = analyze(tmp_path / "run" / "capture.pcapng")
    for one in report["connections"]:
        for view in one["views"]:
            view["interface"] = "[/x]\x1b]0;owned\x07"
        for flow in one["flows"]:
            flow["interface"] = "[/x]\x1b]0;owned\x07"
            flow["models"] = predictions(flow)
    show(capture_report(report, "run"))
    out = capsys.readouterr().out
    assert "\x1b" not in out and "[/x]\\x1b]0;owned\\x07" in out
    assert report["connections"][0]["client"].startswith("[")
    assert report["connections"][0]["client"] in "".join(out.split())


def test_an_error_is_one_clean_line(airpath_command):
    outcome = airpath_command("run", "\x1b]0;owned\x07no\nsuch")
    assert outcome.err.startswith("error: \\x1b]0;owned\\x07no such: no such scenario; ")
    assert outcome.err.count("\n") == 1 and "\x1b" not in outcome.err


def test_a_scenario_whose_name_is_markup_runs_on_a_terminal(tmp_path, airpath_command, monkeypatch):
    import sys

    file = tmp_path / "[red]x[\\nope].toml"
    file.write_text(load("umts-64-simple").with_("duration", "1 s").text)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    outcome = airpath_command("run", file, "--json")
    assert outcome.code == 0 and json.loads(outcome.out)["flows"]
