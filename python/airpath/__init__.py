"""airpath: TCP over cellular radio bearers, simulated.

>>> import airpath
>>> result = airpath.run("umts-384", seed=1)
>>> result.flows[0]["goodput_bps"]          # bit/s
>>> result.trace["rtt_sample"]["rtt_us"]    # NumPy array, microseconds
"""

from airpath._core import ScenarioError
from airpath._core import version as _version
from airpath.batch_means import RunTooShortError, SteadyEstimate, batch_means, mser5
from airpath.compare import PairedComparison, compare_paired, paired
from airpath.estimate import Estimate
from airpath.figures.overlay import Overlay, overlay
from airpath.figures.plot_sweep import SweepFigure, plot_sweep
from airpath.folder import run_to_folder
from airpath.recorder import OutputError
from airpath.replicate import replicate
from airpath.run import Result, run
from airpath.scenario import Scenario, load
from airpath.steady import steady

__version__ = _version()

__all__ = [
    "Estimate",
    "OutputError",
    "Overlay",
    "PairedComparison",
    "Result",
    "RunTooShortError",
    "Scenario",
    "ScenarioError",
    "SteadyEstimate",
    "SweepFigure",
    "__version__",
    "batch_means",
    "compare_paired",
    "load",
    "mser5",
    "overlay",
    "paired",
    "plot_sweep",
    "replicate",
    "run",
    "run_to_folder",
    "steady",
]
