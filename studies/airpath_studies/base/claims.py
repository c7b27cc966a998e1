"""Claims: what a paper says about its figures, and whether it holds for what is measured.

A claim holds if all of its conditions do, under the default reading. It cannot be checked where there are too
few runs to tell, or one run and so no interval. One that helped to choose a value is ``calibrated``, and one
that could not fail, whatever TCP did, is ``derived``: it follows from the set-up by a rule that is stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from airpath.stats.estimate import Estimate
from airpath_studies.base.choices import Choice
from airpath_studies.base.conditions import Condition, Finding
from airpath_studies.base.quantity import Quantity
from airpath_studies.base.verdict import ClaimVerdict


@dataclass(frozen=True)
class Claim:
    """A finding of a paper, in own words, and all that must be so for it."""

    id: str
    place: str
    text: str
    conditions: tuple[Condition, ...]

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What has to be measured for it."""
        return tuple(quantity for condition in self.conditions for quantity in condition.quantities)


Conditions = Condition | Iterable["Conditions"]
"""A condition, or some of them; the rules of `conditions` often make several at once."""


def _each(conditions: Conditions) -> Iterator[Condition]:
    if isinstance(conditions, Iterable):
        for condition in conditions:
            yield from _each(condition)
    else:
        yield conditions


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its verdict, and every condition with what was measured."""

    claim: Claim
    verdict: ClaimVerdict
    findings: tuple[Finding, ...]
    reason: str
    """Why it does not hold or cannot be checked; empty if it holds."""
    measured: Mapping[Quantity, Estimate]
    """The quantities of the claim that were measured."""


def claims_of(paper: str, place: str | None = None) -> Callable[..., Claim]:
    """Make what makes claims of a paper: of number, place (if not one is given for all), text, conditions."""

    def claim(number: int, where: str, text: str, *conditions: Conditions) -> Claim:
        return Claim(f"{paper}-c{number}", where, text, tuple(_each(conditions)))

    def claim_here(number: int, text: str, *conditions: Conditions) -> Claim:
        return claim(number, place or "", text, *conditions)

    return claim if place is None else claim_here


def judge(
    claim: Claim,
    estimates: Mapping[Quantity, Estimate],
    known_reasons: Mapping[str, str],
    calibrated: Mapping[str, Choice],
    derived: Mapping[str, str],
) -> ClaimResult:
    """Check a claim against what was measured; one that needs more than that is not checkable.

    By id of a claim, `known_reasons` has why it does not hold, `calibrated` what it helped to choose, and
    `derived` the rule why it could not fail.
    """
    measured = {quantity: estimates[quantity] for quantity in claim.quantities if quantity in estimates}

    def result(verdict: ClaimVerdict, reason: str, findings: tuple[Finding, ...] = ()) -> ClaimResult:
        return ClaimResult(claim, verdict, findings, reason, measured)

    missing = [quantity.name for quantity in claim.quantities if quantity not in measured]
    if missing:
        return result("not_checkable", f"not simulated: {', '.join(dict.fromkeys(missing))}")
    if any(known.n < 2 for known in measured.values()):
        return result("not_checkable", "one run has no interval")
    findings = tuple(c.check(estimates.__getitem__) for c in claim.conditions)
    if claim.id in calibrated:
        return result("calibrated", calibrated[claim.id].reason, findings)
    if all(finding.holds for finding in findings):
        rule = derived.get(claim.id)
        return result("derived", f"follows: {rule}", findings) if rule else result("holds", "", findings)
    if all(finding.holds is not False for finding in findings):
        return result("not_checkable", f"more runs are needed: {_failed(findings)}", findings)
    reason = known_reasons.get(claim.id, "")
    return result("does_not_hold", reason or f"not so: {_failed(findings)}", findings)


def _failed(findings: Sequence[Finding]) -> str:
    return "; ".join(finding.figures for finding in findings if not finding.holds)
