"""Labels of people as numbers of classes."""

from __future__ import annotations

import warnings
from typing import Any, Optional

import numpy as np

from . import _likewise
from ._arrays import as_numpy, is_missing
from ._work import LikewiseWarning, outside

UNKNOWN, OUTSIDE = -1, -2


class Labels:
    """The class of each item, by number: -1 unknown, -2 outside.

    Attributes
    ----------
    codes : ndarray of int64
    classes : ndarray, sorted, of the type of `y`
    names : list of str
        The classes as the library and the command call them.
    """

    def __init__(
        self, codes: np.ndarray, classes: np.ndarray, unknown: Any, names: Optional[list[str]] = None
    ) -> None:
        self.codes = np.require(codes, np.int64, ["C"])
        self.classes = classes
        self._unknown = unknown
        self.names = [_name(value) for value in classes.tolist()] if names is None else names

    @property
    def given(self) -> tuple[np.ndarray, list[str]]:
        """What the extension reads."""
        return self.codes, self.names

    @property
    def in_order(self) -> tuple[np.ndarray, list[str]]:
        """`given` with the classes in the order of the command, by number where all are whole ones: labels are drawn, and
        training begins, class by class."""
        meant, _, _ = _likewise.label_words(self.names, [1] * len(self.names))
        # The last two stand for what is outside and what is unknown.
        place = np.array([*meant, OUTSIDE, UNKNOWN], np.int64)
        return place[self.codes], [self.names[code] for code in np.argsort(meant)]

    def beside(self, other: Labels) -> list[str]:
        """What the classes are called beside those of others: flags, which are 1 and 0, are words beside such words."""
        flags = self.classes.dtype.kind == "b" and {"True", "False"} & set(other.names)
        return [str(flag) for flag in self.classes] if flags else self.names

    def decoded(self, codes: np.ndarray) -> np.ndarray:
        """Classes by their values again; what stands for unknown where there is none."""
        known = codes >= 0
        if known.all() and len(codes):
            return self.classes[codes]
        kind = self.classes.dtype.kind
        dtype = self.classes.dtype if kind in "if" or kind == "U" else object
        out = np.full(len(codes), self._unknown, dtype=dtype)
        if known.any():
            out[known] = self.classes[codes[known]]
        return out


def together(first: Labels, second: Labels) -> tuple[np.ndarray, list[str]]:
    """What the extension reads of two lists of labels, one behind the other: by the names of classes, however they are
    written."""
    called = [first.beside(second), second.beside(first)]
    names = sorted({*called[0], *called[1]})
    if first.names and second.names and not set(called[0]) & set(called[1]):
        warnings.warn(
            f"y and the gallery have no class in common ({called[0][0]!r} ..., {called[1][0]!r} ...), so that nothing is found",
            LikewiseWarning,
            stacklevel=outside(),
        )
    place = {name: number for number, name in enumerate(names)}
    codes = [
        np.array([*(place[name] for name in names), OUTSIDE, UNKNOWN])[of.codes] for of, names in zip((first, second), called)
    ]
    return np.concatenate(codes), names


def _name(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def encode(y: Any, n: int, name: str = "y") -> Labels:
    """The labels of `n` items.

    Numbers: -1 and NaN are unknown, -2 is outside. Words are read as the command reads them: empty, ``"-1"``,
    ``"unlabeled"``, None and NaN are unknown, ``"-2"`` and ``"outside"`` are outside; ``"NA"``, ``"None"`` and other
    words that tables are filled with are unknown too, with a warning.
    """
    column = _column(y)
    values = _values(y if column is None else column, name)
    if column is not None or (values.ndim == 2 and values.shape[1] == 1):
        _warn_of_column()
        values = values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        raise ValueError(f"{name} is of shape {values.shape}; give one label an item (1d array)")
    if len(values) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n}, {len(values)}]: "
            f"{name} must hold one label an item"
        )
    kind = values.dtype.kind
    if kind == "b":
        return _of_flags(values, np.zeros(len(values), dtype=bool))
    if kind in "iu":
        return _of_numbers(values, values, UNKNOWN)
    if kind == "f":
        return _of_floats(values, name)
    if kind in "US":
        return _of_words(values.astype(str), name)
    if kind == "T":
        values = values.astype(object)
    if kind in "OT":
        return _of_objects(values, name)
    raise ValueError(f"Unknown label type: {name} is of type {values.dtype}; give whole numbers or words")


def _values(y: Any, name: str) -> np.ndarray:
    """Labels as an array; whole numbers and flags of which some are missing as objects, which stay what they are."""
    if isinstance(y, (list, tuple)) and any(isinstance(value, (int, np.bool_, np.integer)) for value in y):
        if any(is_missing(value) or isinstance(value, str) for value in y):
            values = np.empty(len(y), dtype=object)
            values[:] = y
            return values
    kind = getattr(y, "dtype", getattr(y, "type", None))
    if not isinstance(kind, np.dtype) and any(word in str(kind).lower() for word in ("int", "categor", "dictionary")):
        for listed in ("to_pylist", "to_list", "tolist"):
            if hasattr(y, listed):
                values = getattr(y, listed)()
                if isinstance(values, list) and any(is_missing(value) for value in values):
                    return np.array(values, dtype=object)
                break
    return as_numpy(y, name)


def _column(y: Any) -> Any:
    """The only column of a frame or table; None where it is something else."""
    names = getattr(y, "column_names", getattr(y, "columns", None))
    if not hasattr(names, "__len__") or len(names) != 1 or getattr(y, "ndim", 2) != 2 or not hasattr(y, "shape"):
        return None
    return y.iloc[:, 0] if hasattr(y, "iloc") else y[names[0]]


