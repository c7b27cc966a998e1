"""Published papers, which come as a package of their own: `airpath-studies`. This module alone imports it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from airpath.errors import ScenarioError

PACKAGE = "airpath_studies"


def installed() -> bool:
    """Whether the package is installed."""
    return find_spec(PACKAGE) is not None


def studies(module: str, key: str) -> ModuleType:
    """Import a module of the package.

    Raises
    ------
    ScenarioError
        With this key, if the package is not installed.
    """
    if not installed():
        remedy = "install them: python -m pip install airpath-studies"
        raise ScenarioError(key, "the papers are not installed", remedy)
    return import_module(f"{PACKAGE}.{module}")
