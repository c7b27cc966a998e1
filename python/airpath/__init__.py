"""airpath: TCP over cellular radio bearers, simulated.

>>> import airpath
>>> result = airpath.run("umts-384", seed=1)
>>> result.flows[0]["goodput_bps"]          # bit/s
>>> result.trace["rtt_sample"]["rtt_us"]    # NumPy array, microseconds

Names are imported when they are first used (PEP 562); `__init__.pyi` has them for type checkers.
"""

_PACKAGES = ("captures", "models")
# Where each other name is.
_MODULES = {
    "AirpathError": "errors",
    "Estimate": "stats.estimate",
    "ExportError": "errors",
    "LiveError": "errors",
    "Net": "net",
    "OutputError": "errors",
    "Overlay": "plots.overlay",
    "PairedComparison": "experiments.paired",
    "RadioLink": "live.radio_link",
    "Result": "runs.memory",
    "RunTooShortError": "stats.batch_means",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "SteadyEstimate": "stats.batch_means",
    "SweepError": "errors",
    "SweepFigure": "plots.sweep.figure",
    "SweepTable": "report.sweep",
    "batch_means": "stats.batch_means",
    "compare_paired": "experiments.paired",
    "estimate": "stats.estimate",
    "load": "scenario",
    "mser5": "stats.batch_means",
    "overlay": "plots.overlay",
    "paired": "experiments.paired",
    "plot_sweep": "plots.sweep.figure",
    "replicate": "experiments.replicate",
    "run": "runs.memory",
    "run_to_folder": "runs.folder",
    "steady": "stats.steady",
    "sweep_table": "report.sweep",
}
__all__ = [*_MODULES, *_PACKAGES, "__version__"]


def __getattr__(name: str) -> object:
    from importlib import import_module  # Here, as the program has not yet seen to Ctrl-C: `__main__`.

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
