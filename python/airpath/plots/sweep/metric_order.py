"""Whether more of a metric is better or worse."""

from __future__ import annotations

_MORE_IS_BETTER = ("goodput", "throughput", "utilisation", "jain")
_LESS_IS_BETTER = (
    *("rtt", "delay", "transfer_s", "received_s", "wait", "queued", "lost", "dropped", "discarded"),
    *("retransmi", "timeout", "spurious", "dupack", "loss_", "errors", "resets"),
)


def better(metric: str) -> int:
    """Say 1 if more is better, -1 if less is, 0 if that is not known."""
    if any(word in metric for word in _MORE_IS_BETTER):
        return 1
    return -1 if any(word in metric for word in _LESS_IS_BETTER) else 0
