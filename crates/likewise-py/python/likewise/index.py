"""Indexes that answer k-nearest queries."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any, Optional

import numpy as np

from . import _likewise
from ._arrays import matrix
from ._base import check_same_names, column_names
from ._work import count, folder, how, new_folder, seed, word


class Index:
    """Search rows by their nearest.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows that are searched, such as those of `MetricLearner.transform`.
    kind : {"flat", "hnsw"}, default="flat"
        ``"flat"`` is exact; ``"hnsw"`` is approximate, built with a recall that is measured on its own rows, and pays
        from some hundred thousand rows on.
    metric : {"cosine", "euclidean", "inner_product"}, default="cosine"
        What compares rows; ``"hnsw"`` takes the cosine alone. Similarities are larger where rows are more similar:
        of ``"euclidean"`` they are minus the squared distance.
    random_state : int, RandomState, Generator or None, default=0
        Which rows the recall is measured on.
    n_jobs : int or None, default=None
        Threads; None: all cores.
    verbose : bool, default=False
        Tell of progress.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
    kind : str
    metric : str
    recall : float
        Share of the true 10 nearest that it finds when it is asked by rows of its own, 1 of ``"flat"``. Queries that lie
        apart from the rows find fewer, and so do rows of which many are the same: where that matters, compare with
        ``"flat"`` on some of them.

    Examples
    --------
    >>> from likewise import Index
    >>> index = Index([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> ids, similarities = index.search([[2.0, 0.1]], k=2)
    >>> ids
    array([[0, 2]])
    """

    def __init__(
        self,
        X: Any,
        kind: str = "flat",
        *,
        metric: str = "cosine",
        random_state: Any = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.X = matrix(X)
        self._names = column_names(X)
        self.metric = metric
        self._work = n_jobs, verbose
        word(kind, "kind"), word(metric, "metric")
        # The rows stay those of the caller, who may change them; the index has what it needs of them.
        self._sum, self._seed = _sum_of(self.X), seed(random_state)
        self._index = _likewise.Index.build(self.X, kind, metric, self._seed, how(n_jobs, verbose))

    @property
    def kind(self) -> str:
        return json.loads(self._index.card)["kind"]

    @property
    def recall(self) -> float:
        return json.loads(self._index.card)["recall"]

    def __len__(self) -> int:
        return len(self.X)

    def __reduce__(self) -> Any:
        # A copy is made again from the rows.
        self._check_rows()
        return _again, (self.X, self.kind, self.metric, self._seed, self._work, self._names)

    def _check_rows(self) -> None:
        if self._sum != _sum_of(self.X):
            raise ValueError(
                "X has changed since the index was made of it, so that what is kept of it would answer otherwise; make it anew"
            )

    def __repr__(self) -> str:
        return f"Index({len(self.X)} x {self.X.shape[1]}, kind={self.kind!r}, metric={self.metric!r})"

    def search(self, Q: Any, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """The `k` rows nearest to each query, best first.

        Returns
        -------
        ids : ndarray of shape (n_queries, min(k, n_samples)), int64
            Rows of `X`; -1 where an approximate search found no more.
        similarities : ndarray of the same shape, float32
        """
        check_same_names(self._names, column_names(Q))
        queries = matrix(Q, "Q")
        if queries.shape[1] != self.X.shape[1]:
            raise ValueError(f"Q has {queries.shape[1]} features, but X has {self.X.shape[1]} features")
        return self._index.search(queries, count(k, "k"), how(*self._work))

    def save(self, path: Any) -> str:
        """Write the index, its rows and their numbers into a folder, which ``likewise search`` reads.

        Of ``metric="cosine"`` alone, by which folders are searched; pickle keeps the others. An index that is there is
        replaced; a run is not.

        Returns
        -------
        str
            The path.
        """
        if self.metric != "cosine":
            raise ValueError(f"metric = {self.metric!r}: a folder is searched by the cosine alone; pickle keeps such an index, and Study.save a learned metric")
        self._check_rows()
        path = new_folder(path)
        os.makedirs(path, exist_ok=True)
        self._index.save(path, self.X, how(*self._work))
        return path

    @classmethod
    def load(cls, path: Any, *, n_jobs: Optional[int] = None, verbose: bool = False) -> Index:
        """Open what `save` or ``likewise index`` wrote."""
        path = folder(path, "an index")
        index = cls.__new__(cls)
        index.metric, index._names = "cosine", None
        index._work = n_jobs, verbose
        index._index, index.X = _likewise.Index.load(path, how(n_jobs, verbose))
        index._sum, index._seed = _sum_of(index.X), 0
        return index


def _again(X: np.ndarray, kind: str, metric: str, random_state: int, work: tuple, names: Optional[np.ndarray] = None) -> Index:
    """An index that was pickled or copied."""
    index = Index(X, kind, metric=metric, random_state=random_state, n_jobs=work[0], verbose=work[1])
    index._names = names
    return index


def _sum_of(rows: np.ndarray) -> int:
    """What changes with the rows."""
    return zlib.crc32(memoryview(rows).cast("B"))
