"""airpath: TCP over cellular radio bearers, simulated.

>>> import airpath
>>> result = airpath.run("umts-384", seed=1)
>>> result.flows[0]["goodput_bps"]          # bit/s
>>> result.trace["rtt_sample"]["rtt_us"]    # NumPy array, microseconds

Names are imported when they are first used (PEP 562); `__init__.pyi` has them for type checkers.
"""

import sys
from importlib import import_module
from types import ModuleType

_PACKAGES = ("analytic", "analyze")
# Where each other name is.
_MODULES = {
    "AirpathError": "errors",
    "Estimate": "estimate",
    "ExportError": "errors",
    "LiveError": "errors",
    "OutputError": "errors",
    "Overlay": "figures.overlay",
    "PairedComparison": "compare",
    "Result": "run",
    "RunTooShortError": "batch_means",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "SteadyEstimate": "batch_means",
    "SweepError": "errors",
    "SweepFigure": "figures.plot_sweep",
    "batch_means": "batch_means",
    "compare_paired": "compare",
    "load": "scenario",
    "mser5": "batch_means",
    "overlay": "figures.overlay",
    "paired": "compare",
    "plot_sweep": "figures.plot_sweep",
    "replicate": "replicate",
    "run": "run",
    "run_to_folder": "folder",
    "steady": "steady",
}
__all__ = [*_MODULES, *_PACKAGES, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        value = import_module("airpath._core").version()
    elif name in _PACKAGES:
        value = import_module(f"airpath.{name}")
    elif name in _MODULES:
        value = getattr(import_module(f"airpath.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module 'airpath' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        """Keep the import of the module `airpath.run` from taking the place of the function `airpath.run`."""
        if name not in ("batch_means", "replicate", "run", "steady"):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
