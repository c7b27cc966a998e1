"""Which workers make the runs."""

from __future__ import annotations

from collections.abc import Callable

from airpath.runner.cluster import WORKERS_S, Cluster
from airpath.runner.processes import Processes, processors
from airpath.runner.work import Work


def pool_of(
    work: Work, workers: int | None, dask: str | None, dask_wait_s: float | None, warn: Callable[[str], None]
) -> Processes | Cluster:
    """Make a pool.

    Parameters
    ----------
    work : Work
        How runs are made.
    workers : int or None
        Number of processes; the processors that this process may use if absent.
    dask : str or None
        Address of a Dask scheduler, whose workers make the runs in place of processes on this machine.
    dask_wait_s : float or None
        How long to wait when that scheduler has no worker; a minute if absent.
    warn : callable
        Called when there is no worker.
    """
    if dask is None:
        return Processes(workers or processors(), work)
    return Cluster(dask, work, WORKERS_S if dask_wait_s is None else dask_wait_s, warn)
