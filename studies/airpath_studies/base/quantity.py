"""Quantities: metrics of cells, and what is computed from several."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from airpath.stats.estimate import Estimate, by_seed
from airpath_studies.base.cell import Cell, Metric


@dataclass(frozen=True)
class Quantity:
    """A metric of a cell."""

    name: str
    """What it is, in the figures that a claim shows."""
    cell: Cell
    metric: Metric
    unit: str = "percent"
    """Its unit; ``percent`` has tolerances in points too."""
    traced: bool = False
    """Whether the metric needs the send window over time."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Itself."""
        return (self,)

    def value(self, look_up: LookUp) -> Estimate:
        """Look up what was measured."""
        return look_up(self)


LookUp = Callable[[Quantity], Estimate]


class Operand(Protocol):
    """What conditions compare."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def quantities(self) -> tuple[Quantity, ...]: ...  # noqa: D102
    def value(self, look_up: LookUp) -> Estimate: ...  # noqa: D102


@dataclass(frozen=True)
class Computed:
    """What is computed from the estimates of other operands."""

    name: str
    unit: str
    of: tuple[Operand, ...]
    compute: Callable[..., Estimate] = field(compare=False)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What has to be measured for it."""
        return tuple(quantity for operand in self.of for quantity in operand.quantities)

    def value(self, look_up: LookUp) -> Estimate:
        """Compute it."""
        return self.compute(*(operand.value(look_up) for operand in self.of))


class Times(Computed):
    """A multiple of a quantity."""

    def __init__(self, factor: float, of: Operand) -> None:
        multiply = partial(by_seed, lambda value: factor * value)
        super().__init__(f"{factor:g} x {of.name}", of.unit, (of,), multiply)


class Minus(Computed):
    """The difference of two quantities, seed by seed."""

    def __init__(self, left: Operand, right: Operand) -> None:
        subtract = partial(by_seed, operator.sub)
        super().__init__(f"({left.name} - {right.name})", left.unit, (left, right), subtract)


class Gain(Computed):
    """By how much a quantity is larger than another, percent; below zero if it is smaller."""

    def __init__(self, left: Operand, right: Operand) -> None:
        super().__init__(f"gain of {left.name} over {right.name}", "percent", (left, right), _gain)


def _gain(left: Estimate, right: Estimate) -> Estimate:
    """From the means; the interval is seed by seed, to first order in the deviations."""
    ratio = left.mean / right.mean

    def gain(of_left: float, of_right: float) -> float:
        return 100 * (ratio * (1 + of_left / left.mean - of_right / right.mean) - 1)

    return by_seed(gain, left, right)


class Highest(Computed):
    """The one of several quantities that has the largest mean."""

    def __init__(self, name: str, of: tuple[Operand, ...]) -> None:
        super().__init__(name, of[0].unit, of, lambda *known: max(known, key=lambda one: one.mean))
