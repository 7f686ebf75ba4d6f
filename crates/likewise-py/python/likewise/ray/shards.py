"""Matrices in files: ``.npy``, and ``.parquet`` with a column of vectors or columns of numbers.

Only the rows that are asked for are read: of ``.npy`` their bytes, of ``.parquet`` the row groups that hold them.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from .._arrays import as_numpy, matrix
from .._base import stripped
from . import files

KINDS = (".npy", ".parquet")
# Columns of a table that go along with embeddings.
KEPT = ("id", "ids", "label", "labels", "y", "target", "targets", "split")
# Those that are no features by their names, unless a run was fitted on them. One machine looks at the values of some, too.
NOT_FEATURES = (*KEPT, "class", "category", "class_name", "class_id", "class_label", "index", "idx")


class Shard(NamedTuple):
    """A file of rows."""

    url: str
    rows: int
    columns: int
    # Columns of numbers of a table, in the order that they are read; none of a matrix and a column of vectors.
    names: tuple[str, ...]
    # What changes where the file does.
    stamp: str


def is_address(source: Any) -> bool:
    """Whether this names files rather than holding numbers."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(one, (str, os.PathLike)) for one in source)
    return isinstance(source, (str, os.PathLike))


def listed(source: Any, name: str, kinds: tuple[str, ...]) -> list[str]:
    """The files that a path, a folder, a pattern or a list of these names, those of a folder by name.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    ValueError
        Of a file of another kind.
    """
    if isinstance(source, (list, tuple)):
        return [url for one in source for url in listed(one, name, kinds)]
    url = files.address(source, name)
    system, path = files.system(url)
    if system.isdir(path):
        inside = (file for file in system.ls(path, detail=False) if file.endswith(kinds))
        found = [file for file in inside if not file.rsplit("/", 1)[-1].startswith(".")]
    elif any(sign in path for sign in "*?[") and not system.exists(path):
        found = system.glob(path)
    else:
        found = [path] if system.exists(path) else []
    if not found:
        raise FileNotFoundError(f"{name}: there are no {' or '.join(kinds)} files at {url}")
    for file in found:
        if not file.endswith(kinds):
            raise ValueError(f"{name}: {file} is none of {', '.join(kinds)}")
    return sorted(system.unstrip_protocol(file) for file in found)


def look(url: str, wanted: tuple[str, ...] = ()) -> Shard:
    """Numbers of rows and columns, from the head of the file alone; of the `wanted` columns of a table, if there are any."""
    system, path = files.system(url)
    with system.open(path, "rb") as file:
        if path.endswith(".npy"):
            (rows, columns), _, _ = _head(file, url)
            return Shard(url, rows, columns, (), files.stamp(url))
        import pyarrow as arrow

        table = _parquet(file, url)
        if not table.metadata.num_rows:
            # Its columns have no types that tell what they would hold.
            return Shard(url, 0, 0, (), files.stamp(url))
        first = table.schema_arrow.empty_table()
        # A name with spaces around it is that name, unless both are there.
        there = dict(zip(stripped(first.column_names), first.column_names))
        there |= {name: name for name in first.column_names}
        names = [there.get(name, there.get(name.strip(), name)) for name in wanted]
        lacking = [name for name in names if name not in first.column_names]
        if len(set(names)) < len(names):
            raise ValueError(f"paths: {url} has one column for {wanted}, which were fitted")
        if lacking and not _vectors(first.schema):
            raise ValueError(f"paths: {url} has no column of numbers {lacking[0]!r}, which was fitted")
        if lacking or not names:
            names = _features(first.schema, url)
        first = arrow.Table.from_batches([next(table.iter_batches(1, columns=names))])
        columns = as_numpy(_floats(first), url).shape[1]
        if _vectors(first.schema) and (lacking or not wanted):
            names = []
        return Shard(url, table.metadata.num_rows, columns, tuple(names), files.stamp(url))


def in_order(shards: list[Shard], name: str, names: tuple[str, ...] = ()) -> list[Shard]:
    """Shards whose tables are read in the order of these columns; of none: of the first table.

    Raises
    ------
    ValueError
        Where a table lacks one, or has one more.
    """
    names = names or next((shard.names for shard in shards if shard.names), ())

    def ordered(shard: Shard) -> Shard:
        if not (names and shard.names):
            return shard
        there, wanted = dict(zip(stripped(shard.names), shard.names)), stripped(names)
        lacking, more = sorted(set(wanted) - set(there)), sorted(set(there) - set(wanted))
        if lacking:
            raise ValueError(f"{name}: {shard.url} has no column of numbers {lacking[0]!r}")
        if more:
            raise ValueError(f"{name}: {shard.url} has a column {more[0]!r}, which is none of the features of the others")
        return shard._replace(names=tuple(there[name] for name in wanted))

    return [ordered(shard) for shard in shards]


