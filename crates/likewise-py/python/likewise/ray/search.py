"""Search of shards."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .._work import count
from .blocks import Block, collection, read_unit
from .crew import Crew
from .neighbors import JOINED
from .tile import Lists, join, nearest

# Queries of one task.
QUERIES = 16_384


def search(
    shards: Any,
    queries: Any,
    k: int = 10,
    *,
    block_rows: Optional[int] = None,
    workers: Optional[int] = None,
    threads: int = 1,
    max_retries: int = 3,
) -> tuple[np.ndarray, np.ndarray]:
    """The `k` rows of shards nearest to each query by cosine: a task searches each block, and answers are joined.

    **Not** for an answer in milliseconds: every call reads all shards. Serve from a store for that (``likewise
    export``).

    Parameters
    ----------
    shards : paths, or array-like of shape (n_samples, n_features)
        What is searched, as of `neighbors`, numbered through all shards.
    queries : array-like of shape (n_queries, n_features), or paths
    k : int, default=10
    block_rows, workers, threads, max_retries
        As of `neighbors`.

    Returns
    -------
    ids : ndarray of shape (n_queries, min(k, n_samples)), int64
        Row numbers, best first, ties by the smaller one.
    similarities : ndarray of the same shape, float32

    Notes
    -----
    Cost: 2 n d operations a query, and all shards are read once for every 16,384 queries. A worker holds a block twice
    (8 b d bytes, b the `block_rows`), and of 16,384 queries at a time the rows and lists of 40 (k + 8) bytes.

    Examples
    --------
    >>> import likewise.ray
    >>> ids, similarities = likewise.ray.search([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [[2.0, 0.1]], k=2)
    >>> ids
    array([[0, 2]])
    """
    crew = Crew(workers, threads, max_retries)
    items = collection(shards, "shards", block_rows, crew.workers)
    asked = collection(queries, "queries", QUERIES, crew.workers, items.names)
    k = min(count(k, "k"), items.rows)
    if asked.columns != items.columns:
        raise ValueError(
            f"queries have {asked.columns} columns, the shards {items.columns}; use the same model for both"
        )
    found = []
    for block in asked.blocks:
        wanted = crew.put(read_unit(block, asked.array))
        best: Optional[Lists] = None
        pending: list[Any] = []

        def submit(of: Block) -> Any:
            rows = None if items.array is None else items.array[of.start : of.start + of.rows]
            return crew.submit(search_block, of, rows, wanted, k, crew.threads)

        for _, lists in crew.each(submit, items.blocks):
            pending.append(lists)
            if len(pending) == JOINED:
                best, pending = join(k, *pending, *([best] if best else [])), []
        found.append(join(k, *pending, *([best] if best else [])))
    return np.concatenate([one.ids for one in found]), np.concatenate(
        [one.similarities for one in found]
    )


def search_block(
    block: Block, rows: Optional[np.ndarray], queries: np.ndarray, k: int, threads: int
) -> Lists:
    """The nearest of one block."""
    whole = block if rows is None else block._replace(start=0)
    items = read_unit(whole, rows)
    return nearest(queries, items, k, None, block.first, threads)
