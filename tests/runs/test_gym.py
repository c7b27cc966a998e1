"""`airpath.gym`: Gymnasium's own check, determinism, the ends of an episode, and refused arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import airpath
import airpath.gym
from airpath.gym import COLUMNS, Environment

ACKED, LOST, WINDOW, RATE = map(COLUMNS.index, ("acked_bytes", "lost_bytes", "window_bytes", "rate_bps"))
CALL = airpath.load("lte-10mhz").with_("flow.0.app", "call").with_("duration", "5 s")
FILE = airpath.load("umts-384").with_("flow.0.app", {"file": {"size": "200 kB"}})


def environment(scenario: Any = "umts-384", **given: Any) -> Environment:
    if not given.keys() & {"window", "rate"}:
        given["window"] = (1, 100)
    return Environment(scenario, reward=lambda seen, action: float(seen[ACKED]), **given)


def episode(env: Environment, seed: int, actions: int = 200) -> tuple[np.ndarray, str]:
    """All observations of an episode, and the results."""
    env.action_space.seed(seed)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(actions):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append(observation)
        if terminated or truncated:
            break
    return np.array(seen), str(env.results())


# The action is in segments and bit/s, not in [-1, 1]; `RescaleAction` makes it so.
@pytest.mark.filterwarnings("ignore:.*recommend using a symmetric and normalized space")
@pytest.mark.parametrize(
    ("scenario", "limits"),
    [
        ("umts-384", {"window": (1, 100)}),
        ("lte-10mhz", {"window": (1, 100), "rate": (1e5, 1e7), "reports": 4}),
        (CALL, {"rate": (1e5, 1e6)}),
    ],
)
def test_gymnasium_finds_nothing_wrong(scenario: Any, limits: dict[str, Any]) -> None:
    check_env(environment(scenario, **limits), skip_render_check=True)


@pytest.mark.parametrize("limits", [{"window": (1, 100)}, {"rate": (1e5, 1e6), "step": "20 ms"}])
def test_seed_and_actions_determine_every_byte(limits: dict[str, Any]) -> None:
    scenario = CALL if "rate" in limits else "umts-384"
    env, another = environment(scenario, **limits), environment(scenario, **limits)
    first, results = episode(env, 3)
    for again, same in (episode(env, 3), episode(another, 3)):
        assert again.tobytes() == first.tobytes() and same == results
    assert episode(env, 4)[1] != results
    assert first[:, ACKED].sum() > 10_000


def test_actions_change_the_run() -> None:
    totals = []
    for segments in (2, 8):
        env = environment(step="100 ms")
        env.reset(seed=1)
        totals.append(sum(env.step(np.array([segments], dtype=np.float32))[1] for _ in range(50)))
        seen = env.step(np.array([segments], dtype=np.float32))[0]
        assert seen[WINDOW] == segments * 1448
    assert totals[1] > 2 * totals[0]


def test_an_observation_is_not_written_to_later() -> None:
    env = environment()
    first, _ = env.reset(seed=1)
    kept = first.copy()
    for _ in range(100):
        env.step([20])
    assert (first == kept).all()


def test_an_episode_ends_with_the_file_or_with_the_scenario() -> None:
    env = environment(FILE, step="100 ms")
    env.reset(seed=1)
    acked, terminated = 0.0, False
    while not terminated:
        seen, _, terminated, truncated, info = env.step([20])
        acked += seen[ACKED]
        assert not truncated
    assert acked == 200_000 and info["time_s"] < 20
    assert env.results()["flows"][0]["transfer_s"] == pytest.approx(info["time_s"], abs=0.1)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"the episode has ended: call reset\(\)"):
        env.step([20])
    env = environment(CALL, rate=(1e5, 1e6), step="1 s")
    with pytest.raises(gymnasium.error.ResetNeeded, match="no episode has begun"):
        env.step([2e5])
    env.reset(seed=1)
    ends = [env.step([2e5])[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]


def test_other_flows_keep_their_control() -> None:
    beside = airpath.load("umts-384").with_("flow", [{"app": "bulk"}, {"app": "bulk"}])
    env = environment(beside, flow=1)
    assert env.scenario.text.count("cc.constant]") == 1
    env.reset(seed=1)
    for _ in range(200):
        env.step([1])
    cubic, steered = env.results()["flows"]
    assert cubic["bytes_acked"] > steered["bytes_acked"] > 0


@pytest.mark.parametrize(
    ("given", "key", "remedy"),
    [
        ({"window": None}, "window", "give limits"),
        ({"window": (0, 10)}, "window", "such as window=(1, 100)"),
        ({"window": (10, 1)}, "window", "such as window=(1, 100)"),
        ({"window": 5}, "window", "such as window=(1, 100)"),
        ({"rate": (1, 10)}, "rate", "such as rate=(1000, 100000)"),
        ({"flow": 1}, "flow", "from 0 to 0"),
        ({"step": "10"}, "step", "10 ms"),
        ({"step": "0 s"}, "step", "10 ms"),
        ({"reports": 0}, "reports", "1 or more"),
        ({"scenario": CALL, "window": (1, 10)}, "window", "steer its rate"),
        ({"scenario": airpath.load("umts-384").with_("flow.0.app", "cbr")}, "flow.0", "a call"),
    ],
)
def test_what_cannot_be_is_refused_with_its_remedy(given: dict[str, Any], key: str, remedy: str) -> None:
    scenario = given.pop("scenario", "umts-384")
    with pytest.raises(airpath.ScenarioError) as refused:
        Environment(scenario, reward=lambda seen, action: 0.0, **{"window": (1, 100), **given})
    assert refused.value.key == key and remedy in refused.value.remedy


@pytest.mark.parametrize("action", [[0.5], [101], [float("nan")], [1, 2], []])
def test_an_action_outside_of_its_space_is_refused(action: list[float]) -> None:
    env = environment()
    env.reset(seed=1)
    with pytest.raises(airpath.ScenarioError, match="is not in Box"):
        env.step(action)


def test_without_gymnasium_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "gymnasium.py").write_text("raise ImportError('no such module')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import airpath; import airpath.gym"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.endswith("ImportError: airpath.gym requires Gymnasium: pip install 'airpath[gym]'\n")
