"""Tables 1 to 4 of Chan and Ramjee's paper."""

from __future__ import annotations

from dataclasses import replace

from airpath.models import MODELS, Episodes, Link
from airpath.stats.estimate import Estimate
from airpath_studies.base.cell import Cell, Metric
from airpath_studies.base.grid import Grid, GridRow
from airpath_studies.base.paired import first
from airpath_studies.base.paper import Row, computed, row_of, table
from airpath_studies.base.published import load_published
from airpath_studies.base.quantity import Quantity
from airpath_studies.chan import measured
from airpath_studies.chan.measured import BUFFER_PACKETS, RATES, rate_share
from airpath_studies.chan.model import (
    CASES,
    FLOWS,
    RENO,
    RUN_S,
    RUNS,
    hdr_cell,
    make_cell,
    max_kbps,
)

PUBLISHED = {name.removeprefix("chan-"): value for name, value in load_published("chan").items()}

CELLS = {
    case: replace(make_cell(RENO, link), runs=2 * RUNS, most_runs=2 * RUNS) for case, link in CASES.items()
}
"""Reno over the links of Table 1; timeouts are so rare that they need more runs than throughput."""

WIDEST: dict[str, Cell] = {flow.name: make_cell(flow, CASES[4]) for flow in FLOWS}
"""The four flows at e(100)."""

COLUMNS: dict[str, tuple[str, Metric]] = {
    "packets-transferred": ("packets", measured.packets),
    "goodput": ("rate", measured.goodput_kbps),
    "loss-events-triple-dupack": ("TD", measured.fast_retransmits),
    "loss-events-timeout": ("TO", measured.timeouts),
    "mean-timeout-duration": ("T0", measured.timeout_wait_s),
    "mean-rtt": ("rtt", measured.rtt_ms),
    "p1-single-loss": ("p1", measured.single_share),
    "p2-double-loss": ("p2", measured.double_share),
    "p3-multi-loss": ("p3", measured.timeout_share),
    "w-f-rms-max-window": ("Wf", measured.max_window),
    "t-hat": ("T-hat", measured.t_hat_ms),
    "mu-hat": ("mu-hat", measured.service_rate),
}
"""Columns of Tables 1 and 3: names among the published values, heads and what is measured."""

row = row_of("chan", measured.goodput_kbps)


def _printed(name: str, labels: tuple[str, ...], cell: Cell) -> list[Row]:
    """Make the rows of all columns that are printed of a cell."""
    known = {f"{name}-{key}": column for key, column in COLUMNS.items()}
    return [
        row(key, (*labels, head), cell, metric) for key, (head, metric) in known.items() if key in PUBLISHED
    ]


TABLE_1 = table(
    1,
    "Reno where rate and delay vary: counts and parameters of the models",
    ("case", "link", "column"),
    *(r for case, cell in CELLS.items() for r in _printed(f"t1-{case}", (f"{case}", CASES[case].name), cell)),
)

PRINTED_MODELS = {"model1": "padhye", "model2": "misra_as_printed", "model3": "chan_ramjee"}
"""What the models of Table 2 are called in `airpath.models`."""

_OWN_MODELS = ("padhye", "misra_as_printed", "misra", "chan_ramjee", "chan_ramjee_literal")
OWN_PREDICTIONS = {model: measured.predicted_kbps(model) for model in _OWN_MODELS}
ACCURACIES = {model: measured.accuracy(metric) for model, metric in OWN_PREDICTIONS.items()}


def printed_inputs(case: int) -> tuple[Episodes, Link]:
    """Take the inputs of the models from a row of Table 1 as printed; T-hat with its correction."""
    printed = {key: PUBLISHED[f"t1-{case}-{key}"].value for key in COLUMNS if f"t1-{case}-{key}" in PUBLISHED}
    episodes = Episodes(
        packets=printed["packets-transferred"],
        duration_s=3600,
        fast_retransmits=int(printed["loss-events-triple-dupack"]),
        timeouts=int(printed["loss-events-timeout"]),
        rtt_s=printed["mean-rtt"] / 1000,
        timeout_s=printed["mean-timeout-duration"],
        single_share=printed["p1-single-loss"],
        double_share=printed["p2-double-loss"],
        max_window=printed["w-f-rms-max-window"],
    )
    mu, t_hat_s = printed["mu-hat"], PUBLISHED[f"t1-{case}-t-hat"].target / 1000
    return episodes, Link(mu, t_hat_s - 1 / mu, BUFFER_PACKETS)


