"""Several views of the same items, by name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from ._arrays import as_numpy, is_missing, matrix
from ._base import check_same_names, column_names
from ._labels import Labels
from ._table import Reading

#: A view as the extension takes it: its name, and rows of numbers or texts.
View = tuple[str, Any]


def are_views(X: Any) -> bool:
    """Whether `X` holds arrays by name."""
    return isinstance(X, Mapping)


def read(X: Any, name: str = "X", *, with_texts: bool = False, least: int = 2) -> list[View]:
    """The views of a dict of arrays, in its order, of which there are so many at `least`.

    Raises
    ------
    TypeError
        Of anything but a dict whose keys are words.
    ValueError
        Of fewer views, of views of different items, and of one that is no matrix.
    """
    if not are_views(X):
        raise TypeError(f"{name} must be a dict of arrays, one for each view, by its name")
    strange = [key for key in X if not isinstance(key, str) or not key or "+" in key]
    if strange:
        raise ValueError(f"{name}: its keys name the views, as words without +, and {strange[0]!r} is none")
    if len(X) < least:
        wanted = "two or more" if least > 1 else "one or more, or one array alone"
        raise ValueError(f"{name} has {len(X)} {'view' if len(X) == 1 else 'views'}; give {wanted}")
    views = [(key, _of_view(X[key], f"{name}[{key!r}]", with_texts)) for key in X]
    check_rows(views, name)
    return views


def _of_view(X: Any, name: str, with_texts: bool) -> Any:
    words = texts(X, name) if with_texts else None
    return matrix(X, name) if words is None else words


def check_rows(views: list[View], name: str) -> None:
    """Views of the same items have a row for each of them."""
    counts = {key: len(rows) for key, rows in views}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{key} has {n}" for key, n in counts.items())
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {name}: {said}")


def readings_of(X: Any) -> dict[str, Reading]:
    """How each view is read: by the names of its columns, where it is a frame."""
    return {key: Reading(column_names(X[key])) for key in X} if are_views(X) else {}


def others(X: Any, names: list[str], columns: dict[str, int], readings: dict[str, Reading]) -> list[View]:
    """The same views of other items, in the order in which they were fitted."""
    if not are_views(X):
        raise TypeError(f"X must be a dict of the views {', '.join(names)}, as in fit")
    if set(X) != set(names):
        raise ValueError(
            f"X has the views {', '.join(map(str, X))}, but these were fitted: {', '.join(names)}"
        )
    def one(key: str) -> np.ndarray:
        return other(X[key], f"X[{key!r}]", columns.get(key), readings.get(key, Reading()), "embed")

    views = [(key, one(key)) for key in names]
    check_rows(views, "X")
    return views


def other(X: Any, name: str, columns: Optional[int], reading: Reading, command: str) -> np.ndarray:
    """Other items of a view as the fitted one was read: so many columns, of these names, where that is known.

    Raises
    ------
    ValueError
        Where they are not those columns, and where only the `command` can read them.
    """
    reading.check(command)
    check_same_names(reading.names, column_names(X))
    rows = matrix(X, name)
    if columns is not None and rows.shape[1] != columns:
        raise ValueError(f"{name} has {rows.shape[1]} features, but {columns} features were fitted")
    return reading.scaled(rows, name)


def texts(X: Any, name: str) -> Optional[list[Optional[str]]]:
    """The text of each item, None of one without; None where these are no texts."""
    if isinstance(X, (list, tuple)) and any(isinstance(one, str) for one in X):
        # numpy would make words of what is missing.
        X, given = np.empty(len(X), object), X
        X[:] = given
    values = as_numpy(X, name)
    if values.ndim != 1 or values.dtype.kind not in "UOT":
        return None
    said = [None if is_missing(v) else v for v in values.tolist()]
    found = [v for v in said if v is not None]
    if len(said) and not found:
        raise ValueError(f"{name}: no item has a text; give some")
    return said if found and all(isinstance(v, str) for v in found) else None


def digest_of(views: list[View], labels: Optional[Labels]) -> str:
    """What tells these data from others."""
    digest = hashlib.sha256()
    for name, rows in views:
        if len(views) > 1:
            digest.update(name.encode() + b"\0")
        digest.update(repr(rows).encode() if isinstance(rows, list) else memoryview(rows))
    if labels is not None:
        digest.update(memoryview(labels.codes))
        digest.update("\n".join(labels.names).encode())
    return digest.hexdigest()
