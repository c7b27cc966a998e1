"""Published values: the lines of a paper's `published.csv`."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

NOT_SIMULATED = ("background", "measurement", "definition", "recommendation")
"""Classes of published value that no experiment can be set against."""


@dataclass(frozen=True)
class Published:
    """One published value, a line of the paper's `published.csv`.

    `value`, `corrected` and `half_width` (of the interval printed with it) are in `unit`.
    """

    id: str
    place: str
    quantity: str
    unit: str
    value: float
    corrected: float | None
    half_width: float | None
    kind: str
    bound: str | None
    background: bool
    restates: str | None = None
    """ID of the value that this one restates."""
    range_of: str | None = None
    """ID of the lower end of the range; this value is the upper end."""
    context: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The paper's description of the setting, by the names of the file."""

    @property
    def target(self) -> float:
        """What a measurement is compared with: the corrected value of a misprint, else the value."""
        return self.value if self.corrected is None else self.corrected


@cache
def load_published(paper: str) -> dict[str, Published]:
    """Load all published values of a paper by their id, in the order of the file.

    Raises
    ------
    ValueError
        If an id is not unique.
    """
    values: dict[str, Published] = {}
    text = (files("airpath_studies") / paper / "published.csv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()):
        if line["id"] in values:
            raise ValueError(f"two published values are called {line['id']}")
        context = json.loads(line["scenario"] or "{}")
        values[line["id"]] = Published(
            id=line["id"],
            place=line["place"],
            quantity=line["quantity"],
            unit=line["unit"],
            value=float(line["value"]),
            corrected=float(line["corrected"]) if line["corrected"] else None,
            half_width=float(line["ci_half_width"]) if line["ci_half_width"] else None,
            kind=line["kind"],
            bound=context.get("bound"),
            background=context.get("class") in NOT_SIMULATED,
            restates=context.get("restates"),
            range_of=context.get("range_of"),
            context=context,
        )
    return values
