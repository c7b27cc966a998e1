"""airpath: TCP over cellular radio bearers, simulated.

>>> import airpath
>>> result = airpath.run("umts-384", seed=1)
>>> result.flows[0]["goodput_bps"]          # bit/s
>>> result.trace["rtt_sample"]["rtt_us"]    # NumPy array, microseconds
"""

from airpath._core import ScenarioError
from airpath._core import version as _version
from airpath.folder import run_to_folder
from airpath.recorder import OutputError
from airpath.replicate import Estimate, replicate
from airpath.run import Result, run
from airpath.scenario import Scenario, load

__version__ = _version()

__all__ = [
    "Estimate",
    "OutputError",
    "Result",
    "Scenario",
    "ScenarioError",
    "__version__",
    "load",
    "replicate",
    "run",
    "run_to_folder",
]
