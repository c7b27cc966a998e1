"""`airpath studio` in a browser: change a scenario, run it again, compare, undo, links there and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airpath import _core, load
from airpath.scenario import bundled
from studio.conftest import Server, settle

# A minute together: `make test` opens pages in test_browser.py.
pytestmark = pytest.mark.slow

GOODPUT = "store.run.summary.flows[0].goodput_bps"
RATE, DELAY, CC = "radio.dch.downlink.rate", "wired.delay", "tcp.cc"


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[tuple[Any, str]]:
    """A browser admitted by a server, and the base address of links."""
    server = Server()
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.new_page().goto(server.address)
    yield context, f"{server.origin}/"
    context.close()
    server.stop()


class Studio:
    """The studio in a tab."""

    def __init__(self, context: Any, address: str, link: str = "#umts-384?seed=1") -> None:
        self.view = context.new_page()
        self.said: list[str] = []
        self.view.on("console", lambda message: self.said.append(message.text))
        self.view.on("pageerror", lambda error: self.said.append(str(error)))
        self.view.goto(address + link)
        self.view.locator("html[data-ready=run]").wait_for()

    def state(self, what: str) -> Any:
        return self.view.evaluate(f"import('studio/main').then(({{store}}) => {what})")

    def until(self, what: str) -> None:
        """Wait until something is so: an expression of `store`."""
        for _ in range(400):
            if self.state(what):
                return
            self.view.wait_for_timeout(25)
        raise AssertionError(f"not so: {what}; {self.state('store.state.problem')}")

    def run(self) -> None:
        """Wait until the picture is what the settings say, and drawn."""
        self.until(
            "store.state.variants.every((own, n) => JSON.stringify(own.settings) === "
            "JSON.stringify(store.state.wanted[n])) && !store.state.problem && "
            "store.state.resolved.settings === store.state.wanted[store.state.shown]"
        )
        settle(self.view)

    def row(self, key: str) -> Any:
        return self.view.locator(f'.row[data-key="{key}"]')

    def fill(self, key: str, text: str) -> None:
        self.row(key).locator("input[type=text]").fill(text)

    @property
    def changes(self) -> list[list[str]]:
        return self.state("store.state.wanted.map(({set}) => set)")


@pytest.fixture
def studio(context: tuple[Any, str]) -> Iterator[Callable[..., Studio]]:
    """Open tabs; at the end none of them may have said anything."""
    opened: list[Studio] = []

    def call(*link: str) -> Studio:
        opened.append(Studio(*context, *link))
        return opened[-1]

    yield call
    for own in opened:
        own.view.close()
        assert own.said == []


def goodput(*changes: tuple[str, str], seed: int = 1) -> float:
    return json.loads(_core.run(load("umts-384", changes).text, seed))["flows"][0]["goodput_bps"]


def test_a_changed_value_runs_again_and_is_told_as_a_command(studio):
    own = studio()
    own.view.locator("#plots").focus()
    own.view.keyboard.press("w")
    own.view.wait_for_timeout(50)
    shown = own.state("store.state.range")
    own.fill(RATE, "128 kbit/s")
    own.until(f"{GOODPUT} < 128000")
    own.run()
    assert own.state(GOODPUT) == goodput((RATE, "128 kbit/s"))
    assert own.state("store.state.range") == shown
    assert own.changes == [[f"{RATE}=128 kbit/s"]]
    assert own.view.locator("#changes li").inner_text().split("\n")[:2] == [RATE, "128 kbit/s"]
    assert own.view.locator("#command").text_content() == (
        f"airpath run umts-384 --seed 1 \\\n    --set '{RATE}=128 kbit/s'"
    )
    # What the scenario has anyway is no change.
    own.fill(RATE, "384 kbit/s")
    own.run()
    assert own.changes == [[]]


def test_a_slider_and_arrow_keys_change_a_quantity(studio):
    own = studio()
    slider = own.row(DELAY).locator(".slide")
    # In one turn of the page: the time between steps counts, and that between keys depends on the machine.
    slider.evaluate("""own => {
      for (let step = 0; step < 5; step += 1) {
        own.stepUp();
        own.dispatchEvent(new Event("input", {bubbles: true}));
      }
    }""")
    own.run()
    (change,) = own.changes[0]
    assert re.fullmatch(r"wired\.delay=(9\d|1\d\d) ms", change)
    own.view.locator("#undo").click()  # Steps of one drag are one step back.
    own.run()
    assert own.changes == [[]]
    own.row(DELAY).locator("input[type=text]").press("ArrowUp")
    own.run()
    assert re.fullmatch(r"wired\.delay=[78]\d ms", own.changes[0][0])


def test_what_the_core_says_stands_at_the_key_and_the_picture_stays(studio):
    own = studio()
    own.fill(RATE, "128 kbt")
    error = own.row(RATE).locator(".error")
    error.filter(has_text='Unknown unit "kbt"').wait_for()
    assert "Use one of bit/s, kbit/s, Mbit/s, Gbit/s." in error.inner_text()
    field = own.row(RATE).locator("input[type=text]")
    assert field.get_attribute("aria-invalid") == "true"
    assert error.get_attribute("id") == field.get_attribute("aria-describedby")
    assert own.state(GOODPUT) == goodput()
    # A key in conflict with another, in a section that is closed.
    own.view.locator("#undo").click()
    own.run()
    own.row("radio.dch.downlink.rlc").locator("select").select_option("none")
    told = own.row("radio.dch.downlink.channel").locator(".error")
    told.filter(has_text="Without a link layer nothing retransmits lost blocks").wait_for()
    own.view.keyboard.press("Control+z")
    own.run()
    assert own.view.locator(".error:visible").count() == 0


def test_components_words_switches_and_lists(studio):
    own = studio()
    own.row(CC).locator("select").select_option("reno")
    own.run()
    own.view.locator('[data-group="tcp more"] > summary').click()
    own.row("tcp.dsack").locator("input").uncheck()
    own.run()
    own.row("middlebox").locator("select").select_option("ack_regulator")
    own.run()
    assert own.changes == [["tcp.cc=reno", "tcp.dsack=false", "middlebox=[{ ack_regulator = {} }]"]]
    alpha = own.row("middlebox[0].ack_regulator.alpha").locator("input[type=text]")
    alpha.fill("3")
    own.run()
    assert own.changes[0][-1] == "middlebox[0].ack_regulator.alpha=3"
    own.view.get_by_role("button", name="Remove middlebox[0]").click()
    own.run()
    assert own.changes == [["tcp.cc=reno", "tcp.dsack=false"]]
    # A value that may be missing: the enclosing table is rewritten.
    own.fill("radio.dch.downlink.queue.droptail.packets", "")
    own.run()
    assert own.state("store.state.resolved.values.radio.dch.downlink.queue.droptail.packets") is None
    assert own.changes[0][-1].startswith("radio.dch.downlink.queue.droptail={")


def test_undo_and_redo_bring_runs_back(studio):
    own = studio()
    own.fill(RATE, "128 kbit/s")
    own.run()
    own.view.wait_for_timeout(950)
    own.fill(RATE, "64 kbit/s")
    own.run()
    for key, rate in (("z", "128 kbit/s"), ("z", None), ("y", "128 kbit/s"), ("y", "64 kbit/s")):
        own.view.keyboard.press(f"Control+{key}")
        own.until(f"store.state.wanted[0].set.join() === '{f'{RATE}={rate}' if rate else ''}'")
        own.run()
        assert own.state(GOODPUT) == goodput(*([(RATE, rate)] if rate else []))
    assert own.view.locator("#redo").is_disabled()


FIELD_OF_EACH = """([schema, value]) => import('studio/schema').then(({Schema}) => {
  const [field] = new Schema({properties: {own: schema}}).fields({own: value});
  return [field.shape, field.optional, field.value];
})"""


def test_a_field_of_the_schema_may_be_one_value_or_a_list(studio):
    one = {"type": "string", "pattern": "^[0-9]+ *dB$", "examples": ["2 dB"]}
    each = {"anyOf": [one, {"type": "array", "items": one}]}
    optional = {"anyOf": [{"anyOf": [{"type": "integer"}, {"type": "array"}]}, {"type": "null"}]}

    view = studio().view

    def field(schema, value):
        return view.evaluate(FIELD_OF_EACH, [schema, value])

    assert field(each, "3 dB") == ["quantity", False, "3 dB"]
    assert field(each, ["3 dB", "4 dB"]) == ["raw", False, ["3 dB", "4 dB"]]
    assert field(optional, None)[:2] == ["number", True]
    assert field(optional, [1, 2])[:2] == ["raw", True]


def test_the_text_and_the_form_are_in_step(studio):
    own = studio()
    own.fill(DELAY, "50 ms")
    own.run()
    own.view.locator("#t-text").click()
    area = own.view.locator("#text")
    text = area.input_value()
    assert 'delay = "50 ms"' in text and text == load("umts-384", [(DELAY, "50 ms")]).text
    area.fill(text.replace('rate = "384 kbit/s"', 'rate = "384 kbit"'))
    own.view.locator("#text-error").filter(has_text="radio.dch.downlink.rate").wait_for()
    area.fill(text.replace('rate = "384 kbit/s"', 'rate = "256 kbit/s"'))
    own.until("store.state.wanted[0].set.length === 2")
    own.run()
    # What changes of the scenario can tell stays a change of it.
    assert sorted(own.changes[0]) == [f"{RATE}=256 kbit/s", f"{DELAY}=50 ms"]
    own.view.locator("#t-fields").click()
    assert own.row(RATE).locator("input[type=text]").input_value() == "256 kbit/s"


def test_a_text_of_ones_own_is_no_longer_called_by_its_base(studio):
    own = studio()
    own.view.locator("#t-text").click()
    resolved = own.view.locator("#text").input_value()
    flow = resolved[resolved.index("[[flow]]") :]
    source = _core.bundled()["umts-384"]
    for text, about in (
        (source, source.partition("\n")[0].removeprefix("# ")),  # With its comment.
        ("\n".join(line for line in source.splitlines() if not line.startswith("#")), "see Text"),
        (f"{resolved}\n{flow}", "see Text"),
    ):
        own.view.locator("#text").fill(text)
        own.until(f"store.state.wanted[0].base === {json.dumps(f'text:{text}')}")
        own.run()
        assert (
            own.view.locator("#title").inner_text() == own.view.locator("#preset").inner_text() == "own text"
        )
        assert about in own.view.locator("#preset-about").inner_text()
        own.view.locator("#undo").click()
        own.until("store.state.wanted[0].base === 'umts-384'")


def test_a_variant_whose_settings_give_no_run_says_so_while_another_is_shown(studio):
    own = studio()
    view = own.view
    view.locator("#copy").click()
    own.until("store.state.variants.length === 2")
    own.fill(RATE, "0 kbit/s")
    old = view.get_by_role("button", name="Show and edit B, an older run")
    old.wait_for()
    view.get_by_role("button", name="Show and edit A", exact=True).click()
    own.until("store.state.shown === 0")
    view.locator("#seed").fill("3")
    own.until("store.state.variants[0].run.summary.seed === 3")
    old.wait_for()
    old.click()
    own.fill(RATE, "128 kbit/s")
    own.run()
    assert own.state("store.state.variants.map(({run}) => run.summary.seed)") == [3, 3]
    assert old.count() == 0


def test_variants_have_settings_of_their_own_and_one_seed(studio):
    own = studio()
    view = own.view
    view.locator("#copy").click()
    view.get_by_text("A and B are the same run: change something").wait_for()
    own.row(CC).locator("select").select_option("reno")
    own.run()
    assert own.changes == [[], ["tcp.cc=reno"]]
    figures = view.locator("#figures tr").filter(has_text="goodput").inner_text()
    expected = [goodput() / 1e3, goodput((CC, "reno")) / 1e3]
    assert re.findall(r"\d+\.\d", figures)[:2] == [f"{value:.1f}" for value in expected]
    assert f"−{expected[0] - expected[1]:.1f}" in figures
    assert "Both are the same up to" in view.locator("#parting-told").inner_text()
    view.get_by_role("button", name="Go to first difference").click()
    view.locator("#said").filter(has_text="The sender handled an ACK").wait_for()
    at = own.state("store.state.at")
    assert f"{at:.6f} s" in view.locator("#parting-told").inner_text()
    view.locator("#seed").fill("3")
    own.run()
    assert own.state("store.state.variants.map(({run}) => run.summary.seed)") == [3, 3]
    view.get_by_role("button", name="Show and edit A").click()
    own.fill(RATE, "128 kbit/s")
    own.run()
    assert own.changes == [[f"{RATE}=128 kbit/s"], ["tcp.cc=reno"]]
    view.get_by_role("button", name="Remove A").click()
    own.until("store.state.variants.length === 1")
    assert own.changes == [["tcp.cc=reno"]]
    assert view.locator("#t-compare").is_hidden()
    view.locator("#undo").click()
    own.until("store.state.variants.length === 2")
    assert own.changes == [[f"{RATE}=128 kbit/s"], ["tcp.cc=reno"]]


def test_a_box_that_does_nothing_is_no_difference(studio):
    # Later places have other indices, and packets pass one place more.
    own = studio("#umts-64?seed=1&with=umts-64&set=middlebox:[{+tap+=+{}+}]")
    own.until("store.state.variants[1].run.path.length === store.state.variants[0].run.path.length + 1")
    own.view.get_by_role("tab", name="Compare").click()
    own.view.locator("#parting-told").get_by_text("A and B are the same run.").wait_for()


def test_a_link_there_and_back(studio, context):
    link = f"#umts-384?seed=7&set={RATE}:128+kbit/s&with=umts-384&set=tcp.cc:reno&show=B&from=3&to=4&at=3.2"
    own = studio(link)
    assert own.state("store.state.wanted") == [
        {"base": "umts-384", "set": [f"{RATE}=128 kbit/s"], "seed": 7},
        {"base": "umts-384", "set": ["tcp.cc=reno"], "seed": 7},
    ]
    assert own.state("[store.state.shown, store.state.range, store.state.at]") == [1, [3, 4], 3.2]
    own.view.locator("#link").click()
    own.view.locator("#links[open]").wait_for()
    assert own.view.locator("#link-text").input_value() == link
    own.view.keyboard.press("Escape")
    own.view.get_by_role("button", name="Remove B").click()
    own.view.locator("#plots").focus()
    own.view.keyboard.press("0")
    own.view.keyboard.press("Escape")
    own.until(f"location.hash === '#umts-384?seed=7&set={RATE}:128+kbit/s'")


def test_a_link_of_a_file_has_its_text_and_opens_in_another_studio(studio, browser, serving, tmp_path):
    file = tmp_path / "exam.toml"
    text = f"# exam: it's 100 % \u00fc?\n{_core.bundled()['umts-384']}"
    file.write_text(text, encoding="utf-8")
    server = serving(file)
    with_file = browser.new_context()
    own = Studio(with_file, server.address, "")
    own.fill(RATE, "128 kbit/s")
    own.run()
    own.until("location.hash.includes('exam.toml')")
    own.view.locator("#link").click()
    own.view.locator("#links[open]").wait_for()
    link = own.view.locator("#link-text").input_value()
    assert str(file) in own.view.locator("#link-about").inner_text()
    with_file.close()
    assert own.said == [] and str(tmp_path) not in link
    other = studio(link)
    assert other.state("store.state.wanted") == [
        {"base": f"text:{text}", "set": [f"{RATE}=128 kbit/s"], "seed": 1}
    ]
    assert other.state(GOODPUT) == goodput((RATE, "128 kbit/s"))
    assert other.view.locator("#preset-about").inner_text() == "exam: it's 100 % \u00fc?"


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("#nonsense?seed=1", "no scenario is called nonsense. Choose a name that is listed"),
        ("#exam.toml?seed=1", "exam.toml is a file of another studio. Open the file"),
        ("#out/first?seed=1", "out/first is a run of another studio. Open the run"),
        ("#umts-384?seed=one", "seed: one is no whole number"),
        ("#umts-384?set=tcp.cc:foo", "unknown name. Known here: reno, cubic"),
        ("#umts-384?set=tcp.cc", "tcp.cc names no key and value"),
        ("#umts-384?from=4&to=3", "not after from"),
        ("#umts-384?size=3", "known: seed, set"),
        ("#umts-384?set=%zz", "not coded as addresses are"),
        ("#<img src=x onerror=alert(1)>", "nothing of this name is listed"),
    ],
)
def test_a_bad_link_says_what_is_wrong_and_the_first_run_stays(studio, link, said):
    own = studio(link)
    told = own.view.locator("#link-said").inner_text()
    assert told.startswith("This link cannot be opened") and said.lower() in told.lower()
    assert own.state("store.run.title") == "umts-384"
    own.view.get_by_role("button", name="Understood").click()
    assert own.view.locator("#link-problem").is_hidden()


def test_every_key_has_a_row_and_presets_are_there_with_their_lines(studio):
    own = studio()
    view = own.view
    view.locator("#presets summary").click()
    assert view.locator("#preset-list button").count() == len(bundled())
    view.locator("#preset-search").fill("proportional")
    view.locator("#preset-list button").click()
    own.run()
    assert own.state("[store.run.title, store.state.flows]") == ["hdr-4", [0, 1, 2, 3]]
    keys = set(view.locator(".row").evaluate_all("all => all.map((row) => row.dataset.key)"))
    assert {"duration", "radio.evdo.downlink.thresholds", "radio.evdo.downlink.fading.jakes.doppler"} <= keys
    assert "tcp.rto" not in keys and len(keys) > 70
    view.locator("#find-key").fill("doppler")
    view.locator('.found .row[data-key="radio.evdo.downlink.fading.jakes.doppler"]').hover()
    assert "Largest Doppler shift" in view.locator("#help-text").inner_text()


def test_a_scenario_with_several_cells_has_no_keys_of_one_cell(studio):
    own = studio("#two-cells?seed=1&set=duration:2+s")
    groups = own.view.locator("#fields [data-group]").evaluate_all(
        "all => all.map((one) => one.dataset.group)"
    )
    keys = own.view.locator("#fields [data-key]").evaluate_all("all => all.map((one) => one.dataset.key)")
    roots = {re.split(r"[.\[]", key)[0] for key in keys}
    assert {"duration", "way", "cell", "ue", "handover", "mobility", "change", "tcp", "flow"} == roots
    assert own.row("cell[0].radio.dch.downlink.rate").is_visible() and "way[1].wired" in groups
    heads = own.view.locator("#fields [data-group] > summary small").all_text_contents()
    assert {"backhaul", "fixed", "macro", "small", "walker", "phone"} <= set(heads)
    own.fill("way[1].wired.rate", "5 Mbit/s")
    own.run()
    assert own.changes == [["duration=2 s", "way[1].wired.rate=5 Mbit/s"]]
    one = studio("#umts-384?seed=1")
    keys = one.view.locator("#fields [data-key]").evaluate_all("all => all.map((one) => one.dataset.key)")
    roots = {re.split(r"[.\[]", key)[0] for key in keys}
    assert {"duration", "wired", "middlebox", "radio", "umts", "handover", "change", "tcp", "flow"} == roots


def test_a_long_run_says_how_far_it_is_and_can_be_stopped(studio):
    own = studio()
    title = own.state("store.run.title")
    own.view.locator("#presets summary").click()
    own.view.get_by_role("button", name="lundsten-dch").click()
    own.run()
    own.fill("duration", "5000 h")
    own.run()
    own.fill("flow[0].app.file.size", "1000 GB")
    own.view.locator("#busy progress").wait_for()
    own.view.get_by_role("button", name="Cancel").click()
    own.view.get_by_role("button", name="Run", exact=True).wait_for()
    assert title == "umts-384" and own.state("store.state.variants[0].settings.set") == ["duration=5000 h"]
    own.fill("flow[0].app.file.size", "1 MB")
    own.run()
    for name in ("#again", "#busy"):
        own.view.locator(name).wait_for(state="hidden")


@pytest.mark.parametrize("number", range(5))
def test_a_lesson_loads_what_it_speaks_of_and_quotes_it_with_packets_on_their_path(studio, number):
    own = studio()
    view = own.view
    view.locator("#teach").click()
    assert view.locator("#lesson-list b").count() == 5
    title = view.locator("#lesson-list b").nth(number).text_content()
    view.get_by_role("button", name=title).click()
    view.locator("#lesson b").filter(has_text=title).wait_for()
    for step in range(1, 9):
        view.locator("#lesson").filter(has_text=f"{step} of ").wait_for()
        own.run()
        view.locator("#moment").filter(has_text="in flight").wait_for()
        said = view.locator("#lesson .said").inner_text()
        assert not re.search(r"–|NaN|undefined|no time", said), said
        next_step = view.locator("#lesson-next")
        is_last = next_step.inner_text() == "Done"
        next_step.click()
        if is_last:
            break
    assert view.locator("#lesson").is_hidden()
    own.until("store.state.folded.size === 0")


def test_numbers_of_a_lesson_are_those_of_the_run_that_is_there(studio):
    own = studio()
    own.view.locator("#teach").click()
    own.view.get_by_role("button", name="Windows fill buffers").click()
    told = own.view.locator("#lesson .said")
    told.filter(has_text="It has room for 30 packets").wait_for()
    own.fill("radio.dch.downlink.queue.droptail.packets", "12")
    told.filter(has_text="It has room for 12 packets").wait_for()
    own.view.get_by_role("button", name="End the lesson").click()
