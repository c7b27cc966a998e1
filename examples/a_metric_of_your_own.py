"""Average a metric that you write yourself: the longest silence between two arrivals at the receiver."""

import numpy as np

import airpath

scenario = airpath.load("lte-drive-series")


def longest_silence_s(seed: int) -> float:
    """Longest time between two segments, in seconds."""
    result = airpath.run(scenario, seed=seed, probes=["segment_received"])
    return float(np.diff(result.trace["segment_received"]["time_s"]).max())


silences = [longest_silence_s(seed) for seed in range(1, 11)]
mean, sd = np.mean(silences), np.std(silences, ddof=1)
print(f"{mean:.2f} s in the mean of {len(silences)} runs, standard deviation {sd:.2f} s")
