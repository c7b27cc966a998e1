"""The order of `LAYERS` in tools/modules.py is a rule: a module of the package uses only modules before it.

Imports inside of functions and for types alone count too.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest
from modules import DRAWN, SOURCES, TOP, drawing, layers, rank, uses


def test_every_module_has_a_layer():
    without = [name for name in SOURCES if rank(name) is None and SOURCES[name].name != "__init__.py"]
    assert not without


@pytest.mark.parametrize("layer", layers())
def test_a_module_uses_only_layers_before_its_own(layer):
    mine = layers().index(layer)
    wrong = [
        f"{name} uses {used}"
        for name in SOURCES
        if rank(name) == mine
        for used in sorted(uses(name))
        if rank(used) is None or rank(used) > mine
    ]
    assert not wrong


def test_no_modules_use_each_other():
    try:
        TopologicalSorter({name: uses(name) for name in SOURCES}).prepare()
    except CycleError as error:
        pytest.fail(" uses ".join(reversed(error.args[1])))


@pytest.mark.parametrize("name", DRAWN)
def test_the_picture_of_modules_is_current(name):
    read, title = DRAWN[name]
    drawn = (TOP / "docs" / "images" / name).read_text(encoding="utf-8")
    assert drawn == drawing(read(), title), f"docs/images/{name} is not current: run 'make images'"
