"""From a pile of items and a handful of labels to a search that shares your idea of similar.

The estimators follow scikit-learn: ``fit(X, y)`` with -1 where nothing is known and -2 where an item is known
to be of none of the classes, results in attributes that end in an underscore.

Importing the package needs numpy alone; scikit-learn, where it is installed, is imported with the first estimator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._likewise import __version__, explain, names
from ._work import LikewiseWarning

if TYPE_CHECKING:
    from . import losses, metrics, ray
    from .cross import CrossModalLearner
    from .graph import KNeighborsGraph
    from .images import Images, describe
    from .index import Index
    from .learner import MetricLearner
    from .propagation import LabelPropagation
    from .study import Study

__all__ = [
    "CrossModalLearner",
    "Images",
    "Index",
    "KNeighborsGraph",
    "LabelPropagation",
    "LikewiseWarning",
    "MetricLearner",
    "Study",
    "__version__",
    "describe",
    "explain",
    "losses",
    "metrics",
    "names",
]

_PLACES = {
    "CrossModalLearner": "cross",
    "Images": "images",
    "Index": "index",
    "KNeighborsGraph": "graph",
    "LabelPropagation": "propagation",
    "MetricLearner": "learner",
    "Study": "study",
    "describe": "images",
}


def __getattr__(name: str) -> Any:
    if name in ("losses", "metrics", "ray"):
        return importlib.import_module(f".{name}", __name__)
    if name in _PLACES:
        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "ray"})
