"""Steer one simulated sender, step by step, with the interface of Gymnasium: `airpath.gym`.

An `Environment` runs a scenario and lets a program control one sender. Each step sets the congestion window
or the pacing rate of a TCP connection, or the target rate of a call, lets time pass, and returns what ACKs or
feedback messages reported in that time. Everything else in the scenario is simulated as in `airpath.run`. The
module requires the extra `gym`: `pip install 'airpath[gym]'`.

An observation is an array of shape (10,) and dtype float32. Columns describe the latest step unless they say
otherwise:

| column | name | value |
|---|---|---|
| 0 | `elapsed_s` | length of the step, s |
| 1 | `reports` | ACKs of TCP, or feedback messages of a call, that arrived |
| 2 | `acked_bytes` | bytes that they reported as received |
| 3 | `lost_bytes` | bytes that were found lost |
| 4 | `marked_bytes` | bytes received with the mark CE; of TCP only with `tcp.ecn = "accurate"` |
| 5 | `rtt_s` | mean round-trip time, s; without a sample the latest one; 0 before the first |
| 6 | `least_rtt_s` | shortest round-trip time since the flow began, s; 0 before the first |
| 7 | `in_flight_bytes` | bytes in flight after the latest report |
| 8 | `window_bytes` | congestion window at the end of the step; 0 for a call, which has none |
| 9 | `rate_bps` | pacing rate of TCP (0 if it is not paced), or target rate of a call, bit/s |

Bytes are those of TCP's payload, or of a call's IP packets. `COLUMNS` has the names, in this order.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from airpath import _core
from airpath.errors import ScenarioError
from airpath.runs.memory import check_seed
from airpath.scenario import Scenario, load

try:
    import gymnasium
    from gymnasium.spaces import Box
except ImportError as error:
    raise ImportError("airpath.gym requires Gymnasium: pip install 'airpath[gym]'") from error

Array: TypeAlias = NDArray[np.float32]

COLUMNS: tuple[str, ...] = tuple(_core.observed())
"""Names of the columns of an observation."""

_MOST = 1e15
"""Upper limit of every column: more than any run counts."""


class Environment(gymnasium.Env[Array, Array]):
    """A sender of a scenario, steered step by step.

    The flow's congestion control is replaced by ``constant``, or the call's rate controller by ``fixed``:
    window and rate are constant between actions. Loss recovery of TCP is then RACK with SACK. The first
    observation is made at the start of the flow. An episode is terminated when a finite transfer is
    acknowledged or the flow stops, and truncated at the end of the scenario's `duration`. Scenario, seed and
    actions determine all observations.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, a bundled name or a file.
    reward : callable
        ``reward(observation, action)``, called after each step; returns a number.
    flow : int
        Number of the flow's entry in ``[[flow]]``, from 0. If several UEs have it, that of the first UE.
    window : (float, float), optional
        Limits of the congestion window, segments: makes it an action. TCP alone; at least 1.
    rate : (float, float), optional
        Limits of the pacing rate of TCP's payload or of the call's target rate, bit/s: makes it an action; at
        least 1000. A call's target includes its audio and all headers.
    step : str
        Length of a step, with its unit.
    reports : int, optional
        A step ends when so many ACKs or feedback messages have arrived, after `step` at the latest.

    Attributes
    ----------
    action_space : Box
        Shape (1,) or (2,), dtype float32: the window in segments, then the rate in bit/s, of those that have
        limits.
    observation_space : Box
        Shape (10,), dtype float32: `COLUMNS`.

    Raises
    ------
    ScenarioError
        If an argument cannot be used, or the flow's sender cannot be steered: flows over one TCP connection
        and calls can be.

    Examples
    --------
    >>> import airpath.gym
    >>> env = airpath.gym.Environment("umts-384", window=(1, 100), reward=lambda seen, action: seen[2])
    >>> seen, info = env.reset(seed=1)
    >>> seen, reward, terminated, truncated, info = env.step(env.action_space.sample())
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it
    action_space: Box[np.float32]
    observation_space: Box[np.float32]

    def __init__(
        self,
        scenario: Scenario | str | Path,
        *,
        reward: Callable[[Array, Array], float],
        flow: int = 0,
        window: tuple[float, float] | None = None,
        rate: tuple[float, float] | None = None,
        step: str = "10 ms",
        reports: int | None = None,
    ) -> None:
        """Make the environment; no run has begun."""
        given = scenario if isinstance(scenario, Scenario) else load(scenario)
        limits = [
            _limits(name, pair, least)
            for name, pair, least in (("window", window, 1), ("rate", rate, 1000))
            if pair
        ]
        if not limits:
            raise ScenarioError("window", "nothing is an action", "give limits, such as window=(1, 100)")
        if reports is not None and reports < 1:
            raise ScenarioError(
                "reports", f"{reports} is no number of ACKs", "write 1 or more, or leave it out"
            )
        self.scenario = _steerable(given, flow, window is not None)
        self._run = _core.Steered(self.scenario.text, flow, _nanoseconds(step), reports)
        self._has_window, self._has_rate = window is not None, rate is not None
        low, high = np.array(limits, dtype=np.float32).T
        self._low, self._high = low.tolist(), high.tolist()
        self.action_space = Box(low, high, dtype=np.float32)
        self.observation_space = Box(0.0, _MOST, (len(COLUMNS),), dtype=np.float32)
        self._reward = reward
        self._state: str | None = "no episode has begun"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode: a run with `seed`, or with one that the environment's generator draws.

        Parameters
        ----------
        seed : int, optional
            Seed of the run, from 0 to 2^64 - 1, and of the seeds of later episodes without one.
        options : dict, optional
            Ignored.

        Returns
        -------
        observation : ndarray
            All columns zero but `window_bytes` and `rate_bps`.
        info : dict
            ``seed`` of the run, and ``time_s``, the simulated time in seconds.
        """
        if seed is not None:
            check_seed(seed)
        super().reset(seed=seed)
        run_seed = int(self.np_random.integers(2**32)) if seed is None else int(seed)
        seen = np.empty(len(COLUMNS), dtype=np.float32)
        self._run.reset(run_seed, seen)
        self._state = None
        return seen, {"seed": run_seed, "time_s": self._run.now_s}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Set window or rate, and run one step.

        Parameters
        ----------
        action : ndarray
            An element of `action_space`.

        Returns
        -------
        observation : ndarray
            A new array.
        reward : float
            What the function `reward` returned.
        terminated, truncated : bool
            Whether the episode has ended: with the flow, or with the scenario.
        info : dict
            ``time_s``, the simulated time in seconds.

        Raises
        ------
        ScenarioError
            If the action is not in `action_space`, or the run holds more packets than memory allows.
        gymnasium.error.ResetNeeded
            If no episode has begun, or the last one has ended.
        """
        if self._state:
            raise gymnasium.error.ResetNeeded(f"{self._state}: call reset()")
        values = action.tolist() if isinstance(action, np.ndarray) else list(action)
        if len(values) != len(self._low) or not all(map(_within, values, self._low, self._high)):
            raise ScenarioError(
                "action", f"{action!r} is not in {self.action_space}", "stay within its limits"
            )
        seen = np.empty(len(COLUMNS), dtype=np.float32)
        end = self._run.step(
            values[0] if self._has_window else None, values[-1] if self._has_rate else None, seen
        )
        if end:
            self._state = "the episode has ended"
        return seen, float(self._reward(seen, action)), end == 1, end == 2, {"time_s": self._run.now_s}

    def results(self) -> dict[str, Any]:
        """Results of the run so far, as in `results.json`."""
        found: dict[str, Any] = json.loads(self._run.results())
        return found


