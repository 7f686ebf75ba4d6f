"""Halos: the rows of other blocks that a block's rows of the graph touch, and only these, are sent to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .crew import Crew


class Halo(NamedTuple):
    """Who sends what to whom.

    A task of block `b` that sends takes ``asked[b]`` as its last arguments, and returns after its own results what
    `pieces` gives. A task that receives takes `received` as its last arguments.
    """

    # Of each block: the rows that others ask it for, in Ray's store.
    asked: list[list[Any]]
    # Of each block: which these are.
    targets: list[list[int]]
    # Of each block: those that it asks, ascending, as its halo is ordered.
    sources: list[list[int]]
    # Rows that all blocks ask for together.
    rows: int

    def send(self, crew: Crew, task: Any, b: int, *given: Any, results: int = 1) -> list[Any]:
        """Submits a task of block `b` that sends."""
        asked = self.asked[b]
        returns = results + len(asked)
        sent = crew.submit(task, *given, *asked, returns=returns, block=(b, len(self.asked)))
        return [sent] if returns == 1 else sent

    def received(self, sent: list[list[Any]], b: int) -> list[Any]:
        """What the others have for block `b`, of the pieces that each sent."""
        return [sent[source][self.targets[source].index(b)] for source in self.sources[b]]


def halo_of(wanted: list[list[Any]], counts: np.ndarray) -> Halo:
    """The exchange in which block `b` wants ``counts[b, o]`` rows of block `o`, named by ``wanted[b][o]``."""
    blocks = range(len(wanted))
    targets = [[b for b in blocks if counts[b, o]] for o in blocks]
    return Halo(
        asked=[[wanted[b][o] for b in targets[o]] for o in blocks],
        targets=targets,
        sources=[[o for o in blocks if counts[b, o]] for b in blocks],
        rows=int(counts.sum()),
    )


def pieces(values: np.ndarray, asked: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """The rows that others ask for."""
    return [values[rows] for rows in asked]


def joined(received: tuple[np.ndarray, ...], like: np.ndarray) -> np.ndarray:
    """The halo, in the order of its columns."""
    if not received:
        return np.empty((0, *like.shape[1:]), like.dtype)
    return np.concatenate(received)
