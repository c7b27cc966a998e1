"""Figures in documents: they are the committed ones, and these are what a full run gave."""

import re
import subprocess
import sys

import docs_figures
import pytest
import typed_numbers

import airpath
from airpath_studies.papers import PAPERS

VALUE = {
    "id": "p-1",
    "published": 24.55,
    "corrected": 34.55,
    "unit": "percent",
    "verdict": "not_reproduced",
    "measured": 50.0,
    "ci_low": 49.0,
    "ci_high": 51.0,
    "sd": 5.04,
    "runs": 100,
    "seed_1": 48.0,
    "link_alone": {"value": 34.0, "verdict": "reproduced"},
}
PARTS = ("measured", "ci_low", "ci_high", "sd", "runs", "verdict")
READ = {"stated": {name: VALUE[name] for name in PARTS}}
READ["other"] = {**READ["stated"], "measured": 36.0, "verdict": "reproduced"}
ENTRY = {"place": "Study 1", "row": {"case": "a"}, "column": "b", "measured": 50.0, "seed_1": 48.0}
CLAIMS = [
    {"id": f"p-c{i}", "claim": "", "verdict": said, "measured": []}
    for i, said in enumerate(("holds", "does_not_hold"))
]
KEPT = docs_figures.condensed([{**VALUE, "readings": READ}, ENTRY, {**ENTRY, "shows": "more"}, *CLAIMS])


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{p-1}", "50.0"),
        ("{p-1!.3f} and {p-1@other!.0f}", "50.000 and 36"),
        ("{p-1!pair}", "34.55 → **50.0**"),
        ("{p-1@other!pair .1f}", "34.55 → 36.0"),
        ("{p-1!share .0f} %", "145 %"),
        ("{p-1!sd}", "5.04"),
        ("{p-1!range .0f}", "40 to 60"),
        ("{p|Study 1|a|b} {p|Study 1|more|a|b!.0f}", "50.0 50"),
        ("{p.values}: {p.counts}, {p.claims}", "1: 1 not reproduced, 1 of 2"),
        ("| {p.counts@other} |", "| 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |"),
        ("{p.link} of {p.met}", "0 of 0"),
        ("{p.published} and {p.stated}", "1 and 2"),
        ("{p-1@published}, {p-1@published!.0f}", "34.55, 35"),
        ("{=of('p-1') - of('p-1@published')!.2f}", "15.45"),
        ("{=max(off('p-*'))!.0f} % in {=runs('p-1')!.0f} runs", "45 % in 100 runs"),
        ("{=sum(x / y for x, y in zip(each('p|*'), each('p|*'))) / math.pi!.3f}", "0.637"),
    ],
)
def test_a_template_is_filled_with_what_was_measured(template, text):
    figures = docs_figures.Figures({"p": KEPT})
    assert docs_figures.rendered(f"is <!--= {template} -->old<!--/-->.", figures) == (
        f"is <!--= {template} -->{text}<!--/-->."
    )


def test_runs_are_made_on_the_spot():
    figures = docs_figures.Figures({"p": KEPT})
    known = airpath.replicate(airpath.load("jayanathan-46"), "goodput_bps", min_runs=10, max_runs=10)
    template = "{run|jayanathan-46|tcp.sack=false|goodput_bps/1000!.3f}"
    assert figures.fill(template) == f"{known.mean / 1000:.3f}"


def test_a_table_stands_between_its_marks():
    text = docs_figures.rendered("<!--=\n{p.misses}\n-->\n<!--/-->\n", docs_figures.Figures({"p": KEPT}))
    table = "| `p-1` | 34.55 | 50.0 | % | not reproduced |"
    assert text.startswith("<!--=\n{p.misses}\n-->\n| value |") and text.endswith(f"\n{table}\n<!--/-->\n")


def test_rows_and_cells_repeat():
    cells = "[c: 1; 2 => {p-$c} |]"
    rows = docs_figures.repeated(f"| head |\n[r, s: a b ~ x; c ~ y => | $r ($s) | {cells}]\n| end |")
    assert rows == "| head |\n| a b (x) | {p-1} |{p-2} |\n| c (y) | {p-1} |{p-2} |\n| end |"
    with pytest.raises(ValueError):
        docs_figures.repeated("[r, s: a => $r $s]")


def test_the_head_of_a_table_stays():
    figures = docs_figures.Figures({"p": KEPT})
    text = docs_figures.rendered(
        "<!--=\n| one | {p-1} |\n-->\n| a | b |\n|---|--:|\n| old | 0 |\n<!--/-->\n", figures
    )
    assert text == "<!--=\n| one | {p-1} |\n-->\n| a | b |\n|---|--:|\n| one | 50.0 |\n<!--/-->\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("is <!--= {p-2} -->1<!--/-->", "no figure 'p-2'"),
        ("is <!--= {=max(each('q-*'))} -->1<!--/-->", r"no figure 'q-\*'"),
        ("is\n<!--= {p-1} -->1<!--/-->", "begins a line"),
    ],
)
def test_a_mistake_is_named(text, says):
    with pytest.raises(ValueError, match=says):
        docs_figures.rendered(text, docs_figures.Figures({"p": KEPT}))