def _within(value: float, low: float, high: float) -> bool:
    return low <= value <= high


def _limits(name: str, pair: tuple[float, float], least: float) -> tuple[float, float]:
    """Check the limits of an action."""
    try:
        low, high = map(float, pair)
    except (TypeError, ValueError):
        low = high = float("nan")
    if not least <= low < high <= _MOST:
        hint = f"write the lowest and the highest value, such as {name}=({least}, {least * 100})"
        raise ScenarioError(name, f"{pair!r} are not two limits of at least {least}", hint)
    return low, high


def _nanoseconds(step: str) -> int:
    """Length of a step."""
    try:
        length = _core.seconds(step)
    except (TypeError, ValueError) as error:
        raise ScenarioError("step", str(error), 'write a time such as "10 ms"') from error
    if length < 1e-6:
        raise ScenarioError("step", f"{step} is below 1 us", 'write a time such as "10 ms"')
    return round(length * 1e9)


def _steerable(scenario: Scenario, flow: int, has_window: bool) -> Scenario:
    """The scenario with a flow whose sender does nothing by itself."""
    flows = tomllib.loads(scenario.text).get("flow", [])
    if not 0 <= flow < len(flows):
        hint = f"write a number from 0 to {len(flows) - 1}" if flows else "add a [[flow]] to the scenario"
        raise ScenarioError("flow", f"there is no [[flow]] {flow}", hint)
    if "call" in flows[flow]["app"]:
        if has_window:
            raise ScenarioError(
                "window", "a call has no congestion window", "steer its rate: rate=(100e3, 2.5e6)"
            )
        return scenario.with_(f"flow.{flow}.app.call.controller", "fixed")
    keys = {"cc": "constant", "recovery": "rack", "sack": True}
    overrides = tuple((f"flow.{flow}.tcp.{key}", str(value).lower()) for key, value in keys.items())
    return Scenario(scenario.name, scenario.source, (*scenario.overrides, *overrides), scenario.folder)
