"""A paper's open choices: its interpretations (one is used to judge), and how choices were made."""

from __future__ import annotations

from dataclasses import dataclass

from airpath_studies.base.cell import Cell, Overrides


@dataclass(frozen=True)
class Reading:
    """One way to understand what a paper leaves open."""

    name: str
    description: str
    overrides: Overrides
    where: str | None = None
    """A key: the reading is about cells alone that change it."""

    def changes(self, cell: Cell) -> Overrides:
        """Changes to a cell; none to one that readings are not about."""
        is_meant = self.where is None or self.where in {path for path, _ in cell.overrides}
        return self.overrides if cell.is_read and is_meant else ()


@dataclass(frozen=True)
class Choice:
    """What a paper leaves `open` at a `place`, what was `tried`, and what was `taken`."""

    place: str
    open: str
    tried: str
    """The alternatives tried, with their results."""
    taken: str
    why: str
    uses: tuple[str, ...] = ()
    """IDs of the published values and claims used to make the choice; they test nothing."""

    @property
    def reason(self) -> str:
        """Why one of `uses` tests nothing."""
        return f"helped to choose: {self.open}"