def test_runs_take_several_settings():
    figures = docs_figures.Figures({"p": KEPT})
    one, both = (
        figures.fill(f"{{run|jayanathan-46|{keys}|goodput_bps/1000!.3f}}")
        for keys in ("tcp.sack=true", "tcp.sack=true;wired.delay=400 ms")
    )
    assert float(both) < float(one)


@pytest.mark.parametrize(
    "text",
    [
        "Goodput is 281 kbit/s.",
        "It takes 0.93 s.",
        "Drop-tail has 9 % more.",
        "Of the runs 37 stall.",
        "a mean of 12.25",
        "lost: 1,234 packets",
        "384 s instead of 384\nkbit/s",
    ],
)
def test_a_typed_result_is_found(text):
    ((line, number),) = typed_numbers.typed("alcaraz", f"# Head\n\n{text}\n")
    assert line == 3 and number in text


@pytest.mark.parametrize(
    "text",
    [
        "published 281.9 kbit/s, at 384 kbit/s, with a buffer of 50 SDUs",
        "in Tables 2 and 3.1, section 3.3, claims 22, 24 to 26 and Study 12 of RFC 5681",
        'four flows, 4 of 5; `tcp.x = 281` and "281 kbit/s" in 2006',
        "(3.1, 3.2) as in [31](page-271.md)",
    ],
)
def test_what_is_given_is_no_typed_result(text):
    assert list(typed_numbers.typed("alcaraz", text)) == []


PAGES = {page.stem: page for page in (docs_figures.ROOT / "docs/papers").glob("*.md") if page.stem in PAPERS}


@pytest.mark.parametrize("paper", [PAPERS[name] for name in sorted(PAGES)], ids=lambda one: one.name)
def test_no_result_is_typed(paper):
    page = PAGES[paper.name]
    texts = [
        docs_figures.without_figures(page.read_text(encoding="utf-8")),
        *paper.not_reproduced.values(),
        *(row.remark for one in paper.experiments for row in one.rows),
        *(text for known in paper.choices for text in (known.open, known.tried, known.taken, known.why)),
    ]
    assert [found for text in texts for found in typed_numbers.typed(paper.name, text)] == []


def test_a_claim_is_quoted_with_its_verdict_unless_it_holds():
    kept = docs_figures.load()
    figures = docs_figures.Figures(kept)
    for paper in ("extensions", "atlas"):
        for name, claim in kept[paper]["claims"].items():
            said = figures.fill(f"{{says|{name}}}").removeprefix(docs_figures.SAID[name])
            doubt = {"holds": "", "not_checkable": " This is not beyond doubt."}.get(claim["verdict"])
            assert said == doubt if doubt is not None else said.startswith(" **This does not hold.** ")


def test_claims_that_do_not_hold_and_that_need_more_runs_are_named():
    claims = {f"x-c{number}": {"verdict": "holds"} for number in range(1, 6)}
    kept = {"values": {}, "claims": claims}
    assert docs_figures._of_paper(kept, "refuted") == "none"
    for number in (2, 3, 5):
        claims[f"x-c{number}"] = {"verdict": "does_not_hold"}
    claims["x-c4"] = {"verdict": "not_checkable"}
    assert [docs_figures._of_paper(kept, what) for what in ("refuted", "open")] == ["2, 3 and 5", "4"]


def test_a_setting_is_that_of_the_scenario_or_of_all_cells_of_a_study():
    figures = docs_figures.Figures(docs_figures.load())
    assert figures.fill("{setting|umts-snoop|tcp.receive_buffer}") == "16 kB"
    assert figures.fill("{setting|extensions|Study 9|wired.rate}") == "1000 kbit/s"
    for unknown in ("umts-snoop|tcp.nothing", "extensions|Study 9|nothing", "extensions|Study 99|runs"):
        with pytest.raises(KeyError):
            figures.fill(f"{{setting|{unknown}}}")
    with pytest.raises(ValueError, match="several values"):
        figures.fill("{setting|extensions|Study 9|radio.dch.ues}")


@pytest.mark.slow
def test_documents_quote_the_current_figures():
    done = subprocess.run([sys.executable, docs_figures.__file__, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_mark_is_broken():
    for document in docs_figures.ROOT.glob("docs/**/*.md"):
        text = document.read_text()
        passages = len(docs_figures.PASSAGE.findall(text))
        assert text.count("<!--=") == text.count("<!--/-->") == passages, document
        assert not re.search(r"\[.*<!--=.*\]\(", text)
