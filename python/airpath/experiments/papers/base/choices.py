"""What a paper leaves open: readings of it, one of which judges, and how choices were made."""

from __future__ import annotations

from dataclasses import dataclass

from airpath.experiments.papers.base.cell import Overrides


@dataclass(frozen=True)
class Reading:
    """One way to understand what a paper leaves open."""

    name: str
    description: str
    overrides: Overrides


@dataclass(frozen=True)
class Choice:
    """What a paper leaves open, and how it was settled.

    Attributes
    ----------
    place : str
        Where in the paper it is left open.
    open : str
        What it is.
    tried : str
        What was tried, with what came out.
    taken : str
        What judges.
    why : str
        How the choice was made.
    uses : tuple of str
        Ids of the published values and claims by which it was made; they test nothing.
    """

    place: str
    open: str
    tried: str
    taken: str
    why: str
    uses: tuple[str, ...] = ()
