"""Tasks: given to the cluster a few at a time, done again where a worker dies, their errors told as Python's own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Iterable, Iterator, Optional

from .._work import count


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
        processors = int(ray().cluster_resources().get("CPU", 1))
        if self.threads > processors:
            raise ValueError(f"threads = {threads}: the cluster has {processors} processors")
        self.workers = workers or max(1, processors // self.threads)

    def submit(self, function: Callable, *given: Any, returns: int = 1) -> Any:
        """What will be the result of the function: one, or a list where it returns several."""
        task = _remote(function).options(
            num_returns=returns, num_cpus=self.threads, max_retries=self._retries
        )
        return task.remote(*given)

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
        died = module.exceptions.WorkerCrashedError
        try:
            return module.get(results)
        except module.exceptions.RayTaskError as e:
            cause = e.cause
        except died as e:
            cause = e
        if isinstance(cause, died):
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
