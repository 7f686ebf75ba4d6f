"""Search from one view to another."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ._base import Base, NotFittedError, Unpicklable, stripped
from ._fit import check_again, fit_across
from ._labels import encode
from ._likewise import AcrossRun
from ._table import Reading, reading_of
from ._views import digest_of, other, read, readings_of, texts
from ._work import count, flag, folder, how, new_folder


class CrossModalLearner(Unpicklable, Base):  # type: ignore[misc,valid-type]
    """Learn one space for several views, so that an item of one finds items in another.

    This is ``likewise fit`` with a recipe across views: the same model for the same seed, with its numbers.

    Parameters
    ----------
    recipe : str, default="mixed+gsph"
        One of ``likewise.names("cross-modal")``, or a source of pseudo-labels before such a name: ``"lpf+gsph"``; or the
        path of a .toml file.
    settings : dict or None, default=None
        What is changed in the recipe, as in its file: ``{"learner": {"bits": 32}}``.
    split : {"item"}, array-like of shape (n_samples,), or None
        How items are divided, as of `Study`. None: where classes have labels to spare a quarter is tested, and once that
        is done all labels are learned.
    labels_per_class : int or None
        Labels that are kept of each class of the training part; the others are hidden, and used to measure.
    label_fraction : float or None
        The same as a share of the labels of each class.
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
    views_ : list of str
    recipe_ : str
    settings_ : dict
        All settings of the recipe.
    results_ : dict
        The numbers, as ``metrics.json`` of a run has them.
    verdict_ : list of str
        What they come to, in plain words.
    text_ : str
        Table and verdict as the command prints them.
    embeddings_ : dict of ndarray
        Of each view the rows of the items that have it, as of `transform`.
    pseudo_labels_ : ndarray of shape (n_samples,)
        What each item was taken for where it was fitted; as of `MetricLearner`.
    confidence_ : ndarray of shape (n_samples,), float32

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import CrossModalLearner
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(120) % 3
    >>> X = {name: 4 * np.eye(3, d)[y] + rng.normal(size=(120, d)) for name, d in [("image", 6), ("text", 5)]}
    >>> learner = CrossModalLearner("cluster-cca").fit(X, y)
    >>> items, similarities = learner.search(X["image"][:3], "image", "text", k=5)
    >>> items.shape
    (3, 5)
    """

    _kept_by = "save(path) writes it, and CrossModalLearner.load(path) opens it"

    def __init__(
        self,
        recipe: str = "mixed+gsph",
        *,
        settings: Optional[dict] = None,
        split: Any = None,
        labels_per_class: Optional[int] = None,
        label_fraction: Optional[float] = None,
        draws: Optional[int] = None,
        random_state: Any = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.recipe = recipe
        self.settings = settings
        self.split = split
        self.labels_per_class = labels_per_class
        self.label_fraction = label_fraction
        self.draws = draws
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> CrossModalLearner:
        """Learn from views of the same items.

        Parameters
        ----------
        X : dict of array-like
            A view by its name: a matrix of shape (n_samples, n_features), or n_samples texts, of which None or NaN is
            none.
        y : array-like of shape (n_samples,), or None
            As of `MetricLearner.fit`. None for what learns from pairs alone: ``"cca"``.
        """
        views = read(X, with_texts=True)
        n = len(views[0][1])
        labels = encode(np.full(n, -1) if y is None else y, n)
        self._fitted = fit_across(
            views,
            None if y is None else labels,
            recipe=self.recipe,
            settings=self.settings,
            split=self.split,
            labels_per_class=self.labels_per_class,
            label_fraction=self.label_fraction,
            draws=self.draws,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        # Those of a run that was loaded.
        for name in ("ids_", "_kept_by"):
            self.__dict__.pop(name, None)
        self._digest = digest_of(views, labels)
        self.views_ = [name for name, _ in views]
        self._readings = readings_of(X)
        self._columns = {
            name: None if isinstance(rows, list) else rows.shape[1] for name, rows in views
        }
        self.recipe_ = self._fitted.recipe
        self.settings_ = json.loads(self._fitted.settings)
        self.results_ = json.loads(self._fitted.results())
        self.verdict_ = self.results_["verdict"]
        self.text_ = self._fitted.text()
        self.embeddings_ = {name: self._fitted.embedded(name)[1] for name in self.views_}
        believed = self._fitted.believed()
        place = {name: number for number, name in enumerate(labels.names)}
        codes = [-1 if of is None else place[of[0]] for of in believed]
        self.pseudo_labels_ = labels.decoded(np.array(codes, np.int64))
        self.confidence_ = np.array([0 if of is None else of[1] for of in believed], np.float32)
        check_again(self)
        return self

    def transform(self, X: Any, view: str) -> np.ndarray:
        """Items of one view in the space of all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or texts where the view is one of texts
        view : str
            Its name.

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32, or (n_samples, n_bytes), uint8
            Numbers, which compare by the cosine; or codes of eight bits a byte, the lowest first, which compare by how
            many bits are the same.
        """
        asked = self._asked(X, view, "transform")
        return self._fitted.embed(view, asked, how(self.n_jobs, False))

    def search(
        self, X: Any, view: str, to: Optional[str] = None, *, k: int = 10
    ) -> tuple[np.ndarray, np.ndarray]:
        """The `k` fitted items nearest to each item of a view, searched in another, best first.

        Parameters
        ----------
        X : array-like
            What asks, as of `transform`.
        view : str
            The view of what asks.
        to : str or None
            The view that is searched; None: of two views the other one.
        k : int, default=10

        Returns
        -------
        items : ndarray of shape (n_samples, min(k, n_fitted)), int64
            Rows of what was fitted.
        similarities : ndarray of the same shape, float32
            The cosine, or the share of bits that are the same.
        """
        asked = self._asked(X, view, "search")
        if to is None:
            rest = [name for name in self.views_ if name != view]
            if len(rest) != 1:
                raise ValueError(f"to = None: name the view that is searched: {', '.join(rest)}")
            to = rest[0]
        self._known(to, "to")
        work = how(self.n_jobs, False)
        return self._fitted.search(view, asked, to, count(k, "k"), work)

    def save(self, path: Any, *, overwrite: bool = False) -> str:
        """Write a run folder, which ``likewise search`` and ``eval`` read; as `Study.save`.

        Returns
        -------
        str
            The path.
        """
        self._check_fitted("save")
        if isinstance(self._fitted, AcrossRun):
            raise ValueError("it was loaded from the folder of a run; copy that folder")
        path = new_folder(path)
        flag(overwrite, "overwrite")
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        columns = {name: stripped(of.names) for name, of in self._readings.items() if of.names is not None}
        self._fitted.save(path, (self._digest, columns), overwrite, how(self.n_jobs, self.verbose))
        return path

    @classmethod
    def load(cls, path: Any) -> CrossModalLearner:
        """What ``likewise fit`` or `save` learned across views, to search with.

        Parameters
        ----------
        path : str or path-like
            Folder of a run across views.

        Returns
        -------
        CrossModalLearner
            With `views_`, `recipe_`, `settings_`, `results_`, `verdict_` and `embeddings_` as the run has them, and `ids_`,
            the id of each row that `search` names; `pseudo_labels_` and `confidence_` are in its ``items.parquet``. Of a
            table that was fitted, columns are brought to the same scale, and may not be missing; a view of which words or
            dates became features is asked by ``likewise search``. `fit` learns the same again, as that of `MetricLearner.load`;
            where the split was given, give `split` again.
        """
        run = folder(path, "a run")
        fitted = AcrossRun.load(run, how())
        settings = json.loads(fitted.settings)
        learner = cls(settings["name"])
        learner._fitted, learner.ids_ = fitted, fitted.ids
        learner._kept_by = "CrossModalLearner.load opens its folder again"
        learner._columns = dict(fitted.views())
        learner.views_ = list(learner._columns)
        config = json.loads((Path(run) / "config.json").read_text(encoding="utf-8"))
        learner._readings = {name: reading_of(config, name) for name in learner.views_}
        protocol = config["protocol"]
        learner.random_state = protocol["seed"]
        # Tested on a part and then learned from all is what a fit does that was asked for no split.
        learner.split = None if protocol.get("refit") else protocol["split"]
        for name in ("labels_per_class", "label_fraction"):
            if protocol.get(name) is not None:
                setattr(learner, name, protocol[name])
                learner.draws = protocol["draws"]
        learner.recipe_, learner.settings_ = settings["name"], settings
        learner._as_loaded = settings, False
        learner.results_ = json.loads(fitted.results())
        learner.verdict_ = learner.results_["verdict"]
        learner.embeddings_ = {name: fitted.embedded(name)[1] for name in learner.views_}
        return learner

    def _check_fitted(self, what: str) -> None:
        if not hasattr(self, "views_"):
            raise NotFittedError(
                "This CrossModalLearner instance is not fitted yet. Call 'fit' with appropriate arguments "
                f"before {what}."
            )

    def _known(self, view: Any, name: str) -> None:
        if view not in self.views_:
            raise ValueError(f"{name} = {view!r}: the views are {', '.join(self.views_)}")

    def _asked(self, X: Any, view: str, what: str) -> Any:
        self._check_fitted(what)
        self._known(view, "view")
        columns = self._columns[view]
        if columns is None:
            words = texts(X, "X")
            if words is None or None in words:
                raise ValueError(f"X: {view} is a view of texts; give a list of words")
            return words
        return other(X, "X", columns, self._readings.get(view, Reading()), "search")
