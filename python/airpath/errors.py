"""The errors that airpath raises: what is at fault, what is wrong with it and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name: str, known: Iterable[str], otherwise: str = "choose from") -> str:
    """Say which known name a wrong one is nearest to, or list all after `otherwise`."""
    by_case = {one.casefold(): one for one in known}
    near = get_close_matches(name.casefold(), by_case, n=1, cutoff=0.75)
    return f"did you mean {by_case[near[0]]}?" if near else f"{otherwise} {', '.join(by_case.values())}"


class AirpathError(Exception):
    """Base of all errors about what a user wrote, named or asked for.

    `key` is at fault: a dotted key of a scenario, an option, or a file. `problem` is what is wrong with it,
    and `remedy` what would be right, if that is known.
    """

    def __init__(self, key: str, problem: str, remedy: str) -> None:
        super().__init__(key, problem, remedy)
        self.key, self.problem, self.remedy = key, problem, remedy

    def __init_subclass__(cls) -> None:
        """Show the class by the name under which users import it."""
        cls.__module__ = "airpath"

    def __str__(self) -> str:
        return "; ".join(filter(None, (": ".join(filter(None, (self.key, self.problem))), self.remedy)))


class ScenarioError(AirpathError, ValueError):
    """A scenario, or an argument, cannot be used."""


class OutputError(AirpathError):
    """Results cannot be written."""


class LiveError(AirpathError):
    """A live run is not possible, or ended early."""


class ExportError(AirpathError):
    """A run cannot be exported."""


class SweepError(AirpathError):
    """A sweep's file or folder cannot be used."""


class RenamedWarning(FutureWarning):
    """A name in results was used that has another name now (`airpath.runs.renamed`)."""
