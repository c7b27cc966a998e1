"""Layout of figures of sweeps: no text is cut or covers another, and panels have half of the picture."""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.legend import Legend
from matplotlib.transforms import Bbox
from test_plot import swept

import airpath
from airpath.drawing.style import print_style
from airpath.errors import SweepError

RATE = "radio.dch.downlink.rate"
SIZES = ["3.3x2.5", "7x4", "3.3", None]
"""A column and a page in print, with given heights, and heights that follow from the content."""


def values_of(number, parameters, seed):
    """Made-up results, ten times larger over LTE: goodput in bit/s, transfer time in s, round trip in ms."""
    size = 10 if "lte" in str(parameters.get("scenario")) else 1
    goodput = size * (1e5 * (1 + number * 37 % 23 / 7) + 9e3 * ((seed * 7 + number) % 5 - 2))
    return goodput, 1e6 / goodput + 0.1 * number, 80 + 20 * (number * 17 % 29) + 7 * ((seed * 3 + number) % 5)


def sweep_of(folder, axes, scenario='"umts-384"'):
    text = f"""
    scenario = {scenario}
    metrics = ["goodput_bps", "transfer_s", "rtt_ms.mean"]
    runs = 3
    [axes]
    {axes}
    """
    return swept(folder, text, values_of)


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    """A sweep with as many initial windows as asked for, made once."""
    made = {}

    def sweep(count):
        if count not in made:
            axes = f'"{RATE}" = ["64 kbit/s", "128 kbit/s", "384 kbit/s"]\n'
            axes += f'tcp.cc = ["cubic", "bbr", "reno"]\ntcp.initial_window = {list(range(1, count + 1))}'
            made[count] = sweep_of(tmp_path_factory.mktemp(f"windows{count}"), axes)
        return made[count]

    return sweep


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Three congestion controls and two queues over LTE and UMTS."""
    axes = 'tcp.cc = ["cubic", "bbr", "reno"]\n"radio.*.downlink.queue" = ["droptail", "codel"]'
    return sweep_of(tmp_path_factory.mktemp("cells"), axes, '["lte-10mhz-still", "umts-384"]')


def boxes_of(figure):
    """Boxes of all texts and legends outside of panels, and of the panels, in pixels."""
    figure.set_dpi(100)
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    texts = [text for text in figure.texts if text.get_text()]
    panels = [axes for axes in figure.axes if axes.get_visible()]
    for axes in panels:
        texts += [axes._left_title, axes.xaxis.label, axes.yaxis.label]
        texts += [text for text in axes.texts if text.get_rotation() == 270]  # Titles of rows.
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    texts += [label for label in (tick.label1, tick.label2) if label.get_visible()]
    boxes = {}
    for number, text in enumerate(texts):
        if text.get_text():
            boxes[f"{number} {text.get_text()!r}"] = corners_of(text)
    legends = [artist for artist in figure.get_children() if isinstance(artist, Legend)]
    for number, legend in enumerate(legends):
        boxes[f"legend {number}"] = corners_of_box(legend.get_window_extent())
    return boxes, {f"panel {number}": axes.get_window_extent() for number, axes in enumerate(panels)}


def corners_of_box(box):
    return np.array([(box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)])


def corners_of(text):
    """Corners of a text's rectangle, slanted as the text."""
    angle = text.get_rotation()
    text.set_rotation(0)
    flat = text.get_window_extent()
    width, height = flat.width, flat.height
    text.set_rotation(angle)
    box = text.get_window_extent()
    middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    turn = np.radians(angle)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    half = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * [width / 2, height / 2]
    return middle + half @ matrix.T


def overlap(first, second, slack=1.0):
    """Whether two rectangles of any angle cover each other, by more than `slack` pixels in all directions."""
    for corners in (first, second):
        for edge in np.diff(np.vstack([corners, corners[:1]]), axis=0)[:2]:
            normal = np.array([-edge[1], edge[0]]) / np.hypot(*edge)
            a, b = first @ normal, second @ normal
            if min(a.max(), b.max()) - max(a.min(), b.min()) <= slack:
                return False
    return True


