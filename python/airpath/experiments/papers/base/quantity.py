"""Quantities: metrics of cells, and what is computed from several."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from airpath.experiments.papers.base.cell import Cell, Metric
from airpath.stats.estimate import Estimate, by_seed


@dataclass(frozen=True)
class Quantity:
    """A metric of a cell.

    Attributes
    ----------
    name : str
        What it is, in the figures that a claim shows.
    cell : Cell
        What is simulated.
    metric : callable
        The value of a run.
    unit : str
        Its unit; ``percent`` has tolerances in points too.
    traced : bool
        Whether the metric needs the send window over time.
    """

    name: str
    cell: Cell
    metric: Metric
    unit: str = "percent"
    traced: bool = False

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
class Times:
    """A multiple of a quantity."""

    factor: float
    of: Operand

    @property
    def name(self) -> str:
        """What it is."""
        return f"{self.factor:g} x {self.of.name}"

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.of.unit

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What it is computed from."""
        return self.of.quantities

    def value(self, look_up: LookUp) -> Estimate:
        """Compute it."""
        return by_seed(lambda value: self.factor * value, self.of.value(look_up))


@dataclass(frozen=True)
class Minus:
    """The difference of two quantities."""

    left: Operand
    right: Operand

    @property
    def name(self) -> str:
        """What it is."""
        return f"({self.left.name} - {self.right.name})"

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.left.unit

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What it is computed from."""
        return (*self.left.quantities, *self.right.quantities)

    def value(self, look_up: LookUp) -> Estimate:
        """Compute it, seed by seed."""
        return by_seed(operator.sub, self.left.value(look_up), self.right.value(look_up))


@dataclass(frozen=True)
class Gain:
    """By how much a quantity is larger than another, percent; below zero if it is smaller."""

    left: Operand
    right: Operand

    @property
    def name(self) -> str:
        """What it is."""
        return f"gain of {self.left.name} over {self.right.name}"

    @property
    def unit(self) -> str:
        """Its unit."""
        return "percent"

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What it is computed from."""
        return (*self.left.quantities, *self.right.quantities)

    def value(self, look_up: LookUp) -> Estimate:
        """Compute it from the means; its interval seed by seed, to first order in the deviations."""
        left, right = self.left.value(look_up), self.right.value(look_up)
        ratio = left.mean / right.mean

        def gain(of_left: float, of_right: float) -> float:
            return 100 * (ratio * (1 + of_left / left.mean - of_right / right.mean) - 1)

        return by_seed(gain, left, right)
