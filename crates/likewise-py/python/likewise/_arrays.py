"""What people have, as the arrays that the extension reads: C-contiguous, of one type.

A C-contiguous float32 array of numpy is passed on as it is, without a copy.
"""

from __future__ import annotations

import json
import warnings
from typing import Any, Optional

import numpy as np

from ._work import LikewiseWarning, outside


def as_numpy(x: Any, name: str) -> np.ndarray:
    """An array of whatever holds one: numpy, pandas, polars, pyarrow, torch, DLPack, lists.

    Raises
    ------
    TypeError, ValueError
        Where it holds none, or one that the processor cannot reach.
    """
    try:
        return _read(x, name)
    except (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as e:
        if str(e).startswith(name):
            raise
        kind = ValueError if isinstance(e, ValueError) else TypeError
        raise kind(f"{name} cannot be read as an array of numpy: {e}") from e


def _read(x: Any, name: str) -> np.ndarray:
    if isinstance(x, np.ndarray):
        # A masked array or a matrix would keep its own ways.
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise ValueError(f"{name} has masked values; fill or remove them")
        return np.asarray(x)
    if hasattr(x, "tocsr") and hasattr(x, "nnz"):
        raise TypeError(
            f"{name} is a sparse matrix, but dense data is required; call {name}.toarray()"
        )
    if type(x).__module__.split(".")[0] == "pyarrow":
        return _of_arrow(x, name)
    if hasattr(x, "detach") and hasattr(x, "cpu"):
        return _of_torch(x.detach().cpu())
    if hasattr(x, "to_numpy"):
        return np.asarray(x.to_numpy())
    if hasattr(x, "__array__") or not hasattr(x, "__dlpack__"):
        return np.asarray(x)
    return np.from_dlpack(x)


def _of_torch(x: Any) -> np.ndarray:
    # numpy knows no bfloat16; float32 holds all of it.
    return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()


def _of_arrow(x: Any, name: str) -> np.ndarray:
    """An array of pyarrow; a column of vectors of one length is a matrix."""
    if hasattr(x, "columns"):
        columns = [_of_arrow(column, name) for column in x.columns]
        if len(columns) == 1 and columns[0].ndim == 2:
            return columns[0]
        return np.column_stack(columns) if columns else np.empty((x.num_rows, 0))
    if hasattr(x, "combine_chunks"):
        x = x.combine_chunks()
    width = _width(x, name)
    if width is None:
        return np.asarray(x.to_numpy(zero_copy_only=False))
    return np.asarray(x.flatten().to_numpy(zero_copy_only=False)).reshape(len(x), width)


def _width(x: Any, name: str) -> Optional[int]:
    """How many numbers each vector of an array of pyarrow has; None where it holds no vectors."""
    from pyarrow import types

    fixed = types.is_fixed_size_list(x.type)
    if not fixed and not types.is_list(x.type) and not types.is_large_list(x.type):
        return None
    if x.null_count:
        raise ValueError(f"{name}: {x.null_count} rows have no vector; fill or remove them")
    if fixed:
        return x.type.list_size
    lengths = np.diff(x.offsets.to_numpy())
    if len(lengths) and lengths.min() != lengths.max():
        raise ValueError(
            f"{name}: vectors of one length are needed, and these have {lengths.min()} to "
            f"{lengths.max()} numbers"
        )
    return int(lengths[0]) if len(lengths) else 0


def is_missing(value: Any) -> bool:
    """Whether a value stands for nothing: None, NaN, and what pandas calls missing, which says of no comparison whether it holds."""
    if isinstance(value, str):
        return False
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


#: Numbers that are looked at in one go, so that little memory is taken.
AT_ONCE = 1 << 23
#: Rows that tell how a column varies.
FEWEST = 10
#: Characters of a value that a message shows.
LONGEST_SHOWN = 60


def matrix(
    x: Any, name: str = "X", dtype: Any = np.float32, hint: str = "remove or fill such values", first: Optional[int] = None
) -> np.ndarray:
    """A matrix of finite numbers, one item a row; of a part of the rows, the first has the number `first`.

    Raises
    ------
    TypeError
        Of sparse data.
    ValueError
        Of anything but a matrix of finite numbers with at least one row and one column; the `hint` says what to do.
    """
    rows = as_numpy(x, name)
    if rows.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} is {rows.dtype}")
    if rows.dtype.kind == "O":
        try:
            rows = rows.astype(np.float64)
        except (OverflowError, TypeError, ValueError) as e:
            lost = any(is_missing(value) for value in rows.ravel())
            kind = TypeError if isinstance(e, TypeError) and not lost else ValueError
            raise kind(
                f"{name} holds objects that are no numbers ({_first_object(rows) or e}); give a matrix of numbers"
            ) from e
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of type {rows.dtype}; give a matrix of numbers")
    if rows.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead for {name}. Reshape your data either using "
            "array.reshape(-1, 1) if it has a single column or array.reshape(1, -1) if it "
            "contains a single item."
        )
    if rows.ndim != 2:
        raise ValueError(
            f"Found array with dim {rows.ndim}, but {name} must be of 2 dimensions: items x columns"
        )
    for size, what in zip(rows.shape, ("sample(s)", "feature(s)")):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={rows.shape}) while a minimum of 1 is required: "
                f"{name} is empty"
            )
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.require(rows, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    if rows.dtype.kind == "f":
        step = max(1, AT_ONCE // made.shape[1])
        for start in range(0, len(made), step):
            finite = np.isfinite(made[start : start + step])
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                place = f"{name}: row {(first or 0) + start + row}, column {column}"
                raise ValueError(_not_finite(rows[start + row, column], place, hint))
    # A part of the rows, or a few of them, say little of how a column varies.
    if first is None and len(rows) >= FEWEST and not np.can_cast(rows.dtype, made.dtype):
        _warn_of_lost(rows, made, name)
    return made


def _warn_of_lost(rows: np.ndarray, made: np.ndarray, name: str) -> None:
    """Warns where a column varies by so little beside its values that float32 tells few of them apart."""
    low, high = np.full(made.shape[1], np.inf), np.full(made.shape[1], -np.inf)
    lost = np.zeros(made.shape[1])
    step = max(1, AT_ONCE // made.shape[1])
    # Whole numbers may be longer than float64 tells apart.
    whole = rows.dtype.kind in "iu"
    exact = np.longdouble if whole and rows.dtype.itemsize == 8 else np.float64
    for start in range(0, len(made), step):
        part = rows[start : start + step].astype(exact, copy=False)
        low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        lost = np.maximum(lost, abs(part - made[start : start + step]).max(axis=0))
    spread = high - low
    largest = np.maximum(abs(low), abs(high))
    # What differs by the noise of float64 alone says nothing; nor what is too small for float32.
    varies = (spread > (0 if whole else 1e-12 * largest)) & (spread < 1e-4 * largest)
    far = np.flatnonzero(varies & (lost > spread / 1000))
    if len(far):
        first, others = far[0], f" (and so of {len(far) - 1} others)" if len(far) > 1 else ""
        warnings.warn(
            f"{name}: column {first} varies by {spread[first]:.4g} about {low[first]:.10g}, and float32 rounds its values by up to "
            f"{lost[first]:.3g}; take one number off it in all that is given, such as the least that is fitted{others}",
            LikewiseWarning,
            stacklevel=outside(),
        )


def _first_object(rows: np.ndarray) -> Optional[str]:
    """Where a matrix of objects has the first that is no number."""
    if rows.ndim != 2:
        return None
    for (row, column), value in np.ndenumerate(rows):
        try:
            float("nan" if value is None else value)
        except (OverflowError, TypeError, ValueError) as e:
            shown = repr(value)
            shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}..."
            says_all = isinstance(e, ValueError) or is_missing(value)
            return f"row {row}, column {column}: {shown}" if says_all else f"row {row}, column {column}: {shown}, {e}"
    return None


def _not_finite(value: Any, place: str, hint: str) -> str:
    if np.isfinite(value):
        return f"{place} is {value}, beyond what float32 holds; bring the columns to a smaller scale"
    return f"{place} is {'NaN' if np.isnan(value) else value}; {hint}"


def csr(graph: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Row pointers, columns, weights and number of nodes of a square sparse matrix."""
    if not (hasattr(graph, "tocsr") and hasattr(graph, "nnz")):
        raise TypeError(f"{name} must be a sparse matrix of scipy, one row and column an item")
    if graph.dtype.kind not in "fiub":
        raise ValueError(f"{name} is of type {graph.dtype}; give weights that are real numbers")
    graph = graph.tocsr()
    if graph.shape[0] != graph.shape[1]:
        raise ValueError(f"{name} is {graph.shape}; a graph is square, one row and column an item")
    if not graph.has_canonical_format:
        graph = graph.copy()
        graph.sum_duplicates()
    return (
        np.require(graph.indptr, np.int64, ["C"]),
        np.require(graph.indices, np.int64, ["C"]),
        np.require(graph.data, np.float32, ["C"]),
        graph.shape[0],
    )


def rows_of_items(x: Any, name: str, columns: int) -> np.ndarray:
    """A table of row numbers, of so many columns."""
    rows = as_numpy(x, name)
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise ValueError(f"{name} is of shape {rows.shape}; give {columns} columns of row numbers")
    if rows.dtype.kind == "O":
        try:
            rows = rows.astype(np.float64)
        except (TypeError, ValueError) as e:
            raise ValueError(f"{name} holds objects that are no row numbers: {e}") from e
    if rows.dtype.kind not in "iu" and not (
        rows.dtype.kind == "f" and np.all(rows == np.floor(rows))
    ):
        raise ValueError(f"{name} is of type {rows.dtype}; give row numbers")
    if rows.size and (rows.min() < 0 or rows.max() >= 2**32):
        raise ValueError(f"{name}: row numbers must be at least 0 and below the number of items")
    return np.require(rows, np.uint32, ["C"])


def weights(w: Any, n: int, name: str = "weights") -> np.ndarray:
    """One weight an item; 1 where none are given."""
    if w is None:
        return np.ones(n, np.float32)
    given = as_numpy(w, name)
    if given.dtype.kind not in "fiubO":
        raise ValueError(f"{name} is of type {given.dtype}; give real numbers")
    if given.shape != (n,):
        raise ValueError(f"{name} is of shape {given.shape}; give {n} of them")
    try:
        with np.errstate(over="ignore", under="ignore"):
            return np.require(given, np.float32, ["C"])
    except (TypeError, ValueError) as e:
        raise ValueError(f"{name} is of type {given.dtype}; give a number for each") from e


def to_json(settings: Optional[dict], name: str) -> Optional[str]:
    """Settings as the extension reads them."""
    if settings is None:
        return None
    if not isinstance(settings, dict):
        raise TypeError(f"{name} = {settings!r}: must be a dict")

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        raise TypeError(f"{name}: {value!r} cannot be a setting")

    try:
        return json.dumps(settings, default=plain, allow_nan=False)
    except ValueError as e:
        raise ValueError(f"{name} has a number that is NaN or infinite, or holds itself: {settings!r}") from e