def near(boxes):
    """Pairs of names whose rectangles overlap if they are not slanted: few of the thousands there are."""
    names, corners = list(boxes), np.array(list(boxes.values()))
    low, high = corners.min(axis=1), corners.max(axis=1)
    meet = ((low[:, None] < high[None]) & (low[None] < high[:, None])).all(axis=2)
    return [(names[one], names[other]) for one, other in np.argwhere(np.triu(meet, 1))]


def check(figure):
    """No text is cut, none covers another or a panel, and panels have half of both lengths of the picture."""
    boxes, panels = boxes_of(figure)
    width, height = figure.get_size_inches() * figure.dpi
    for name, corners in boxes.items():
        assert corners.min() >= -1 and (corners <= [width + 1, height + 1]).all(), f"{name} is cut"
    every = boxes | {panel: corners_of_box(box) for panel, box in panels.items()}
    for name, other in near(every):
        if name in boxes:
            assert not overlap(every[name], every[other]), f"{name} covers {other}"
    check_share(figure, panels)


def check_share(figure, panels):
    width, height = figure.get_size_inches() * figure.dpi
    # Colour scales are narrow, and next to the panels.
    boxes = [box for box in panels.values() if box.width > 0.08 * width]
    for direction, length in (("x", width), ("y", height)):
        spans = {
            (round(getattr(box, f"{direction}0")), round(getattr(box, f"{direction}1"))) for box in boxes
        }
        assert sum(end - start for start, end in spans) >= 0.5 * length - 2, (direction, spans, length)


KINDS = {
    "line": {"x": "rate", "y": "goodput_bps", "where": ["cc=cubic"]},
    "words": {"x": "cc", "y": "goodput_bps", "where": [f"{RATE}=64 kbit/s"]},
    "plane": {"x": "rtt_ms.mean", "y": "goodput_bps", "where": ["cc=cubic"]},
    "cdf": {"x": "transfer_s", "where": ["cc=cubic", f"{RATE}=64 kbit/s"]},
}