def _warn_of_column() -> None:
    try:
        from sklearn.exceptions import DataConversionWarning as kind
    except ImportError:
        kind = UserWarning  # type: ignore[assignment,misc]
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples, ), for example using ravel().",
        kind,
        stacklevel=4,
    )


def _of_numbers(values: np.ndarray, numbers: np.ndarray, unknown: Any) -> Labels:
    known = (numbers != UNKNOWN) & (numbers != OUTSIDE)
    codes = np.where(numbers == OUTSIDE, OUTSIDE, UNKNOWN).astype(np.int64)
    classes, codes[known] = np.unique(values[known], return_inverse=True)
    if classes.dtype.kind == "u" and unknown == UNKNOWN:
        if len(classes) and classes[-1] >= 2**63:
            raise ValueError(f"y has the class {classes[-1]}, which takes 64 bits without a sign; give smaller numbers, or words")
        classes = classes.astype(np.int64)
    return Labels(codes, classes, unknown)


def _of_flags(values: np.ndarray, missing: np.ndarray) -> Labels:
    """True and False, which the command calls 1 and 0."""
    codes = np.full(len(values), UNKNOWN, np.int64)
    classes, codes[~missing] = np.unique(values[~missing].astype(bool), return_inverse=True)
    return Labels(codes, classes, None, [str(int(value)) for value in classes])


def _told_apart(values: np.ndarray, name: str) -> None:
    """Refuses floating numbers from where on these do not tell whole ones apart."""
    large = np.isfinite(values) & (np.abs(values) >= 2 ** (min(np.finfo(values.dtype).nmant, 52) + 1))
    if large.any():
        raise ValueError(
            f"{name} holds {values[large][0]:.0f} as a floating number, which does not tell it from its neighbours; "
            "give whole numbers or words"
        )


def _of_floats(values: np.ndarray, name: str) -> Labels:
    if np.isinf(values).any():
        raise ValueError(f"Input {name} contains infinity; give whole numbers or words")
    _told_apart(values, name)
    values = values.astype(np.float64)
    missing = np.isnan(values)
    whole = np.where(missing, UNKNOWN, values)
    if not np.all(whole == np.floor(whole)):
        raise ValueError(
            f"Unknown label type: continuous: {name} holds numbers that are not whole; classes are "
            "whole numbers or words"
        )
    return _of_numbers(whole, whole, UNKNOWN)


def _of_words(values: np.ndarray, name: str) -> Labels:
    words = np.char.strip(values)
    spelled, place, counts = np.unique(words, return_inverse=True, return_counts=True)
    meant, names, remarks = _likewise.label_words(spelled.tolist(), counts.tolist())
    for remark in remarks:
        warnings.warn(f"{name}: {remark}", LikewiseWarning, stacklevel=outside())
    codes = np.array(meant, np.int64)[place]
    known = codes >= 0
    if len(names) < sum(code >= 0 for code in meant):
        # Two spellings of a whole number, such as 1 and 1.0.
        called = np.array([*names, ""], dtype=values.dtype)[np.where(known, codes, -1)]
        values = np.where(known & (called != words), called, values)
    classes, codes[known] = np.unique(values[known], return_inverse=True)
    bare, place = np.unique(np.char.strip(classes), return_inverse=True)
    if len(bare) < len(classes):
        twice = classes[place == np.flatnonzero(np.bincount(place) > 1)[0]].tolist()
        raise ValueError(f"{name} has the classes {twice[0]!r} and {twice[1]!r}, which differ in spaces alone; remove these")
    # A whole number with a fraction of zeros is written so by who gives it, and called without by all else.
    called = {word: names[code] for word, code in zip(spelled.tolist(), meant) if code >= 0}
    return Labels(codes, classes, "", [called.get(word, word) for word in np.char.strip(classes).tolist()])


def _of_whole(present: np.ndarray, missing: np.ndarray, name: str) -> Labels:
    """Whole numbers of which some are missing, to the last digit."""
    numbers = np.full(len(missing), UNKNOWN, np.int64)
    try:
        numbers[~missing] = [int(value) for value in present]
    except OverflowError as e:
        raise ValueError(f"{name} has a number beyond 64 bits; classes are smaller ones, or words") from e
    return _of_numbers(numbers, numbers, UNKNOWN)


def _of_objects(values: np.ndarray, name: str) -> Labels:
    missing = np.array([is_missing(value) or (isinstance(value, str) and not value.strip()) for value in values], dtype=bool)
    present = values[~missing]
    if len(present) and all(isinstance(value, (bool, np.bool_)) for value in present):
        return _of_flags(values, missing)
    if len(present) and all(isinstance(value, (int, float, np.number, np.bool_)) for value in present):
        if all(isinstance(value, (int, np.integer, np.bool_)) for value in present):
            return _of_whole(present, missing, name)
        for kind in {value.dtype for value in present if isinstance(value, np.floating)}:
            _told_apart(np.array([value for value in present if getattr(value, "dtype", None) == kind]), name)
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = present.astype(np.float64)
        return _of_floats(numbers, name)
    strange = [value for value in present if not isinstance(value, (str, int, float, np.number, np.bool_))]
    if strange:
        raise ValueError(
            f"Unknown label type: unknown: {name} holds {strange[0]!r}; classes are whole numbers or words"
        )
    words = np.array(["" if lost else str(value) for value, lost in zip(values, missing)], dtype=str)
    labels = _of_words(words, name)
    labels.classes = labels.classes.astype(object)
    labels._unknown = None
    return labels
