"""Metrics of search and of clusters.

Every item asks, and the others are searched; with ``gallery=(X, y)`` those are searched instead. Items of unknown
class neither ask nor are searched, those known to be of none (-2) are wrong answers. A query whose class has
nothing to find counts 0 in `recall_at_k` and `precision_at_k` and is left out of the others. Of more than 10,000
queries a sample asks, unless ``all_queries``.

Examples
--------
>>> import numpy as np
>>> from likewise import metrics
>>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
>>> metrics.recall_at_k(X, [0, 0, 1, 1])
1.0
>>> metrics.nmi([0, 0, 1, 1], [5, 5, 3, 3])
1.0
"""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np

from . import _likewise
from ._arrays import as_numpy, is_missing, matrix
from ._base import check_same_names, column_names
from ._labels import encode, together
from ._work import count, flag, how, seed, word

__all__ = [
    "collapse",
    "evaluate",
    "map_at_r",
    "mean_average_precision",
    "nmi",
    "precision_at_k",
    "r_precision",
    "ranking",
    "recall_at_k",
]


def _asked(
    X: Any, y: Any, gallery: Any, ks: list[int], metric: str, all_queries: bool
) -> tuple[np.ndarray, tuple[np.ndarray, list[str]], dict]:
    word(metric, "metric")
    rows = matrix(X)
    n = len(rows)
    queries = searched = list(range(n))
    if gallery is not None:
        if not isinstance(gallery, tuple) or len(gallery) != 2:
            raise TypeError("gallery must be a tuple of rows and their labels: (X, y)")
        check_same_names(column_names(X), column_names(gallery[0]))
        others = matrix(gallery[0], "gallery")
        if others.shape[1] != rows.shape[1]:
            raise ValueError(f"X has {rows.shape[1]} columns, the gallery {others.shape[1]}")
        labels = together(encode(y, n), encode(gallery[1], len(others), "gallery"))
        rows = np.concatenate([rows, others])
        searched = list(range(n, len(rows)))
    else:
        labels = encode(y, n).given
    asked = {
        "queries": queries,
        "gallery": searched,
        "ks": ks,
        "metric": metric,
        "all_queries": flag(all_queries, "all_queries"),
    }
    return rows, labels, asked


def _counts(ks: Any) -> list[int]:
    if not hasattr(ks, "__iter__") or isinstance(ks, str):
        raise TypeError(f"ks = {ks!r}: must be a sequence of int")
    return [count(k, "ks") for k in ks]


def ranking(
    X: Any,
    y: Any,
    *,
    ks: Any = (1, 2, 4, 8),
    gallery: Any = None,
    metric: str = "cosine",
    all_queries: bool = False,
    n_jobs: Optional[int] = None,
) -> dict:
    """Every metric of search, query by query.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Embeddings of the items that ask.
    y : array-like of shape (n_samples,)
        Their classes.
    ks : sequence of int
        The k of recall and precision.
    gallery : tuple (X, y), or None
        Items that are searched; None: the items that ask, each without itself.
    metric : {"cosine", "euclidean", "inner_product"}
    all_queries : bool, default=False
        Let every query ask, of more than 10,000 too.
    n_jobs : int or None

    Returns
    -------
    dict
        ``means`` by name (None where no query counts), ``values`` by name and query, ``queries`` (rows that
        asked) and ``relevant`` (how many items each had to find).
    """
    ks = _counts(ks)
    return _likewise.rank(*_asked(X, y, gallery, ks, metric, all_queries), how(n_jobs))


def _mean(name: str, X: Any, y: Any, ks: list[int], given: dict) -> float:
    known = ("gallery", "metric", "all_queries", "n_jobs")
    strange = [keyword for keyword in given if keyword not in known]
    if strange:
        raise TypeError(f"{strange[0]} is no argument of this metric; there are {', '.join(known)}")
    mean = ranking(X, y, ks=ks, **given)["means"][name]
    if mean is None:
        raise ValueError(f"{name}: no item has another one of its class to find")
    return mean


def recall_at_k(X: Any, y: Any, k: int = 1, **given: Any) -> float:
    """Share of queries with an item of their class among the first `k` answers.

    Parameters
    ----------
    X, y
        As of `ranking`.
    k : int, default=1
    **given
        `gallery`, `metric`, `all_queries` and `n_jobs` of `ranking`.
    """
    return _mean(f"recall@{count(k, 'k')}", X, y, [k], given)


def precision_at_k(X: Any, y: Any, k: int = 1, **given: Any) -> float:
    """Share of items of the class of the query among the first `k` answers; see `recall_at_k`."""
    return _mean(f"precision@{count(k, 'k')}", X, y, [k], given)


def mean_average_precision(X: Any, y: Any, **given: Any) -> float:
    """Mean of the precision at each item of the class of the query, over the whole ranking; see `recall_at_k`."""
    return _mean("map", X, y, [1], given)


def map_at_r(X: Any, y: Any, **given: Any) -> float:
    """The same over the first R answers, R being the number of items to find; see `recall_at_k`."""
    return _mean("map_at_r", X, y, [1], given)


def r_precision(X: Any, y: Any, **given: Any) -> float:
    """Share of items of the class of the query among the first R answers; see `recall_at_k`."""
    return _mean("r_precision", X, y, [1], given)


def evaluate(
    X: Any,
    y: Any,
    *,
    ks: Any = (1, 2, 4, 8),
    gallery: Any = None,
    metric: str = "cosine",
    nmi: bool = True,
    random_state: Any = 0,
    all_queries: bool = False,
    n_jobs: Optional[int] = None,
) -> dict:
    """The numbers of ``likewise eval --json``, with 95 % intervals under ``"ci"``, without its baselines.

    Parameters
    ----------
    X, y, ks, gallery, metric, all_queries, n_jobs
        As of `ranking`.
    nmi : bool, default=True
        Cluster what is searched into as many clusters as there are classes, and compare.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the intervals and of the clusters.
    """
    ks = _counts(ks)
    asked = _asked(X, y, gallery, ks, metric, all_queries)
    return json.loads(_likewise.summary(*asked, flag(nmi, "nmi"), seed(random_state), how(n_jobs)))


def nmi(classes: Any, clusters: Any) -> float:
    """Normalised mutual information of two partitions of the same items, 0 to 1; -1 is a part as any other.

    The mean of the entropies is the arithmetic one, as in scikit-learn.
    """
    parts = []
    for name, of in (("classes", classes), ("clusters", clusters)):
        values = as_numpy(of, name)
        if values.ndim != 1:
            raise ValueError(f"{name} is of shape {values.shape}; give one part an item")
        lost = values.dtype.kind == "f" and np.isnan(values).any()
        if lost or (values.dtype.kind == "O" and any(is_missing(value) for value in values)):
            raise ValueError(f"{name} has items without a part (None or NaN); leave these out of both")
        try:
            parts.append(np.unique(values, return_inverse=True)[1].astype(np.uint32))
        except TypeError as e:
            raise TypeError(f"{name} has words beside numbers; give either") from e
    return _likewise.nmi(parts[0], parts[1], how())


def collapse(X: Any) -> dict:
    """Whether embeddings shrank to a point: their effective rank and mean cosine."""
    return json.loads(_likewise.collapse(matrix(X), how()))
