"""A collection cut into blocks of consecutive rows, each put into Ray's store once."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, Optional

import numpy as np

from .._arrays import matrix
from .._base import check_same_names, column_names
from .._work import count
from .crew import Crew
from .shards import KINDS, Shard, in_order, is_address, listed, look, read

# Rows of a block where none are asked for.
ROWS = 65_536


class Block(NamedTuple):
    """Consecutive rows of a collection: `rows` of them from row `first` on."""

    first: int
    rows: int
    # Where they are read from; None: from the array itself.
    shard: Optional[Shard]
    start: int


class Collection(NamedTuple):
    """Rows, and how they are cut. A block never spans two shards."""

    blocks: list[Block]
    rows: int
    columns: int
    array: Optional[np.ndarray]
    # Columns of numbers of the tables, in the order that they are read; none of matrices and vectors.
    names: tuple[str, ...]

    def plan(self) -> dict:
        """What tells this collection and its cut from others, for `files.claim`."""
        if self.array is not None:
            origin: Any = hashlib.sha256(memoryview(self.array)).hexdigest()
        else:
            shards = dict.fromkeys(block.shard for block in self.blocks)
            # Names of many columns are long.
            words = ["\n".join(shard.names).encode() for shard in shards]
            names = [hashlib.sha256(of).hexdigest()[:16] if of else "" for of in words]
            origin = [[of.url, of.rows, of.columns, of.stamp, by] for of, by in zip(shards, names)]
        return {"rows_of": origin, "block_rows": [block.rows for block in self.blocks]}

    def unit_rows(self, crew: Crew) -> list[Any]:
        """The blocks in Ray's store, each row of length 1.

        Those of shards are read by tasks, so that Ray can read them again where a machine is lost. All are there
        before anything else begins: a task that waits for its input would make room for another one beside it.
        """
        refs = [None] * len(self.blocks)
        numbers = range(len(self.blocks))
        if self.array is not None:
            for number, block in enumerate(self.blocks):
                refs[number] = crew.put(read_unit(block, self.array))
            return refs

        def submit(number: int) -> Any:
            refs[number], checked = crew.submit(_read_checked, self.blocks[number], returns=2)
            return checked

        for _ in crew.each(submit, numbers):
            pass
        return refs


def collection(
    source: Any, name: str, block_rows: Optional[int], workers: int, names: tuple[str, ...] = ()
) -> Collection:
    """The rows of an array, or of shards, whose tables are read in the order of the columns `names`, if there are any.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        Where there are none, or shards differ in their columns.
    """
    if is_address(source):
        shards = [look(url) for url in listed(source, name, KINDS)]
        # One without rows does not tell how long they would be.
        shards = [shard for shard in shards if shard.rows] or shards
        array, rows, columns = None, sum(shard.rows for shard in shards), shards[0].columns
        if rows == 0 or columns == 0:
            raise ValueError(f"{name} is empty: {rows} rows of {columns} columns")
        for shard in shards:
            if shard.columns != columns:
                raise ValueError(
                    f"{name}: {shard.url} has {shard.columns} columns, {shards[0].url} has {columns}"
                )
        shards = in_order(shards, name, names)
        names = next((shard.names for shard in shards if shard.names), ())
    else:
        array, own = matrix(source, name), column_names(source)
        check_same_names(np.array(names, dtype=object) if names else None, own)
        names = names if own is None else tuple(own)
        (rows, columns), shards = array.shape, [None]
    if block_rows is None:
        # Two blocks a worker at least, so that none waits long for the last.
        block_rows = min(ROWS, -(-rows // (2 * workers)))
    block_rows, blocks, first = count(block_rows, "block_rows"), [], 0
    for shard in shards:
        inside = rows if shard is None else shard.rows
        for start in range(0, inside, block_rows):
            own = min(block_rows, inside - start)
            blocks.append(Block(first, own, shard, start))
            first += own
    return Collection(blocks, rows, columns, array, names)


def read_unit(block: Block, array: Optional[np.ndarray] = None) -> np.ndarray:
    """The rows of a block, each of length 1; rows of zeros stay zeros."""
    stop = block.start + block.rows
    if array is not None:
        rows = array[block.start : stop]
    else:
        rows = read(block.shard, block.start, stop)
    return unit(rows)


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1, to the bits of the graph of one machine: squares are added column by column."""
    squares = np.zeros(len(rows))
    for column in rows.T:
        squares += column.astype(np.float64) ** 2
    lengths = np.sqrt(squares)
    lengths[lengths == 0] = 1
    return (rows / lengths[:, None]).astype(np.float32)


def _read_checked(block: Block) -> tuple[np.ndarray, int]:
    """The rows, and that they are there."""
    return read_unit(block), block.rows
