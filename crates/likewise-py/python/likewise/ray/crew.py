"""Tasks: given to the cluster a few at a time, done again where a worker dies, their errors told as Python's own."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, Callable, Iterable, Iterator, Optional

from .._work import LikewiseWarning, count


def ray() -> Any:
    """Ray itself, joined to a cluster."""
    try:
        import ray as module
    except ImportError as e:
        raise ImportError("likewise.ray needs Ray: pip install likewise[ray]") from e
    if not module.is_initialized():
        module.init()
    return module


@lru_cache(maxsize=None)
def _remote(function: Callable) -> Any:
    return ray().remote(function)


class Crew:
    """Who does the work.

    Parameters
    ----------
    workers : int or None
        Tasks at a time; None: as many as the cluster has processors for.
    threads : int
        Threads, and processors asked for, of a task.
    max_retries : int
        How often a task is done again whose worker died.
    """

    def __init__(self, workers: Optional[int], threads: int, max_retries: int) -> None:
        self.threads = count(threads, "threads")
        self._retries = count(max_retries, "max_retries", 0)
        workers = None if workers is None else count(workers, "workers")
        # A task is done by one machine.
        machines = {of["NodeID"]: int(of["Resources"].get("CPU", 0)) for of in ray().nodes() if of["Alive"]}
        together = max(1, sum(machines.values()))
        if self.threads > together:
            raise ValueError(f"threads = {threads}: the cluster has {together} processors")
        self._places = [of for of, count in sorted(machines.items()) for _ in range(count // self.threads)]
        if not self._places and machines:
            # A cluster that grows may bring one.
            warnings.warn(
                f"threads = {threads}: no machine of the cluster has so many processors now; tasks wait until one has",
                LikewiseWarning,
                stacklevel=3,
            )
        self.workers = workers or max(1, len(self._places))

    def submit(
        self, function: Callable, *given: Any, returns: int = 1, block: Optional[tuple[int, int]] = None
    ) -> Any:
        """What will be the result of the function: one, or a list where it returns several.

        A task of a `block`, number and of how many, is done where its others are, if that machine lives and has room: what
        it has made lies there, and need not be sent.
        """
        how = {"num_returns": returns, "num_cpus": self.threads, "max_retries": self._retries}
        if block is not None and self._places:
            number, blocks = block
            where = self._places[number * len(self._places) // blocks]
            affinity = ray().util.scheduling_strategies.NodeAffinitySchedulingStrategy
            # Where others are at work on that machine for long, a free one does it.
            how["scheduling_strategy"] = affinity(where, soft=True, _spill_on_unavailable=True)
        return _remote(function).options(**how).remote(*given)

    def warn_of_store(self, needed: float) -> None:
        """Warns where the object stores of all machines hold fewer bytes than are needed at a time."""
        held = ray().cluster_resources().get("object_store_memory", 0)
        if needed > held:
            warnings.warn(
                f"the object stores of the cluster hold {held / 1e9:.1f} GB, and some {needed / 1e9:.1f} GB are needed: what "
                "does not fit is written to the disk and read again, which is many times slower; give Ray more "
                "(object_store_memory), or more machines",
                LikewiseWarning,
                stacklevel=3,
            )

    def put(self, value: Any) -> Any:
        """Into the store, once for all tasks."""
        return ray().put(value)

    def get(self, results: Any) -> Any:
        """Waits for results.

        Raises
        ------
        Exception
            What a task raised, as it raised it.
        RuntimeError
            Where its worker died more often than it may.
        """
        module = ray()
        names = "WorkerCrashedError", "OutOfMemoryError", "NodeDiedError", "LocalRayletDiedError"
        died = tuple(getattr(module.exceptions, name) for name in names)
        try:
            return module.get(results)
        except module.exceptions.RayTaskError as e:
            cause = e.cause
        except died as e:
            cause = e
        if isinstance(cause, died):
            if isinstance(cause, module.exceptions.OutOfMemoryError):
                raise RuntimeError(
                    "memory ran out on a machine of the cluster; give less at a time (block_rows), or let fewer "
                    "workers work at a time (workers)"
                ) from cause
            raise RuntimeError(
                f"the worker of a task died {self._retries + 1} times; raise max_retries, or give less at a time "
                "(block_rows) where memory runs out"
            ) from cause
        raise cause

    def each(
        self, submit: Callable[[Any], Any], items: Iterable[Any], at_once: Optional[int] = None
    ) -> Iterator[tuple[Any, Any]]:
        """Every item and its result as it comes, with no more than `at_once` (`workers`) under way."""
        at_once = at_once or self.workers
        # Where one fails the others under way end by themselves: ray.cancel of a task that is just done ends the driver
        # (Ray 2.60, "Tried to complete task that was not pending").
        under_way: dict[Any, Any] = {}
        items = iter(items)
        while True:
            while len(under_way) < at_once:
                item = next(items, None)
                if item is None:
                    break
                under_way[submit(item)] = item
            if not under_way:
                return
            (done,), _ = ray().wait(list(under_way), num_returns=1)
            yield under_way.pop(done), self.get(done)
