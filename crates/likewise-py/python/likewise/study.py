"""A recipe measured beside its baselines."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Optional

from ._arrays import matrix
from ._base import Unpicklable, column_names, stripped
from ._fit import fit, read_pairs, read_triplets
from ._labels import encode
from ._likewise import Fitted
from ._views import are_views, digest_of, read, readings_of
from ._work import LikewiseWarning, flag, how, new_folder, outside
from .learner import MetricLearner


class Study(Unpicklable):
    """Measure a recipe beside its baselines: features as they are, labels alone, all labels.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a dict of those
        Several views by name, as of `MetricLearner.fit`.
    y : array-like of shape (n_samples,), or None
        As of `MetricLearner.fit`.
    recipe, settings
        As of `MetricLearner`.
    pairs, triplets
        As of `MetricLearner.fit`.
    split : {"item", "zero-shot", "folds"}, array-like of shape (n_samples,), or None
        How items are divided; an array says the part of each item (``"train"``, ``"validation"``, ``"test"``,
        ``"query"``, ``"gallery"``). None: as ``likewise fit`` chooses, by how many labels there are.
    labels_per_class : int or None
        Labels that are kept of each class of the training part; the others are hidden, and used to measure.
    draws : int or None
        How often these are drawn; None: 5.
    random_state : int, RandomState, Generator or None, default=0
        Seed of every random step.
    n_jobs : int or None, default=None
        Threads; None: all cores. The result does not depend on it.
    verbose : bool, default=False
        Tell of progress.

    Attributes
    ----------
    results : dict
        The numbers with their intervals, as ``metrics.json`` of a run has them.
    table : pandas.DataFrame or list of dict
        The same as `run` returns.
    verdict : str
        What they come to, in plain words.
    text : str
        Table and verdict as the command prints them.
    model : MetricLearner
        Fitted, ready to `transform`.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Study
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 4
    >>> X = rng.normal(size=(200, 8)) + 3 * np.eye(8)[y]
    >>> study = Study(X, y, recipe="label-rca", split="item", labels_per_class=5, draws=2)
    >>> table = study.run()
    >>> study.results["split"]
    'item'
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        recipe: str = "auto",
        settings: Optional[dict] = None,
        pairs: Any = None,
        triplets: Any = None,
        split: Any = None,
        labels_per_class: Optional[int] = None,
        draws: Optional[int] = None,
        random_state: Any = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        if pairs is not None and triplets is not None:
            raise ValueError("give pairs or triplets, not both")
        alone = next(iter(X.values())) if are_views(X) and len(X) == 1 else X
        self._names = None if are_views(alone) else column_names(alone)
        self._readings = readings_of(X)
        self._views = read(X, least=1) if are_views(X) else [("x", matrix(X))]
        self._labels = None if y is None else encode(y, len(self._views[0][1]))
        self._tuples: Any = None
        if pairs is not None:
            self._tuples = read_pairs(pairs)
        elif triplets is not None:
            self._tuples = read_triplets(triplets)
        self.recipe = recipe
        self.settings = settings
        self.split = split
        self.labels_per_class = labels_per_class
        self.draws = draws
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self._fitted: Optional[Fitted] = None

    def run(self) -> Any:
        """Learn and measure.

        Returns
        -------
        pandas.DataFrame or list of dict
            One row a system: its metrics, and the ends of their 95 % intervals as ``"... low"`` and ``"... high"``.
        """
        self._fitted = fit(
            self._views,
            self._labels,
            self._tuples,
            recipe=self.recipe,
            settings=self.settings,
            split=self.split,
            labels_per_class=self.labels_per_class,
            draws=self.draws,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        if not any(summary["n_queries"] for _, summary in json.loads(self._fitted.rows())):
            first, _, _ = self.verdict.partition("\n")
            warnings.warn(f"{first} verdict says more", LikewiseWarning, stacklevel=outside())
        return self.table

    @property
    def _done(self) -> Fitted:
        if self._fitted is None:
            self.run()
        assert self._fitted is not None
        return self._fitted

    @property
    def results(self) -> dict:
        return json.loads(self._done.results())

    @property
    def verdict(self) -> str:
        return "\n".join(self.results["verdict"])

    @property
    def text(self) -> str:
        return self._done.text()

    @property
    def table(self) -> Any:
        rows = [_flat(name, summary) for name, summary in json.loads(self._done.rows())]
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows).set_index("system")

    @property
    def model(self) -> MetricLearner:
        learner = MetricLearner(
            self.recipe,
            settings=self.settings,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        learner._take(self._done, self._labels, self._views, True)
        learner._take_names(self._names, learner._model.input_dim)
        learner._readings = self._readings
        return learner

    def save(self, path: Any, *, overwrite: bool = False) -> str:
        """Write a run folder, which ``likewise search``, ``embed`` and ``eval`` read.

        It is complete or not there at all. Fails where the folder holds anything, unless `overwrite` and what it
        holds is a run.

        Returns
        -------
        str
            The path.
        """
        path = new_folder(path)
        flag(overwrite, "overwrite")
        done = self._done
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        # One view is not kept twice.
        rows = self._views[0][1] if len(self._views) == 1 else None
        work = how(self.n_jobs, self.verbose)
        named = {name: of.names for name, of in self._readings.items()} if rows is None else {"x": self._names}
        columns = {name: stripped(names) for name, names in named.items() if names is not None}
        done.save(path, rows, (digest_of(self._views, self._labels), columns), overwrite, work)
        return path


def _flat(name: str, summary: dict) -> dict:
    row: dict[str, Any] = {"system": name}
    for metric in ("recall", "precision"):
        by_k = sorted(summary[metric].items(), key=lambda of: int(of[0]))
        row.update({f"{metric}@{k}": value for k, value in by_k})
    for metric in ("map", "map_at_r", "r_precision", "nmi"):
        if summary.get(metric) is not None:
            row[metric] = summary[metric]
    for metric, (low, high) in summary["ci"].items():
        row[f"{metric} low"], row[f"{metric} high"] = low, high
    row["n_queries"] = summary["n_queries"]
    return row
