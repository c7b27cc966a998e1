"""What `airpath` offers; `__init__.py` imports it when it is used."""

from airpath import analytic as analytic
from airpath import analyze as analyze
from airpath.batch_means import RunTooShortError as RunTooShortError
from airpath.batch_means import SteadyEstimate as SteadyEstimate
from airpath.batch_means import batch_means as batch_means
from airpath.batch_means import mser5 as mser5
from airpath.compare import PairedComparison as PairedComparison
from airpath.compare import compare_paired as compare_paired
from airpath.compare import paired as paired
from airpath.errors import AirpathError as AirpathError
from airpath.errors import ExportError as ExportError
from airpath.errors import LiveError as LiveError
from airpath.errors import OutputError as OutputError
from airpath.errors import ScenarioError as ScenarioError
from airpath.errors import SweepError as SweepError
from airpath.estimate import Estimate as Estimate
from airpath.figures.overlay import Overlay as Overlay
from airpath.figures.overlay import overlay as overlay
from airpath.figures.plot_sweep import SweepFigure as SweepFigure
from airpath.figures.plot_sweep import plot_sweep as plot_sweep
from airpath.folder import run_to_folder as run_to_folder
from airpath.replicate import replicate as replicate
from airpath.run import Result as Result
from airpath.run import run as run
from airpath.scenario import Scenario as Scenario
from airpath.scenario import load as load
from airpath.steady import steady as steady

__version__: str