def read(shard: Shard, start: int = 0, stop: int | None = None) -> np.ndarray:
    """The rows from `start` to `stop` (float32).

    Raises
    ------
    ValueError
        Where they cannot be read, or are no numbers.
    """
    stop = shard.rows if stop is None else min(stop, shard.rows)
    system, path = files.system(shard.url)
    with system.open(path, "rb") as file:
        if path.endswith(".npy"):
            rows = _rows(file, shard.url, start, stop)
        else:
            table = read_table(file, shard.url, start, stop)
            names = list(shard.names) or _features(table.schema, shard.url)
            lost = [name for name in names if name not in table.column_names]
            if lost:
                raise ValueError(f"{shard.url}: column {lost[0]!r} is gone: the file has changed")
            rows = as_numpy(_floats(table.select(names)), shard.url)
    rows = matrix(rows, shard.url, first=start)
    if rows.shape != (stop - start, shard.columns):
        raise ValueError(
            f"{shard.url}: rows {start} to {stop} are of shape {rows.shape}, not "
            f"{(stop - start, shard.columns)}: the file has changed or is cut off"
        )
    return rows


def read_table(file: Any, url: str, start: int, stop: int) -> Any:
    """The rows of a ``.parquet`` file as a table of pyarrow."""
    import pyarrow as arrow

    table = _parquet(file, url)
    groups, first, before = [], 0, 0
    for group in range(table.num_row_groups):
        rows = table.metadata.row_group(group).num_rows
        if before < stop and before + rows > start:
            first = before if not groups else first
            groups.append(group)
        before += rows
    if not groups:
        return table.schema_arrow.empty_table()
    try:
        return table.read_row_groups(groups).slice(start - first, stop - start)
    except arrow.ArrowException as e:
        raise ValueError(f"{url} cannot be read: {e}") from e


def _head(file: Any, url: str) -> tuple[tuple[int, int], bool, np.dtype]:
    read_head = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(file)
        shape, by_columns, dtype = read_head[version](file)
    except (ValueError, KeyError) as e:
        raise ValueError(f"{url} is no .npy file: {e}") from e
    if len(shape) != 2:
        raise ValueError(f"{url} is of shape {shape}; a shard is a matrix, items x columns")
    if dtype.hasobject:
        raise ValueError(f"{url} holds objects; a shard is a matrix of numbers")
    return shape, by_columns, dtype


def _rows(file: Any, url: str, start: int, stop: int) -> np.ndarray:
    (rows, columns), by_columns, dtype = _head(file, url)
    if by_columns:
        # Rows do not lie together: all is read.
        start, stop, offset, wanted = 0, rows, start, stop - start
    size = columns * dtype.itemsize
    file.seek(start * size, 1)
    data = file.read((stop - start) * size)
    if len(data) != (stop - start) * size:
        raise ValueError(f"{url} is cut off: {rows} rows are announced")
    values = np.frombuffer(data, dtype)
    if by_columns:
        return values.reshape(columns, rows).T[offset : offset + wanted]
    return values.reshape(-1, columns)


def _parquet(file: Any, url: str) -> Any:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as e:
        raise ImportError("parquet shards need pyarrow: pip install likewise[ray]") from e
    try:
        return parquet.ParquetFile(file)
    except arrow.ArrowException as e:
        raise ValueError(f"{url} is no parquet file: {e}") from e


def is_feature(name: str) -> bool:
    """Whether a column of this name is one, as names mean on one machine."""
    name = name.strip().lower()
    index = name.startswith(("__index_level_", "unnamed: 0"))
    return name not in NOT_FEATURES and not index


def is_kept(name: str) -> bool:
    """Whether a column of this name goes along with embeddings."""
    return name.strip().lower() in KEPT


def _floats(table: Any) -> Any:
    """A table or batch whose decimal numbers are floating ones."""
    from pyarrow import float64, types

    for place, field in enumerate(table.schema):
        if types.is_decimal(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(float64()))
    return table


def _vectors(schema: Any) -> list[str]:
    """The columns of vectors."""
    from pyarrow import types

    def is_list(kind: Any) -> bool:
        return types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)

    return [field.name for field in schema if is_feature(field.name) and is_list(field.type)]


def _features(schema: Any, url: str) -> list[str]:
    """The column of vectors, or else all columns of numbers."""
    from pyarrow import types

    named = [(field.name, field.type) for field in schema if is_feature(field.name)]
    vectors = _vectors(schema)
    if len(vectors) > 1:
        raise ValueError(f"{url} has several columns of vectors ({', '.join(vectors)}); leave one")
    numbers = [
        name for name, kind in named if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    ]
    if not vectors and not numbers:
        raise ValueError(f"{url} has neither a column of vectors nor columns of numbers")
    return vectors or numbers
