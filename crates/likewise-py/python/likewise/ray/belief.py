"""From scores to classes, block by block: class masses, pseudo-labels and confidence, as one machine has them.

Class-mass normalisation multiplies the scores of a class so that over all items that may be of one they sum to
its prior: ``"uniform"`` the same for all, ``"labeled"`` its share of the labels, ``"estimated"`` its share of the
scores once these are normalised by the labels. With ``"none"`` scores are compared after those of a class are divided
by its labels.

An item that is known to be of none of the classes gets no pseudo-label, and counts in the size of no class.

Source: Zhu, Ghahramani and Lafferty 2003, section 4; the confidence is eq. (21) of Zhuang and Moulin 2023.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from .._labels import OUTSIDE
from . import files
from .crew import Crew
from .system import System

MASSES = ("none", "uniform", "labeled", "estimated")
# Sums below this are rounding.
NOTHING = 1e-300


class Known(NamedTuple):
    """Components that hold labels, and how many of each class."""

    # Smallest node of each, ascending.
    components: np.ndarray
    # components x classes.
    counts: np.ndarray

    def of_rows(self, component: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether a label reaches each row, and the labels of its component (rows x classes)."""
        place = np.searchsorted(self.components, component).clip(max=len(self.components) - 1)
        reached = self.components[place] == component
        return reached, np.where(reached[:, None], self.counts[place], 0)

    def may_be(self, system: System, component: np.ndarray) -> np.ndarray:
        """Whether each row may be of one of the classes: a label reaches it, and it is not outside of them all."""
        return self.of_rows(component)[0] & (system.codes != OUTSIDE)


def known(crew: Crew, systems: list[Any], component: list[Any], classes: int) -> Known:
    """Counts the labels of each component."""
    parts = [crew.submit(labels_of, *of) for of in zip(systems, component)]
    pairs = np.concatenate(crew.get(parts))
    components, place = np.unique(pairs[:, 0], return_inverse=True)
    counts = np.zeros((len(components), classes), np.int64)
    np.add.at(counts, (place, pairs[:, 1]), 1)
    return Known(components, counts)


def scale(
    crew: Crew,
    systems: list[Any],
    scores: list[Any],
    component: list[Any],
    known: Any,
    counts: np.ndarray,
    mass: str,
) -> Optional[np.ndarray]:
    """What the scores of each class are multiplied by; None without class masses."""
    if mass == "none":
        return None

    def total(task: Any, *given: Any) -> np.ndarray:
        parts = [crew.submit(task, *of, known, *given) for of in zip(systems, scores, component)]
        return np.sum(crew.get(parts), axis=0)

    sums = total(masses)
    n, positive = sums[0], sums[1:]

    def factors(prior: np.ndarray) -> np.ndarray:
        return np.divide(prior * n, positive, out=np.ones_like(positive), where=positive > 0)

    labeled = counts / counts.sum()
    if mass == "uniform":
        return factors(np.full(len(labeled), 1 / len(labeled)))
    if mass == "labeled":
        return factors(labeled)
    shares = total(shares_of, factors(labeled))
    return factors(shares / shares.sum() if shares.sum() > 0 else np.full(len(shares), 1 / len(shares)))


# The tasks of a block.


def labels_of(system: System, component: np.ndarray) -> np.ndarray:
    """Component and class of each labeled row."""
    rows = np.flatnonzero(system.codes >= 0)
    return np.stack([component[rows], system.codes[rows]], axis=1)


def scores_of(system: System, *parts: np.ndarray) -> np.ndarray:
    """``F = D^1/2 H``, of the solutions of all groups of columns."""
    return np.concatenate(parts, axis=1) * np.sqrt(system.degrees)[:, None]


def masses(
    system: System, scores: np.ndarray, component: np.ndarray, known: Known
) -> np.ndarray:
    """How many rows may be of a class, and the sum of their positive scores of each class."""
    may_be = known.may_be(system, component)
    return np.append(may_be.sum(), np.maximum(scores[may_be], 0).sum(axis=0))


def shares_of(
    system: System, scores: np.ndarray, component: np.ndarray, known: Known, factors: np.ndarray
) -> np.ndarray:
    """The sum of the positive scores of each class, each row brought to sum 1."""
    positive = np.maximum(scores[known.may_be(system, component)], 0) * factors
    sums = positive.sum(axis=1, keepdims=True)
    return np.divide(positive, sums, out=np.zeros_like(positive), where=sums > 0).sum(axis=0)


def believe(
    system: System,
    scores: np.ndarray,
    component: np.ndarray,
    known: Known,
    scale: Optional[np.ndarray],
    path: Optional[str],
    names: list[str],
) -> tuple[Any, int]:
    """Scores, pseudo-labels (-1: none) and confidence, in the file if there is one; and how many rows are reached."""
    reached, counts = known.of_rows(component)
    if scale is None:
        totals = known.counts.sum(axis=0)
        compared = scores * np.where(counts > 0, totals.max() / totals, 0)
    else:
        compared = scores = scores * scale
    best = np.where(counts > 0, compared, -np.inf).argmax(axis=1)
    labeled, may_be = system.codes >= 0, known.may_be(system, component)
    pseudo = np.where(labeled, system.codes, np.where(may_be, best, -1))
    sure = np.where(may_be, confidence(compared), 0)
    sure = np.where(labeled, 1, sure).astype(np.float32)
    if path is None:
        return (scores, pseudo, sure), int(reached.sum())
    files.write_arrays(
        path,
        scores=scores,
        pseudo_label=pseudo,
        confidence=sure,
        labeled=labeled,
        classes=np.array(names),
        first=np.int64(system.first),
    )
    return None, int(reached.sum())


def confidence(scores: np.ndarray) -> np.ndarray:
    """``1 - H / log C`` of each row, 0 where nothing is positive, 1 of a single class."""
    positive = np.maximum(scores, 0)
    sums = positive.sum(axis=1)
    there = sums >= NOTHING
    share = positive[there] / sums[there, None]
    entropy = -(share * np.log(share, out=np.zeros_like(share), where=share > 0)).sum(axis=1)
    sure = np.zeros(len(scores))
    classes = scores.shape[1]
    sure[there] = 1.0 if classes < 2 else np.clip(1 - entropy / np.log(classes), 0, 1)
    return sure
