"""What `MetricLearner` and `Study` ask of the extension."""

from __future__ import annotations

import os
import warnings
from typing import Any, Optional

import numpy as np

from . import _likewise
from ._arrays import as_numpy, rows_of_items, to_json, weights
from ._base import column_names
from ._labels import Labels
from ._likewise import Across, Fitted
from ._views import View
from ._work import LikewiseWarning, count, how, number, outside, seed


def fit(
    views: list[View],
    labels: Optional[Labels],
    tuples: Any,
    *,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    **asked: Any,
) -> Fitted:
    """Learn from one view or several side by side, and measure unless that is not asked for."""
    given = None if labels is None else labels.in_order
    wanted = to_ask(len(views[0][1]), **asked)
    return _likewise.fit(views, given, tuples, wanted, how(n_jobs, verbose))


def fit_across(
    views: list[View],
    labels: Optional[Labels],
    *,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    **asked: Any,
) -> Across:
    """Learn across views, and measure."""
    given = None if labels is None else labels.in_order
    wanted = to_ask(len(views[0][1]), **asked)
    return _likewise.fit_across(views, given, wanted, how(n_jobs, verbose))


def to_ask(
    n: int,
    *,
    recipe: Any,
    settings: Optional[dict],
    split: Any = None,
    labels_per_class: Optional[int] = None,
    label_fraction: Optional[float] = None,
    draws: Optional[int] = None,
    measure: bool = True,
    random_state: Any = 0,
) -> dict:
    """What is to be learned of `n` items, and how it is measured."""
    parts = None
    if split is not None and not isinstance(split, str):
        named = as_numpy(split, "split")
        if named.ndim != 1:
            raise TypeError(f"split = {split!r}: must be a word, or the part of each item")
        parts = [str(part) for part in named]
        if len(parts) != n:
            raise ValueError(f"split names the part of {len(parts)} items, but X has {n}")
        split = "given"
    elif split == "given":
        raise ValueError("split = 'given': give the part of each item: train, validation, gallery, query or test")
    if not isinstance(recipe, (str, os.PathLike)):
        raise TypeError(f"recipe = {recipe!r}: must be a name or the path of a .toml file")
    if str(recipe).endswith(" (changed)"):
        raise ValueError(
            f"recipe = {recipe}: that is what a fit with other settings is called; give the name of the recipe itself, and the "
            "settings that were changed"
        )
    return {
        "recipe": os.fspath(recipe),
        "settings": _settings(settings),
        "split": split,
        "parts": parts,
        "labels_per_class": None
        if labels_per_class is None
        else count(labels_per_class, "labels_per_class"),
        "label_fraction": None
        if label_fraction is None
        else number(label_fraction, "label_fraction"),
        "draws": None if draws is None else count(draws, "draws"),
        "seed": seed(random_state),
        "measure": bool(measure),
    }


def _settings(settings: Optional[dict]) -> Optional[str]:
    written = to_json(settings, "settings")
    nothing = _none_in(settings)
    if nothing is not None:
        raise ValueError(f"settings: {'.'.join(nothing)} = None stands for nothing here; leave it out")
    return written


def _none_in(settings: Any) -> Optional[list[str]]:
    """The keys that lead to the first None."""
    inside: Any = ()
    if isinstance(settings, np.ndarray):
        settings = settings.tolist()
    if isinstance(settings, dict):
        inside = settings.items()
    elif isinstance(settings, (list, tuple)):
        inside = enumerate(settings)
    for name, value in inside:
        within = [] if value is None else _none_in(value)
        if within is not None:
            return [str(name), *within]
    return None


def check_again(learner: Any) -> None:
    """Warns of a loaded run that was fitted again by the name of its recipe, where that is another fit than it was."""
    loaded, part = learner.__dict__.get("_as_loaded", (None, False))
    if loaded is None or learner.recipe != loaded["name"] or learner.settings is not None:
        return
    if _but_neighbors(learner.settings_) != _but_neighbors(loaded):
        warnings.warn(
            f"the run that was loaded had other settings than {learner.recipe} has by itself (those of a recipe file, or of the "
            "command), so that this fit is another one: give the file as recipe=, or the settings that were changed",
            LikewiseWarning,
            stacklevel=outside(),
        )
    if part:
        warnings.warn(
            "the run that was loaded learned from a part of its labels (split, labels_per_class or label_fraction), this fit from all "
            "that it is given; Study does it as it was",
            LikewiseWarning,
            stacklevel=outside(),
        )
    del learner._as_loaded


def _but_neighbors(settings: dict) -> dict:
    """Settings without the number of neighbours, which is smaller by itself where there are few items."""
    labels = settings.get("pseudo_labels", {})
    graph = {name: of for name, of in labels.get("graph", {}).items() if name != "k"}
    return settings | {"pseudo_labels": labels | {"graph": graph}}


def _by_name(given: Any, name: str, wanted: tuple[str, ...]) -> np.ndarray:
    """The columns of a frame that has these names, in their order, a weight last; of anything else all as they stand."""
    own = column_names(given)
    # As files are read: capitals and spaces around a name tell nothing.
    there = [] if own is None else [str(column).strip().lower() for column in own]
    known = [column for column in there if column in (*wanted, "weight")]
    # One of these names alone says nothing of the others, where it stands in its own place.
    if len(known) < 2 and all((*wanted, "weight").index(column) == there.index(column) for column in known):
        return as_numpy(given, name)
    lacking = [column for column in wanted if column not in there]
    more = [column for column in there if known.count(column) != 1]
    if lacking or more:
        what = f"none is called {lacking[0]!r}" if lacking else f"{more[0]!r} is none of {', '.join(wanted)} and weight, or there twice"
        raise ValueError(f"{name} has the columns {', '.join(own)}: {what}; name them so, leave others out, or give an array")
    places = [there.index(column) for column in (*wanted, "weight") if column in there]
    columns = [own[place] for place in places]
    return as_numpy(given.select(columns) if hasattr(given, "select") else given[columns], name)


def read_pairs(pairs: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs ``a, b, y[, weight]``: rows of two items, 1 for alike and -1 for unlike."""
    table = _by_name(pairs, "pairs", ("a", "b", "y"))
    if table.ndim != 2 or table.shape[1] not in (3, 4):
        raise ValueError(
            f"pairs is of shape {table.shape}; give columns a, b, y and perhaps weight: rows of two "
            "items, 1 for alike or -1 for unlike"
        )
    items = rows_of_items(table[:, :2], "pairs", 2)
    try:
        said = table[:, 2].astype(np.float64)
    except (TypeError, ValueError) as e:
        raise ValueError(f"pairs: y must be 1 (alike) or -1 (unlike): {e}") from e
    if not np.isin(said, (1, -1)).all():
        raise ValueError("pairs: y must be 1 (alike) or -1 (unlike)")
    return items, said > 0, weights(table[:, 3] if table.shape[1] == 4 else None, len(table), "weight")


def read_triplets(triplets: Any) -> tuple[np.ndarray, None, np.ndarray]:
    """Triplets ``anchor, positive, negative[, weight]``: rows of three items."""
    table = _by_name(triplets, "triplets", ("anchor", "positive", "negative"))
    if table.ndim != 2 or table.shape[1] not in (3, 4):
        raise ValueError(
            f"triplets is of shape {table.shape}; give columns anchor, positive, negative and perhaps "
            "weight: rows of three items"
        )
    items = rows_of_items(table[:, :3], "triplets", 3)
    return items, None, weights(table[:, 3] if table.shape[1] == 4 else None, len(table), "weight")
