"""The graph of nearest neighbours."""

from __future__ import annotations

import json
from typing import Any, Optional, Union

import numpy as np

from ._arrays import matrix
from ._base import Estimator
from ._likewise import Graph
from ._likewise import scales as even
from ._work import count, flag, how, number, seed

Symmetrize = Union[str, float]
Standardize = Union[str, bool]
#: What is taken off each column and what the rest is multiplied by; None where columns stay as they are.
Scales = Optional[tuple[np.ndarray, np.ndarray]]
#: Rows of which a copy in double precision is made at once.
ROWS = 65536


def scales(
    rows: np.ndarray, standardize: Standardize, n_jobs: Optional[int], verbose: bool
) -> Scales:
    """What brings columns to one scale, as the command does."""
    if isinstance(standardize, (bool, np.bool_)):
        said: Optional[bool] = bool(standardize)
    elif isinstance(standardize, str) and standardize == "auto":
        said = None
    else:
        raise ValueError(f"standardize = {standardize!r}: must be 'auto', True or False")
    return None if said is False else even(rows, said, how(n_jobs, verbose))


def scaled(rows: np.ndarray, by: Scales) -> np.ndarray:
    """Rows whose columns are brought to one scale."""
    if by is None:
        return rows
    mean, scale = by
    out = np.empty(rows.shape, np.float32)
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS].astype(np.float64)
        out[start : start + ROWS] = (part - mean) * scale
    return out


def build(
    rows: np.ndarray,
    n_neighbors: int,
    gamma: float,
    symmetrize: Symmetrize,
    approx: bool,
    recall: float,
    center: bool,
    random_state: Any,
    n_jobs: Optional[int],
    verbose: bool,
) -> Graph:
    """The graph that the command builds of the same settings."""
    if len(rows) == 1:
        raise ValueError("a graph needs at least two items, got n_samples = 1")
    most = "below 1, which approx=False finds" if flag(approx, "approx") else "at most 1"
    if not 0 < number(recall, "recall") <= 1 or approx and recall == 1:
        raise ValueError(f"recall = {recall}: must be above 0 and {most}")
    asked = {
        "n_neighbors": count(n_neighbors, "n_neighbors"),
        "gamma": number(gamma, "gamma"),
        "symmetrize": symmetrize
        if isinstance(symmetrize, str)
        else number(symmetrize, "symmetrize", "a rule by its name, or a number"),
        "center": center,
        "recall": float(recall) if approx else None,
        "seed": seed(random_state),
    }
    return Graph.build(rows, asked, how(n_jobs, verbose))


def as_csr(graph: Graph) -> Any:
    """The affinities as a scipy CSR matrix."""
    try:
        from scipy.sparse import csr_matrix
    except ImportError as e:
        raise ImportError("a graph is a scipy matrix; install scipy") from e
    indptr, indices, weights = graph.csr()
    if len(indices) < 2**31:
        indptr = indptr.astype(np.int32)
    # Columns are below 2^31 in any graph that fits into memory.
    columns = indices.view(np.int32) if indptr.dtype == np.int32 else indices.astype(np.int64)
    return csr_matrix((weights, columns, indptr), shape=(graph.n, graph.n))


class KNeighborsGraph(Estimator):
    """Symmetric affinity graph of the nearest neighbours by cosine.

    The weight of a pair is ``cos ** gamma``, twice that where each lists the other, and a tenth where only
    one does (`symmetrize`).

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours of an item.
    gamma : float, default=3.0
        Exponent of the cosine: the larger, the less a far neighbour weighs.
    symmetrize : {"sum", "mutual", "max", "mean"} or float, default=0.1
        What becomes of pairs of which one lists the other; a float is the share of the weight that they keep.
    approx : bool, default=False
        Search approximately, with a measured recall of `recall` at least. Exact search costs n^2.
    recall : float, default=0.95
        Share of the true neighbours that an approximate search must find.
    center : bool, default=False
        Take the mean off before; of columns that are brought to one scale it always is.
    standardize : {"auto"} or bool, default="auto"
        Bring columns to one scale, as ``likewise graph`` does: ``"auto"`` where one of them outweighs all others.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the approximate search.
    n_jobs : int or None, default=None
        Threads; None: all cores. The result does not depend on it.
    verbose : bool, default=False
        Tell of progress.

    Attributes
    ----------
    graph_ : scipy.sparse.csr_matrix of shape (n_samples, n_samples), float32
    search_ : dict
        How the neighbours were found.
    standardized_ : bool
        Whether columns were brought to one scale.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import KNeighborsGraph
    >>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> graph = KNeighborsGraph(n_neighbors=1).fit_transform(X)
    >>> graph.toarray().round(4)
    array([[0.    , 1.024 , 0.    ],
           [1.024 , 0.    , 0.0216],
           [0.    , 0.0216, 0.    ]], dtype=float32)
    """

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        gamma: float = 3.0,
        symmetrize: Symmetrize = 0.1,
        approx: bool = False,
        recall: float = 0.95,
        center: bool = False,
        standardize: Standardize = "auto",
        random_state: Any = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.symmetrize = symmetrize
        self.approx = approx
        self.recall = recall
        self.center = center
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> KNeighborsGraph:
        """Build the graph of the rows of `X`; `y` is not looked at."""
        rows = matrix(X)
        by = scales(rows, self.standardize, self.n_jobs, self.verbose)
        graph = build(
            scaled(rows, by),
            self.n_neighbors,
            self.gamma,
            self.symmetrize,
            self.approx,
            self.recall,
            flag(self.center, "center") and by is None,
            self.random_state,
            self.n_jobs,
            self.verbose,
        )
        self._take_columns(X, rows.shape[1])
        self.standardized_ = by is not None
        self.graph_ = as_csr(graph)
        self.search_ = json.loads(graph.search)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Build the graph of the rows of `X` and return it.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_samples), float32
        """
        return self.fit(X).graph_
