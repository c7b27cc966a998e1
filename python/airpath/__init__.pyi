"""What `airpath` offers; `__init__.py` imports it when it is used."""

from airpath import captures as captures
from airpath import models as models
from airpath.errors import AirpathError as AirpathError
from airpath.errors import ExportError as ExportError
from airpath.errors import LiveError as LiveError
from airpath.errors import OutputError as OutputError
from airpath.errors import ScenarioError as ScenarioError
from airpath.errors import SweepError as SweepError
from airpath.experiments.paired import PairedComparison as PairedComparison
from airpath.experiments.paired import compare_paired as compare_paired
from airpath.experiments.paired import paired as paired
from airpath.experiments.replicate import replicate as replicate
from airpath.live.radio_link import RadioLink as RadioLink
from airpath.net import Net as Net
from airpath.plots.overlay import Overlay as Overlay
from airpath.plots.overlay import overlay as overlay
from airpath.plots.sweep.figure import SweepFigure as SweepFigure
from airpath.plots.sweep.figure import plot_sweep as plot_sweep
from airpath.report.sweep import SweepTable as SweepTable
from airpath.report.sweep import sweep_table as sweep_table
from airpath.runs.folder import run_to_folder as run_to_folder
from airpath.runs.memory import Result as Result
from airpath.runs.memory import run as run
from airpath.scenario import Scenario as Scenario
from airpath.scenario import load as load
from airpath.stats.batch_means import RunTooShortError as RunTooShortError
from airpath.stats.batch_means import SteadyEstimate as SteadyEstimate
from airpath.stats.batch_means import batch_means as batch_means
from airpath.stats.batch_means import mser5 as mser5
from airpath.stats.estimate import Estimate as Estimate
from airpath.stats.estimate import estimate as estimate
from airpath.stats.steady import steady as steady

__version__: str