# One series, most of them, and a number between them: each with each kind, and with each size.
COUNTS = [
    (kind, count, size)
    for row, kind in enumerate(KINDS)
    for column, size in enumerate(SIZES)
    for count in (1, (2, 6, 12)[(row + column) % 3], 16)
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count", "size"), COUNTS)
def test_one_to_sixteen_series_are_legible_in_each_size(windows, kind, count, size):
    figure = airpath.plot_sweep(
        windows(count), by="initial_window", size=size, title="A title", **KINDS[kind]
    )
    assert len(figure.data["series"]) == count
    check(figure.draw())


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_sixteen_long_names_are_legible_in_each_size(windows, size):
    labels = [f"initial_window={number}=window of {number} segments" for number in range(1, 17)]
    labels += ["goodput_bps=95th percentile of the goodput of all flows that end in time, without headers"]
    ask = KINDS["line"] | {"by": "initial_window", "labels": labels}
    check(airpath.plot_sweep(windows(16), size=size, **ask).draw())


@pytest.mark.slow
def test_an_error_names_a_size_that_is_enough(windows):
    ask = KINDS["line"] | {"by": "initial_window"}
    with pytest.raises(SweepError, match=r"give 2x[\d.]+ inches") as error:
        airpath.plot_sweep(windows(16), size="2x1.2", **ask).draw()
    enough = str(error.value).partition("give ")[2].split()[0]
    check(airpath.plot_sweep(windows(16), size=enough, **ask).draw())


FACETS = {
    "wrapped": {"x": "cc", "y": "goodput_bps", "by": "queue", "facet": "scenario"},
    "free": {"x": "rtt_ms.mean", "y": "goodput_bps", "color": "cc", "marker": "queue", "facet": "scenario"}
    | {"free": "x,y"},
    "grid": {"x": "cc", "y": "goodput_bps", "facet": ["row=scenario", "col=queue"], "free": "y"},
    "rows": {"x": "rtt_ms.mean", "y": "transfer_s", "by": "cc", "facet": {"row": ["scenario", "queue"]}},
    "cdf": {"x": "goodput_bps", "color": "cc", "marker": "queue", "facet": "col=scenario", "free": "x"},
    "heat": {"x": "cc", "y": "queue", "z": "rtt_ms.mean", "facet": "scenario"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), list(itertools.product(FACETS, ["3.3x4.5", "7x5", "3.3", None])))
def test_panels_are_legible_in_each_size(cells, name, size):
    labels = ["lte-10mhz-still=LTE, 10 MHz", "umts-384=UMTS"]
    figure = airpath.plot_sweep(cells, size=size, labels=labels, **FACETS[name])
    drawn = figure.draw()
    check(drawn)
    if size and "x" in size:
        assert "x".join(f"{side:g}" for side in drawn.get_size_inches()) == size


@pytest.mark.slow
@pytest.mark.parametrize("size", ["7x9", None])
def test_twenty_four_panels_are_legible(windows, size):
    ask = {"x": "rate", "y": "goodput_bps", "by": "cc", "facet": "initial_window"}
    check(airpath.plot_sweep(windows(24), size=size, **ask).draw())


@pytest.mark.slow
def test_axes_that_are_not_free_are_shared_by_all_panels(cells):
    ask = {"x": "cc", "y": "goodput_bps", "facet": ["row=scenario", "col=queue"]}
    limits = {axes.get_ylim() for axes in airpath.plot_sweep(cells, **ask).draw().axes}
    assert len(limits) == 1
    axes = airpath.plot_sweep(cells, free="y", **ask).draw().axes
    assert axes[0].get_ylim() == axes[1].get_ylim() != axes[2].get_ylim() == axes[3].get_ylim()


def test_panels_of_much_different_size_are_remarked(cells):
    ask = {"x": "cc", "y": "goodput_bps", "by": "queue", "facet": "scenario"}
    assert "--free y gives each panel" in airpath.plot_sweep(cells, **ask).warnings[0]
    assert airpath.plot_sweep(cells, free="y", **ask).warnings == ()


@pytest.mark.slow
def test_words_are_not_joined_by_lines(cells):
    """On an axis, along a path, and by colours and marks."""
    chosen = ["scenario=umts-384"]
    figures = [
        airpath.plot_sweep(cells, "cc", "goodput_bps", by="queue", where=chosen),
        airpath.plot_sweep(cells, "rtt_ms.mean", "goodput_bps", by="queue", where=chosen),
        airpath.plot_sweep(cells, "rtt_ms.mean", "goodput_bps", color="cc", marker="queue", where=chosen),
    ]
    for figure in figures:
        lines = [line for axes in figure.draw().axes for line in axes.lines if len(line.get_xdata()) > 0]
        assert lines and all(line.get_linestyle() == "None" for line in lines)
        assert not figure.data["joined"] or figure.data["kind"] == "line"


def test_the_key_of_words_that_is_left_is_shown_by_marks(cells):
    chosen = ["scenario=umts-384"]
    data = airpath.plot_sweep(cells, "rtt_ms.mean", "goodput_bps", by="queue", where=chosen).data
    assert data["roles"] == {"color": ["radio.*.downlink.queue"], "marker": ["tcp.cc"]}
    assert data["along"] is None
    alone = airpath.plot_sweep(cells, "rtt_ms.mean", "goodput_bps", where=[*chosen, "queue=codel"]).data
    assert alone["roles"] == {"by": ["tcp.cc"]}


@pytest.mark.slow
def test_colours_and_marks_show_different_keys(cells):
    ask = {"x": "rtt_ms.mean", "y": "goodput_bps", "where": ["scenario=umts-384"]}
    figure = airpath.plot_sweep(cells, color="cc", marker="queue", **ask)
    lines = [
        line for line in figure.draw().axes[0].lines if len(line.get_xdata()) and line.get_marker() in "os"
    ]
    looks = [(line.get_color(), line.get_marker()) for line in lines]
    assert len(set(looks)) == 6
    assert len({colour for colour, _ in looks}) == 3 and len({mark for _, mark in looks}) == 2
    both = airpath.plot_sweep(cells, by=["cc", "queue"], **ask).draw()
    lines = [line for line in both.axes[0].lines if len(line.get_xdata()) and line.get_marker() not in "|_"]
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 6


def test_sixteen_series_have_different_looks(windows):
    figure = airpath.plot_sweep(windows(16), by="initial_window", **KINDS["line"])
    lines = [line for line in figure.draw().axes[0].lines if line.get_marker() not in ("None", "|", "_")]
    lines = [line for line in lines if len(line.get_xdata())]
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(looks) == 16


def test_a_figure_is_drawn_into_given_axes(cells, windows):
    figure, axes = plt.subplots(1, 2, figsize=(6, 3))
    try:
        ask = {"x": "cc", "y": "goodput_bps", "by": "queue"}
        one = airpath.plot_sweep(cells, where=["scenario=umts-384"], **ask)
        assert one.draw(axes[0]) is figure
        assert axes[0].get_xlabel() == "congestion control" and axes[0].get_legend() is not None
        assert not axes[1].lines and not figure.texts
        panels = airpath.plot_sweep(cells, facet="scenario", free="y", **ask)
        for one in axes:
            one.clear()
        panels.draw(ax=axes, legend=False)
        titles = [one.get_title(loc="left") for one in axes]
        assert titles == ["scenario: lte-10mhz-still", "scenario: umts-384"]
        assert all(one.lines and one.get_legend() is None for one in axes)
        heat = airpath.plot_sweep(cells, "cc", "queue", z="rtt_ms.mean", where=["scenario=umts-384"])
        heat.draw(axes[0])
        with pytest.raises(SweepError, match="1 object given for 2 panels"):
            panels.draw(axes[0])
        with pytest.raises(SweepError, match="matplotlib Axes"):
            panels.draw("axes")
    finally:
        plt.close(figure)


def test_a_caption_is_left_out_if_asked(cells):
    ask = {"x": "cc", "y": "goodput_bps", "by": "queue", "where": ["scenario=umts-384"]}
    texts = [text.get_text() for text in airpath.plot_sweep(cells, **ask).draw().texts]
    assert any("3 runs per point" in text for text in texts)
    figure = airpath.plot_sweep(cells, caption=False, **ask).draw()
    assert not any("runs" in text.get_text() for text in figure.texts)


@pytest.mark.slow
def test_labels_replace_names_of_parameters_metrics_and_values(cells):
    labels = {"tcp.cc": "sender", "goodput_bps": "Goodput", "cubic": "CUBIC (RFC 9438)", "scenario": ""}
    labels |= {"queue=codel": "CoDel, 5 ms", "lte-10mhz-still": "LTE"}
    figure = airpath.plot_sweep(cells, "cc", "goodput_bps", by="queue", facet="scenario", labels=labels)
    axes = figure.data["axes"]
    assert (axes["x"]["label"], axes["y"]["label"]) == ("sender", "Goodput")
    assert axes["x"]["categories"] == ["CUBIC (RFC 9438)", "BBR", "Reno"]
    drawn = figure.draw()
    assert [one.get_title(loc="left") for one in drawn.axes] == ["LTE", "umts-384"]
    (legend,) = [artist for artist in drawn.get_children() if isinstance(artist, Legend)]
    assert [text.get_text() for text in legend.get_texts()] == ["drop-tail", "CoDel, 5 ms"]


def test_a_value_of_one_parameter_is_labelled_alone(windows):
    both = {"x": "rate", "y": "goodput_bps", "by": "initial_window", "where": ["cc=cubic"]}
    figure = airpath.plot_sweep(windows(2), labels=["initial_window=1=one"], **both)
    assert [series["label"] for series in figure.data["series"]] == ["one", "2"]


def test_other_settings_of_matplotlib_change_nothing(windows):
    figure = airpath.plot_sweep(windows(2), by="initial_window", **KINDS["line"])
    with plt.rc_context({"font.size": 30, "legend.fontsize": 40}), print_style():
        check(figure.draw())


def test_boxes_that_overlap_are_found():
    """The check itself: a text over another, over a panel, beyond the picture; a panel that is small."""
    figure, axes = plt.subplots(figsize=(4, 3))
    try:
        check(figure)
        over = figure.text(0.2, 0.5, "over the panel")
        with pytest.raises(AssertionError, match="covers panel"):
            check(figure)
        over.set_position((0.9, 0.95))
        with pytest.raises(AssertionError, match="is cut"):
            check(figure)
        over.set_position((0.3, 0.93))
        figure.text(0.33, 0.93, "over the text")
        with pytest.raises(AssertionError, match="covers"):
            check(figure)
        axes.set_position(Bbox([[0.2, 0.2], [0.6, 0.9]]))
        with pytest.raises(AssertionError):
            check_share(figure, {"panel": axes.get_window_extent()})
    finally:
        plt.close(figure)