def printed_prediction(case: int, model: str) -> float:
    """What a model gives for a printed row of Table 1, kbit/s."""
    predict = {known.name: known.predict for known in MODELS}[PRINTED_MODELS[model]]
    return predict(*printed_inputs(case)).kbit_per_s(measured.PACKET_BYTES)


def _case_of_table_2(case: int) -> tuple[Row, ...]:
    labels, simulated = (f"{case}", CASES[case].name), f"t2-{case}-sim"
    rows = [row(simulated, (*labels, "simulated"), CELLS[case])]
    for number, model in enumerate(PRINTED_MODELS, 1):
        name, value = f"chan-t2-{case}-{model}", printed_prediction(case, model)
        rows.append(computed(name, (*labels, f"model {number}"), value))
        fits = 1 - abs(value / PUBLISHED[simulated].value - 1)
        rows.append(computed(f"{name}-accuracy", (*labels, f"model {number}, accuracy"), fits))
    return tuple(rows)


def own_quantity(case: int, model: str | None = None) -> Quantity:
    """What was simulated, or what a model makes of the loss events of the same runs."""
    if model is None:
        return Quantity(f"case {case}", CELLS[case], measured.goodput_kbps, "kbit/s")
    return Quantity(f"case {case}, {model}", CELLS[case], OWN_PREDICTIONS[model], "kbit/s")


TABLE_2 = table(
    2,
    "Throughput: simulated, and what the models make of Table 1",
    ("case", "link", "column"),
    *(row for case in CASES for row in _case_of_table_2(case)),
    grid=Grid(
        ("simulated", "model 1", "model 2", "model 2, right form", "model 3", "model 3, literal"),
        "kbit/s",
        tuple(
            GridRow(
                (str(case), link.name), (own_quantity(case), *(own_quantity(case, m) for m in _OWN_MODELS))
            )
            for case, link in CASES.items()
        ),
        title="The models fed with the loss events of our own runs",
        heads=("case", "link"),
    ),
)

TABLE_3 = table(
    3,
    "With and without the Ack Regulator at e(100)",
    ("flow", "column"),
    *(
        r
        for name, cell in WIDEST.items()
        for r in _printed(f"t3-{name.lower().replace('+', '-')}", (name,), cell)
    ),
)


def rate_id(rate: float) -> str:
    """Name a rate of Table 4 among the published values."""
    return f"t4-{rate}".replace(".", "_")


TABLE_4 = table(
    4,
    "Rates that the channel of one HDR user allows",
    "kbit/s",
    *(row(rate_id(rate), f"{rate}", hdr_cell(RENO, 1, 15), rate_share(rate)) for rate in RATES),
)

TABLES = (TABLE_1, TABLE_2, TABLE_3, TABLE_4)

_LINKS = {CASES[case].overrides: max_kbps(case) for case in CASES}
_OF_THE_LINK = (
    measured.service_rate,
    measured.link_delay_ms,
    measured.t_hat_ms,
    measured.pipe_packets,
    measured.max_throughput_kbps,
)
_TIMES = ("chan-s3-tx", "chan-s3-ack52", "chan-f3-25s")
"""Transmission times, which follow from rate and size."""


def link_alone(row: Row, known: Estimate) -> float | None:
    """What a link that is never idle gives for a row: the rate, the packets of the run, or its own facts."""
    if row.metric in _OF_THE_LINK or row.published_id in _TIMES:
        return known.mean
    if row.metric not in (measured.goodput_kbps, measured.packets) or row.pick is not first:
        return None
    overrides = row.cells[0].overrides
    kbps = next((rate for link, rate in _LINKS.items() if overrides[: len(link)] == link), None)
    if kbps is None or row.metric is measured.goodput_kbps:
        return kbps
    return kbps * RUN_S * 1000 / 8 / measured.PACKET_BYTES
