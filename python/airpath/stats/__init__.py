"""Statistics over runs: means with intervals, pairs, and one long run."""
