"""Texts that users write instead of the names of keys, metrics and values: `--label KEY=TEXT`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from airpath.errors import SweepError
from airpath.experiments.sweep.results import SweepResults
from airpath.plots.sweep.choice import is_value, listed, meant_by, named_in
from airpath.plots.sweep.quantity import Value, same
from airpath.plots.sweep.wording import distinct_labels, key_label, metric_label, value_label


@dataclass(frozen=True)
class Labels:
    """Texts for keys and metrics by name, and for values by `quantity.same`; others are in words.

    `values` are the values of any key, `own_values` the values of a single key, by key.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[object, str] = field(default_factory=dict)
    own_values: Mapping[tuple[str, object], str] = field(default_factory=dict)

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

    def value(self, value: Value, key: str = "") -> str:
        """Text of a value of a key."""
        meant = same(value)
        return self.own_values.get((key, meant)) or self.values.get(meant, value_label(value))


def read_labels(results: SweepResults, given: Iterable[str]) -> Labels:
    """Read texts, each as KEY=TEXT, VALUE=TEXT or KEY=VALUE=TEXT.

    KEY is a parameter or a metric of the sweep, or an ending that only one of them has; VALUE is a value of a
    parameter: ``tcp.cc=sender``, ``goodput_bps=Goodput``, ``cubic=CUBIC (Linux)``, ``cc=reno=NewReno``.

    Raises
    ------
    SweepError
        If the sweep has no such name or value.
    """
    names: dict[str, str] = {}
    values: dict[object, str] = {}
    own_values: dict[tuple[str, object], str] = {}
    known = (*results.parameters, *results.metrics)
    there = {same(value): value for point in results.points for value in point.parameters.values()}
    for one in given:
        for key, text in _splits(one):
            meant = [own for own, value in there.items() if is_value(value, key)]
            if meant_by(key, known):
                name = named_in("--label", key, known, "parameter or metric")
                if found := _own_value(results, name, text):
                    own_values |= found
                else:
                    names[name] = text
                break
            if meant:
                values |= dict.fromkeys(meant, text)
                break
        else:
            splits = list(_splits(one))
            if not splits or not splits[0][0]:
                what = f"'{one}' is not KEY=TEXT"
            else:
                what = f"the sweep has no parameter, metric or value '{splits[0][0]}'"
            words = [*known, *map(value_label, there.values())]
            raise SweepError("--label", what, f"choose from {listed(words)}")
    return Labels(names, values, own_values)


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Ways to read a text as NAME=TEXT: a value may have `=` in it, and so may a text."""
    for place, letter in enumerate(text):
        if letter == "=":
            yield text[:place].strip(), text[place + 1 :].strip()


def _own_value(results: SweepResults, key: str, text: str) -> dict[tuple[str, object], str]:
    """Read VALUE=TEXT of a parameter; nothing if `text` names the parameter itself."""
    if key not in results.parameters or "=" not in text:
        return {}
    there = {
        same(value): value for point in results.points if (value := point.parameters.get(key)) is not None
    }
    for value, word in _splits(text):
        if meant := [own for own, known in there.items() if is_value(known, value)]:
            return {(key, own): word for own in meant}
    what = f"no point has {key} = {text.partition('=')[0].strip()}"
    raise SweepError("--label", what, f"there is {listed(map(value_label, there.values()))}")
