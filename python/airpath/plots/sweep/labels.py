"""Texts that users write in place of the names of keys, metrics and values: `--label KEY=TEXT`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airpath.errors import SweepError
from airpath.experiments.sweep.results import SweepResults
from airpath.plots.sweep.choice import is_value, listed, named_in
from airpath.plots.sweep.quantity import Value, same
from airpath.plots.sweep.wording import distinct_labels, key_label, metric_label, value_label


@dataclass(frozen=True)
class Labels:
    """Texts for keys and metrics by name, and for values by `quantity.same`; others are in words."""

    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[object, str] = field(default_factory=dict)

    def keys(self, keys: Iterable[str]) -> list[str]:
        """Texts of scenario keys, different ones."""
        names = list(keys)
        words = distinct_labels(names, [key_label(name) for name in names])
        return [self.names.get(name, word) for name, word in zip(names, words, strict=True)]

    def metrics(self, metrics: Iterable[str]) -> list[str]:
        """Texts of metrics, different ones, without units."""
        names = list(metrics)
        words = distinct_labels(names, [metric_label(name) for name in names])
        return [self.names.get(name, word) for name, word in zip(names, words, strict=True)]

    def value(self, value: Value) -> str:
        """Text of a value of a key."""
        return self.values.get(same(value), value_label(value))


def read_labels(results: SweepResults, given: Iterable[str]) -> Labels:
    """Read texts, each as KEY=TEXT.

    KEY is a parameter or a metric of the sweep, or an ending that only one of them has, or a value of a
    parameter: ``tcp.cc=sender``, ``goodput_bps=Goodput``, ``cubic=CUBIC (Linux)``.

    Raises
    ------
    SweepError
        If the sweep has no such name or value.
    """
    names: dict[str, str] = {}
    values: dict[object, str] = {}
    known = (*results.parameters, *results.metrics)
    there = {same(value): value for point in results.points for value in point.parameters.values()}
    for one in given:
        # A value may have `=` in it, and so may a text.
        splits = [(one[:place].strip(), one[place + 1 :].strip()) for place, c in enumerate(one) if c == "="]
        for key, text in splits:
            meant = [own for own, value in there.items() if is_value(value, key)]
            if key in known or any(name.endswith(f".{key}") for name in known):
                names[named_in("--label", key, known, "parameter or metric")] = text
                break
            if meant:
                values |= dict.fromkeys(meant, text)
                break
        else:
            if not splits or not splits[0][0]:
                what = f"'{one}' is not KEY=TEXT"
            else:
                what = f"the sweep has no parameter, metric or value '{splits[0][0]}'"
            words = [*known, *map(value_label, there.values())]
            raise SweepError("--label", what, f"choose from {listed(words)}")
    return Labels(names, values)
