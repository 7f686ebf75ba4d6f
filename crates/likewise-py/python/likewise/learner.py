"""Learning an embedding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ._arrays import as_numpy, matrix
from ._base import Estimator, TransformerMixin
from ._fit import check_again, fit, read_pairs, read_triplets
from ._labels import encode
from ._likewise import Fitted, Model, beside, sees_views
from ._table import Reading, reading_of, views_of
from ._views import View, are_views, others, read, readings_of
from ._work import flag, folder, how


class MetricLearner(TransformerMixin, Estimator):
    """Learn an embedding from labels, pairs or triplets.

    With ``measure=True`` this is ``likewise fit`` without a folder: the same model for the same seed, measured on
    labels that are kept back, and where that measures better the start without labels in its place.

    Parameters
    ----------
    recipe : str, default="auto"
        ``"auto"`` compares recipes on labels that it keeps back. Else the name of a recipe, a learner or a loss
        (``likewise.names("recipes")``), or the path of a recipe in a .toml file; ``likewise.explain(name)`` says
        what each does. With pairs ``"auto"`` is ``"label-rca"``, with triplets ``"oasis"``.
    settings : dict or None, default=None
        What is changed in the recipe, as in its file: ``{"rounds": {"epochs": 5}}``.
    measure : bool, default=True
        Measure what was learned, and deliver the start without labels where that measures better. False takes a
        part of the time, delivers what was learned, and nothing is known of it.
    random_state : int, RandomState, Generator or None, default=0
        Seed of every random step.
    n_jobs : int or None, default=None
        Threads; None: all cores. The result does not depend on it.
    verbose : bool, default=False
        Tell of progress.

    Attributes
    ----------
    recipe_ : str
        Name of the recipe, the chosen one with ``"auto"``.
    settings_ : dict
        All its settings.
    results_ : dict or None
        The numbers, as ``metrics.json`` of a run has them; None with ``measure=False``.
    verdict_ : list of str
        What they come to, in plain words.
    pseudo_labels_ : ndarray of shape (n_samples,)
        What was believed of each item before anything was learned; as `transduction_` of `LabelPropagation`.
    confidence_ : ndarray of shape (n_samples,), float32
    similarity_ : {"cosine", "euclidean", "bilinear", "scored"}
        How rows of `transform` compare.
    views_ : list of str or None
        Names of the views, where several were fitted.
    n_features_in_ : int
        Columns, of all views together.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import MetricLearner
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 4)) * [1, 5, 1, 1] + y[:, None] * [2, 0, 0, 0]
    >>> learner = MetricLearner("rca", measure=False).fit(X, y)
    >>> learner.transform(X).shape
    (60, 4)
    """

    def __init__(
        self,
        recipe: str = "auto",
        *,
        settings: Optional[dict] = None,
        measure: bool = True,
        random_state: Any = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.recipe = recipe
        self.settings = settings
        self.measure = measure
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, pairs: Any = None, triplets: Any = None
    ) -> MetricLearner:
        """Learn from labels, pairs or triplets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a dict of those
            Of one view, as of `describe`, or of several, each by its name: ``{"shape": A, "colour": B}``. They are read side by side, each row of
            length 1, but for recipes that see them apart (``"omks"``); labels spread over the neighbours in all.
        y : array-like of shape (n_samples,), or None
            Numbers or words; -1, ``""``, None and NaN where nothing is known, -2 or ``"outside"`` for what is known
            to be of none of the classes.
        pairs : array-like of shape (m, 3) or (m, 4), or None
            Rows ``a, b, y[, weight]``: two row numbers of `X`, 1 for alike or -1 for unlike. Columns of a frame that have these
            names may stand in any order.
        triplets : array-like of shape (m, 3) or (m, 4), or None
            Rows ``anchor, positive, negative[, weight]`` of row numbers of `X`; of a frame as those of `pairs`.
        """
        if y is None and pairs is None and triplets is None:
            raise ValueError(
                "MetricLearner requires y to be passed, but the target y is None: give labels, pairs "
                "or triplets"
            )
        if pairs is not None and triplets is not None:
            raise ValueError("give pairs or triplets, not both")
        views = read(X, least=1) if are_views(X) else [("x", matrix(X))]
        n = len(views[0][1])
        if n == 1:
            raise ValueError("there is nothing to compare: X has n_samples = 1")
        tuples = None
        if pairs is not None:
            tuples = read_pairs(pairs)
        elif triplets is not None:
            tuples = read_triplets(triplets)
        labels = None if y is None else encode(y, n)
        fitted = fit(
            views,
            labels,
            tuples,
            recipe=self.recipe,
            settings=self.settings,
            measure=flag(self.measure, "measure"),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self._take(fitted, labels, views, self.measure)
        alone = next(iter(X.values())) if are_views(X) and len(X) == 1 else X
        self._take_columns(alone, self._model.input_dim)
        self._readings = readings_of(X)
        check_again(self)
        return self

    def _take(self, fitted: Fitted, labels: Any, views: list[View], measured: bool) -> None:
        self._reading = Reading()
        several, n = len(views) > 1, len(views[0][1])
        self.views_ = [name for name, _ in views] if several else None
        self._columns = {name: rows.shape[1] for name, rows in views}
        self._model = fitted.model
        self.n_features_in_ = self._model.input_dim
        self.recipe_ = fitted.recipe
        self.settings_ = json.loads(fitted.settings)
        self.results_ = json.loads(fitted.results()) if measured else None
        self.verdict_ = self.results_["verdict"] if self.results_ else []
        self.similarity_ = self._model.similarity
        self._apart = sees_views(fitted.settings)
        if labels is None:
            labels = encode(np.full(n, -1), n)
        believed = fitted.believed()
        place = {name: number for number, name in enumerate(labels.names)}
        number = np.array([place[name] for name in believed["classes"]] + [-1], dtype=np.int64)
        codes = np.full(n, -1, dtype=np.int64)
        codes[believed["rows"]] = number[believed["pseudo_label"]]
        self.pseudo_labels_ = labels.decoded(codes)
        self.confidence_ = np.zeros(n, np.float32)
        self.confidence_[believed["rows"]] = believed["confidence"]

    @classmethod
    def load(cls, path: Any) -> MetricLearner:
        """What ``likewise fit`` or ``Study.save`` learned, to embed other items with.

        Parameters
        ----------
        path : str or path-like
            Folder of a run within one view, or of several side by side.

        Returns
        -------
        MetricLearner
            With `recipe_`, `settings_`, `results_` and `verdict_` as the run has them; `pseudo_labels_` and
            `confidence_` are in the ``items.parquet`` of the run. Of a table that was fitted, columns have the names, and
            the order, of the fit and are brought to the same scale, and none may be missing; where words or dates became
            features, ``likewise embed`` embeds such a table. `fit` learns the same again where the recipe is one of `likewise.names`, with its own
            settings, no split was asked for and no labels were hidden (it warns where not, but of the number of neighbours and of folds), and the
            columns were not brought to one scale.
        """
        run = Path(folder(path, "a run"))
        try:
            config = json.loads((run / "config.json").read_text(encoding="utf-8"))
            results = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
            model = (run / "model.safetensors").read_bytes()
            if "views" in results:
                raise ValueError(f"{run} is a run across views; CrossModalLearner.load opens it")
            names, recipe, seed, verdict = views_of(config), config["recipe"]["name"], config["protocol"]["seed"], results["verdict"]
        except FileNotFoundError as e:
            raise ValueError(
                f"{run} is no finished run of `likewise fit`: it has no {Path(e.filename).name}"
            ) from e
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as e:
            raise ValueError(f"{run} is no run of `likewise fit`: {e}") from e
        except (AttributeError, KeyError, IndexError, TypeError) as e:
            raise ValueError(f"{run} is no run of `likewise fit`: its config.json or metrics.json is not as a fit writes it") from e
        learner = cls(recipe, random_state=seed)
        learner._model = Model.from_bytes(model)
        learner.views_, learner._columns = names if len(names) > 1 else None, dict(config.get("widths") or {})
        learner._readings = {name: reading_of(config, name) for name in names}
        learner._reading = Reading() if learner.views_ else learner._readings[names[0]]
        learner._take_names(learner._reading.names, learner._model.input_dim)
        learner._apart = sees_views(json.dumps(config["recipe"]))
        learner.recipe_ = recipe
        learner.settings_ = config["recipe"]
        learner._as_loaded = config["recipe"], _of_a_part(config["protocol"])
        learner.results_ = results
        learner.verdict_ = verdict
        learner.similarity_ = learner._model.similarity
        return learner

    def _rows(self, X: Any, what: str) -> np.ndarray:
        self._check_fitted(what)
        if self.views_ is None:
            self._reading.check("embed")
            return self._reading.scaled(super()._rows(self._alone(X, "X"), what))
        return beside(others(X, self.views_, self._columns, self._readings), self._apart, how(self.n_jobs, False))

    def _alone(self, X: Any, name: str) -> Any:
        """The one view that was fitted, also from a dict of it."""
        if not are_views(X):
            return X
        if len(X) != 1 or (self._columns and set(X) != set(self._columns) and set(self._columns) != {"x"}):
            raise TypeError(f"{name} is a dict of the views {', '.join(map(str, X))}, but one view was fitted")
        return next(iter(X.values()))

    def transform(self, X: Any) -> np.ndarray:
        """Embed items: rows that compare by `similarity_`; those of the cosine have length 1.

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32
        """
        rows = self._rows(X, "transform")
        return self._model.embed(rows, how(self.n_jobs, False))

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Similarity of the two items of each pair; larger is more similar.

        The cosine, minus the squared distance of a learned metric, or what a bilinear form or kernels say.

        Parameters
        ----------
        pairs : array-like of shape (m, 2, n_features), or of several views a dict of those

        Returns
        -------
        ndarray of shape (m,), float64
        """
        self._check_fitted("pair_score")
        if self.views_ is not None:
            if not are_views(pairs):
                raise TypeError(f"pairs must be a dict of the views {', '.join(self.views_)}, as in fit")
            both = {name: _pairs(of, f"pairs[{name!r}]") for name, of in pairs.items()}
            first, second = (
                self._rows({name: of[:, side] for name, of in both.items()}, "pair_score")
                for side in (0, 1)
            )
            return self._model.similarities(first, second, how(self.n_jobs, False))
        self._reading.check("search")
        both = _pairs(self._alone(pairs, "pairs"), "pairs")
        first, second = (matrix(both[:, side], "pairs") for side in (0, 1))
        if first.shape[1] != self.n_features_in_:
            raise ValueError(
                f"pairs has {first.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        first, second = (self._reading.scaled(of, "pairs") for of in (first, second))
        return self._model.similarities(first, second, how(self.n_jobs, False))

    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Distance of the two items of each pair: by the learned metric, or 1 less the cosine.

        Parameters
        ----------
        pairs : array-like of shape (m, 2, n_features)

        Raises
        ------
        AttributeError
            Where the model is a similarity that no distance stands for.
        """
        self._check_fitted("pair_distance")
        if self.similarity_ == "euclidean":
            return np.sqrt(-self.pair_score(pairs))
        if self.similarity_ == "cosine":
            return np.maximum(1.0 - self.pair_score(pairs), 0.0)
        raise AttributeError(
            f"the model of {self.recipe_} is a similarity, not a distance; use pair_score"
        )

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """The matrix ``M`` of ``d(a, b)^2 = (a - b)^T M (a - b)``, where the model is a learned metric.

        Returns
        -------
        ndarray of shape (n_features, n_features), float64
            Of a loaded run that makes features of words or dates it is of what these became.

        Raises
        ------
        AttributeError
            Where the model is none.
        """
        self._check_fitted("get_mahalanobis_matrix")
        m = self._model.mahalanobis()
        if m is None:
            raise AttributeError(
                f"the model of {self.recipe_} compares by the {self.similarity_} and has no matrix of "
                "Mahalanobis; recipes such as itml, gmml, nca and lmnn have one"
            )
        if self._reading.scale is None:
            return m
        deviations = self._reading.scale[1]
        return m / np.outer(deviations, deviations)

    def score(self, X: Any, y: Any) -> float:
        """MAP@R of the embedding of other items: each asks, and the others are searched.

        Raises
        ------
        AttributeError
            Where rows compare by the model alone (`similarity_` is ``"bilinear"`` or ``"scored"``): `pair_score` and
            ``Study(...).results`` tell of such a model.
        """
        from . import metrics

        rows = self.transform(X)
        if self.similarity_ not in ("cosine", "euclidean"):
            raise AttributeError(
                f"rows that {self.recipe_} embeds compare by its model alone, so that there is no score of them; use pair_score, or "
                "Study(X, y, recipe=...).results"
            )
        return metrics.map_at_r(rows, y, metric=self.similarity_)

    def to_bytes(self) -> bytes:
        """The model as the bytes of the ``model.safetensors`` of a run, which `likewise.ray.embed` reads as they are."""
        self._check_fitted("to_bytes")
        return self._model.to_bytes()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: ``metriclearner0`` and so on."""
        self._check_fitted("get_feature_names_out")
        return np.array([f"{type(self).__name__.lower()}{column}" for column in range(self._model.output_dim)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _pairs(pairs: Any, name: str) -> np.ndarray:
    both = as_numpy(pairs, name)
    if both.ndim != 3 or both.shape[1] != 2:
        raise ValueError(
            f"{name} is of shape {both.shape}; give (number of pairs, 2, number of features)"
        )
    return both


def _of_a_part(protocol: dict) -> bool:
    """Whether what is tested, or hidden, was left out of what was learned; of folds, which few labels bring about by themselves, no."""
    hidden = any(protocol.get(name) is not None for name in ("labels_per_class", "label_fraction"))
    return hidden or (protocol["split"] != "folds" and not protocol.get("refit"))
