"""Label propagation."""

from __future__ import annotations

import json
import warnings
from inspect import Parameter, signature
from typing import Any, Optional

import numpy as np

from . import _likewise
from ._arrays import csr, matrix, rows_of_items, to_json, weights
from ._base import ClassifierMixin, Estimator
from ._labels import encode
from ._likewise import Graph
from ._work import LikewiseWarning, flag, how, outside, word
from .graph import Scales, Standardize, Symmetrize, build, scaled, scales


class LabelPropagation(ClassifierMixin, Estimator):
    """Spread a few labels over the graph of nearest neighbours.

    Parameters
    ----------
    method : str, default="mixed"
        ``likewise.names("methods")`` lists them, ``likewise.explain(name)`` says what each does, and when it
        is the wrong one.
    parameters : dict or None, default=None
        Parameters of the method that are not the usual ones, such as ``{"beta": 1.0}``. ``"lgc"`` is as
        published, without class masses; ``{"mass": "uniform"}`` is better where classes are about equally large.
    affinity : {"knn", "precomputed"}, default="knn"
        ``"precomputed"``: `X` of `fit` is a symmetric scipy matrix, such as that of `KNeighborsGraph`.
    n_neighbors, gamma, symmetrize, approx, recall, center, standardize
        As of `KNeighborsGraph`, for ``affinity="knn"``. `symmetrize` None is what the method asks for: ``"mutual"`` for
        ``method="dssml"``, and the default of `KNeighborsGraph` for all others.
    random_state : int, RandomState, Generator or None, default=0
        Seed of an approximate search.
    n_jobs : int or None, default=None
        Threads; None: all cores. The result does not depend on it.
    verbose : bool, default=False
        Tell of progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Class of each item; where no label reaches: -1 of numbers, ``""`` of strings, None of objects.
    label_distributions_ : ndarray of shape (n_samples, n_classes), float64
        `scores_` with nothing below 0 and rows that sum to 1; where none is above 0, all of it is of `transduction_`;
        rows of 0 where no label reaches. With unequal
        numbers of labels a class, `transduction_` puts the classes on a par first, so that it need not be
        the largest of a row.
    scores_ : ndarray of shape (n_samples, n_classes), float64
        The solution of the method's equation as it is.
    confidence_ : ndarray of shape (n_samples,), float32
        Confidence in `transduction_`, 0 to 1; 1 of labeled items.
    negatives_ : scipy.sparse.csr_matrix or None
        Edges that were found to join items of different classes, with their weights; None of methods that
        look for none, and where they were given.
    convergence_ : dict
        Iterations, residual, components and isolated items.
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import LabelPropagation
    >>> X = np.array([[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.9]])
    >>> model = LabelPropagation(n_neighbors=2).fit(X, ["left", "", "right", ""])
    >>> model.transduction_
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    >>> model.predict([[0.0, 1.0]])
    array(['right'], dtype='<U5')
    """

    def __init__(
        self,
        method: str = "mixed",
        *,
        parameters: Optional[dict] = None,
        affinity: str = "knn",
        n_neighbors: int = 20,
        gamma: float = 3.0,
        symmetrize: Optional[Symmetrize] = None,
        approx: bool = False,
        recall: float = 0.95,
        center: bool = False,
        standardize: Standardize = "auto",
        random_state: Any = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.parameters = parameters
        self.affinity = affinity
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

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        negatives: Any = None,
        excluded: Any = None,
    ) -> LabelPropagation:
        """Spread the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a sparse graph with ``affinity="precomputed"``
        y : array-like of shape (n_samples,)
            Numbers or words; -1, ``""``, None and NaN where nothing is known, -2 or ``"outside"`` for what is known
            to be of none of the classes.
        negatives : sparse matrix of shape (n_samples, n_samples), or None
            Pairs of neighbours that are known to differ, with weights from 0 to 2, for methods that take them; each once,
            or with its mirror.
        excluded : array-like of shape (m, 2), or None
            Row of an item and index into `classes_` of a class that it is not of, for
            ``method="negative-labels"``.
        """
        if y is None:
            raise ValueError(
                "LabelPropagation requires y to be passed, but the target y is None: give some "
                "labels, with -1 where nothing is known"
            )
        word(self.method, "method")
        graph, rows, by = self._graph(X)
        labels = encode(y, graph.n)
        told = set(labels.codes.tolist()) - {-1}
        if len(told) == 1 and -2 not in told:
            warnings.warn(
                "y: all known labels are of one class, so that every item is said to be of it; -1 in y says that "
                "nothing is known, and -2 that an item is of none of the classes",
                LikewiseWarning,
                stacklevel=outside(),
            )
        known = None
        if negatives is not None:
            indptr, columns, values, n = csr(negatives, "negatives")
            if n != graph.n:
                raise ValueError(f"negatives is of {n} items, X of {graph.n}")
            pairs, values = _once(indptr, columns, values)
            known = rows_of_items(pairs, "negatives", 2), values
        if excluded is not None:
            excluded = rows_of_items(excluded, "excluded", 2)
        found = _likewise.propagate(
            graph,
            labels.given,
            self.method,
            to_json(self.parameters or {}, "parameters"),
            known,
            excluded,
            how(self.n_jobs, self.verbose),
        )
        self._take_columns(X, graph.n if rows is None else rows.shape[1])
        self.X_, self._scales = rows, by
        self.classes_ = labels.classes
        self._codes, self._labels = found["pseudo_label"], labels
        self.transduction_ = labels.decoded(self._codes)
        self.scores_ = found["scores"]
        self.label_distributions_ = _shares(self.scores_, self._codes)
        self.confidence_ = found["confidence"]
        self.convergence_ = json.loads(found["convergence"])
        self.n_iter_ = max(1, self.convergence_["iterations"])
        self.negatives_ = _symmetric(found, graph.n)
        return self

    def _graph(self, X: Any) -> tuple[Graph, Optional[np.ndarray], Scales]:
        """The graph; and with the nearest neighbours the rows that it is of, and their scales."""
        if self.affinity == "precomputed":
            self._check_usual()
            indptr, columns, values, n = csr(X, "X")
            graph = Graph.from_csr(indptr, columns, values, how(self.n_jobs, self.verbose))
            return graph, None, None
        if self.affinity != "knn":
            raise ValueError(f"affinity = {self.affinity!r}: must be 'knn' or 'precomputed'")
        rows = matrix(X)
        symmetrize = self.symmetrize
        if symmetrize is None:
            symmetrize = _likewise.symmetrize(self.method)
        by = scales(rows, self.standardize, self.n_jobs, self.verbose)
        rows = scaled(rows, by)
        graph = build(
            rows,
            self.n_neighbors,
            self.gamma,
            symmetrize,
            self.approx,
            self.recall,
            flag(self.center, "center") and by is None,
            self.random_state,
            self.n_jobs,
            self.verbose,
        )
        return graph, rows, by

    def _check_usual(self) -> None:
        """Fails where something is said of how a graph is built, and one is given."""
        # A subclass has its own usual values of what it names.
        usual = {}
        for kind in reversed(type(self).__mro__):
            if "__init__" in vars(kind):
                usual.update(signature(kind.__init__).parameters)
        for name in ("n_neighbors", "gamma", "symmetrize", "approx", "recall", "center", "standardize"):
            given, own = getattr(self, name), usual[name].default
            if own is not Parameter.empty and given is not own and given != own:
                raise ValueError(f"{name} = {given!r} has no effect with affinity='precomputed', where the graph is given; leave it out")

    def fit_predict(self, X: Any, y: Any) -> np.ndarray:
        """Spread the labels, and return the class of each item."""
        return self.fit(X, y).transduction_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Shares of the classes among the 10 nearest of the fitted items.

        Each votes for its class with the cube of its cosine times its confidence. Rows sum to 1, or are 0 where no
        neighbour is believed to be of a class.
        """
        self._check_fitted("predict")
        if self.X_ is None:
            raise ValueError("with affinity='precomputed' there are no rows to compare new items with")
        rows = scaled(self._rows(X, "predict"), self._scales)
        work = how(self.n_jobs, False)
        fitted = self.X_
        if self.center and self._scales is None:
            mean = fitted.mean(axis=0, dtype=np.float64)
            fitted, rows = (np.require(x - mean, np.float32, ["C"]) for x in (fitted, rows))
        index = _likewise.Index.build(fitted, "flat", "cosine", 0, work)
        ids, similarities = index.search(rows, min(_likewise.VOTERS, len(self.X_)), work)
        votes = _likewise.vote(
            ids, similarities, self._codes, self.confidence_, len(self.classes_)
        )
        return _shares(votes)

    def predict(self, X: Any) -> np.ndarray:
        """Class of new items, by what their nearest fitted items are believed to be.

        Items that were fitted are best asked of `transduction_`.
        """
        codes = self._codes_of(X)
        return self._labels.decoded(codes)

    def _codes_of(self, X: Any) -> np.ndarray:
        shares = self.predict_proba(X)
        return np.where(shares.any(axis=1), shares.argmax(axis=1), -1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of items whose class `predict` finds, of those whose class `y` knows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            As of `fit`: items of which nothing is known, or that are of none of the classes, do not count.
        sample_weight : array-like of shape (n_samples,), or None

        Returns
        -------
        float

        Raises
        ------
        ValueError
            Where no class is known.
        """
        found = self._codes_of(X)
        given = encode(y, len(found))
        weight = weights(sample_weight, len(found), "sample_weight").astype(np.float64)
        if not (weight >= 0).all() or np.isinf(weight).any():
            raise ValueError("sample_weight must be finite and at least 0")
        asked, fitted = given.beside(self._labels), self._labels.beside(given)
        if asked and not set(asked) & set(fitted):
            warnings.warn(
                f"y: none of its classes ({asked[0]!r} ...) is one that was fitted ({fitted[0]!r} ...), so that the score is 0",
                LikewiseWarning,
                stacklevel=outside(),
            )
        # By the names of classes, which are those of the fit however they are written.
        number = {called: code for code, called in enumerate(fitted)}
        wanted = np.array([*(number.get(called, -2) for called in asked), -2])[np.maximum(given.codes, -1)]
        known = given.codes >= 0
        if not known.any():
            raise ValueError("y: no class is known; give some labels to be found")
        known &= weight > 0
        if not known.any():
            raise ValueError("sample_weight is 0 for all items whose class is known")
        return float(np.average((found == wanted)[known], weights=weight[known]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.affinity == "precomputed"
        tags.input_tags.pairwise = self.affinity == "precomputed"
        return tags


def _shares(scores: np.ndarray, codes: np.ndarray | None = None) -> np.ndarray:
    """Rows that sum to 1; of 0 where no label reaches, but for items whose class is known by its code."""
    shares = np.maximum(scores, 0)
    sums = shares.sum(axis=1)
    if codes is not None:
        alone = np.flatnonzero((sums <= 0) & (codes >= 0))
        shares[alone, codes[alone]] = 1
        sums[alone] = 1
    return np.divide(shares, sums[:, None], out=np.zeros_like(shares), where=sums[:, None] > 0)


def _once(indptr: np.ndarray, columns: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a matrix, each once, and their weights.

    Raises
    ------
    ValueError
        Of an entry on the diagonal, and of a pair of two weights.
    """
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    # Zeros may be stored, as where a diagonal was set to 0.
    rows, columns, values = (of[values != 0] for of in (rows, columns, values))
    if not np.isfinite(values).all():
        a = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"negatives: ({rows[a]}, {columns[a]}) has the weight {values[a]}; remove or fill such values")
    if (rows == columns).any():
        item = rows[rows == columns][0]
        raise ValueError(f"negatives: item {item} would differ from itself; remove the entries on the diagonal")
    pairs = np.stack([np.minimum(rows, columns), np.maximum(rows, columns)], axis=1)
    pairs, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    other = np.flatnonzero(values != values[first][place.ravel()])
    if len(other):
        a, b = pairs[place.ravel()[other[0]]]
        raise ValueError(f"negatives: ({a}, {b}) and ({b}, {a}) have different weights")
    return pairs, values[first].astype(np.float64)


def _symmetric(found: dict, n: int) -> Any:
    if "negative_pairs" not in found:
        return None
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        return None
    first, second = found["negative_pairs"].reshape(-1, 2).astype(np.int64).T
    values = found["negative_weights"]
    both = np.concatenate([first, second]), np.concatenate([second, first])
    return csr_matrix((np.concatenate([values, values]), both), shape=(n, n))
