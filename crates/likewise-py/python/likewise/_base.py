"""What the estimators share: scikit-learn's base classes where it is installed, the same conventions where not."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections import Counter
from typing import Any, Optional

import numpy as np

from ._arrays import matrix

try:
    from sklearn.base import BaseEstimator as Base
    from sklearn.base import ClassifierMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """Something was asked of an estimator before `fit`."""

    class ClassifierMixin:  # type: ignore[no-redef]
        """A classifier."""

        _estimator_type = "classifier"

    class TransformerMixin:  # type: ignore[no-redef]
        """A transformer."""

        def fit_transform(self, X: Any, y: Any = None, **given: Any) -> Any:
            """Fit and transform the same items."""
            return self.fit(X, y, **given).transform(X)  # type: ignore[attr-defined]

    class Base:  # type: ignore[no-redef]
        """Parameters by name, as scikit-learn has them."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            parameters = inspect.signature(cls.__init__).parameters
            return sorted(name for name in parameters if name != "self")

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Parameters by name."""
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> Any:
            """Set parameters by name."""
            names = self._get_param_names()
            for name, value in params.items():
                if name not in names:
                    raise ValueError(
                        f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names!r}."
                    )
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self).__init__).parameters
            changed = (
                f"{name}={value!r}"
                for name, value in self.get_params().items()
                if value is not defaults[name].default and value != defaults[name].default
            )
            return f"{type(self).__name__}({', '.join(changed)})"


class Unpicklable:
    """What was fitted lies in the extension (`_fitted`): copies share it, and it cannot be pickled."""

    #: How to have it again.
    _kept_by = "save(path) writes it, and MetricLearner.load(path) opens it"
    _fitted: Any = None

    def __copy__(self) -> Any:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict) -> Any:
        # As if it had been copied before.
        memo[id(self._fitted)] = self._fitted
        copied = memo[id(self)] = object.__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    def __getstate__(self) -> Any:
        if self._fitted is not None:
            raise TypeError(
                f"a {type(self).__name__} that was fitted cannot be pickled; {self._kept_by}"
            )
        return self.__dict__


def column_names(X: Any) -> Optional[np.ndarray]:
    """Names of the columns of a data frame, where all are strings."""
    if type(X).__module__.split(".")[0] == "pyarrow":
        # A column of vectors is many columns.
        schema = getattr(X, "schema", None)
        columns = None if schema is None or any("list" in str(of) for of in schema.types) else schema.names
    else:
        columns = getattr(X, "columns", None)
    if columns is None or callable(columns) or not (hasattr(X, "shape") or hasattr(X, "num_rows")):
        return None
    names = list(columns)
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)


class Estimator(Base):  # type: ignore[misc,valid-type]
    """Checks of what is fitted and of what is asked later."""

    def _take_columns(self, X: Any, columns: int) -> None:
        """Knows from now on the columns of what was fitted: where that fails, the estimator stays what it was."""
        self._take_names(column_names(X), columns)

    def _take_names(self, names: Optional[np.ndarray], columns: int) -> None:
        self.n_features_in_ = columns
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _rows(self, X: Any, what: str) -> np.ndarray:
        self._check_fitted(what)
        self._check_names(X)
        rows = matrix(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return rows

    def _check_fitted(self, what: str) -> None:
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate "
                f"arguments before {what}."
            )

    def _check_names(self, X: Any) -> None:
        fitted, names = getattr(self, "feature_names_in_", None), column_names(X)
        name = type(self).__name__
        if fitted is None and names is not None:
            warnings.warn(
                f"X has feature names, but {name} was fitted without feature names", stacklevel=4
            )
        elif fitted is not None and names is None:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names",
                stacklevel=4,
            )
        else:
            check_same_names(fitted, names)


def check_same_names(fitted: Optional[np.ndarray], names: Optional[np.ndarray]) -> None:
    """Columns have the names, in the order, of those that were fitted, where both are known."""
    if fitted is None or names is None:
        return
    fitted, names = stripped(fitted), stripped(names)
    if fitted != names:
        unseen = sorted(set(names) - set(fitted))
        missing = sorted(set(fitted) - set(names))
        message = "The feature names should match those that were passed during fit.\n"
        if unseen:
            message += "Feature names unseen at fit time:\n" + _listed(unseen)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
        if not unseen and not missing:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)


def stripped(names: Any) -> list[str]:
    """Names without the spaces around them, as most files are read; those of which two would be the same as they are."""
    as_they_are = [str(name) for name in names]
    times = Counter(name.strip() for name in as_they_are)
    return [name.strip() if times[name.strip()] == 1 else name for name in as_they_are]


def _listed(names: list[str]) -> str:
    return "".join(f"- {name}\n" for name in names[:5])
