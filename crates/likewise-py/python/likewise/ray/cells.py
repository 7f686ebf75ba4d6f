"""Cells: which items are compared at all, where comparing all with all is too much.

The rows are dealt into the cells of some centres, and an item is compared with the items of those cells that are nearest
to it (an inverted file, Sivic and Zisserman 2003; centres by spherical k-means of a sample). How many cells are asked is
found, not set: the true neighbours of a sample of items are sought among all rows, and as many cells are asked as hold
the wanted share of these.

Cost of n rows and c cells: 2 n c d operations for the cells of all rows, 2 s n d for the true neighbours of the s sampled
items, then 2 n^2 d p / c with p cells asked: a small share of n^2 where rows lie in clusters, most of it where they have no
structure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .blocks import Collection
from .crew import Crew, ray
from .tile import NONE, Lists, best_of, join, nearest

# Rows for each centre that k-means sees, and its rounds.
SEEN = 40
ROUNDS = 8
# Items whose true neighbours are sought.
SAMPLED = 400
# Values of a product that are held at a time, with the order of each: 64 MiB.
HELD = 1 << 22


class Cells(NamedTuple):
    """The cells of all rows, by blocks."""

    # Centres, cells x columns, of length 1.
    centres: np.ndarray
    # How many cells are asked.
    asked: int
    # Share of the true neighbours of the sample that these hold.
    recall: float
    # In Ray's store: the cell of each row, by block.
    own: list[Any]


def cells(crew: Crew, rows: Collection, refs: list[Any], k: int, recall: float) -> Cells:
    """Finds centres, deals the rows, and finds how many cells hold the share `recall` of the true neighbours."""
    rng = np.random.default_rng(0)
    n = rows.rows
    count = min(n, max(1, round(4 * np.sqrt(n))))
    seen = _rows_of(crew, rows, refs, rng.choice(n, min(n, SEEN * count), replace=False))
    centres = crew.get(crew.submit(_centres, seen, count))
    held = crew.put(centres)
    own: list[Any] = [None] * len(refs)

    def deal(b: int) -> Any:
        own[b], done = crew.submit(_dealt, refs[b], held, returns=2)
        return done

    for _ in crew.each(deal, range(len(refs))):
        pass
    asking = np.sort(rng.choice(n, min(n, SAMPLED), replace=False))
    queries = _rows_of(crew, rows, refs, asking)
    sent = crew.put(queries)
    found = {}

    def seek(b: int) -> Any:
        found[b], done = crew.submit(
            _true, sent, asking, refs[b], own[b], rows.blocks[b].first, k, crew.threads, returns=2
        )
        return done

    for _ in crew.each(seek, range(len(refs))):
        pass
    parts = [crew.get(found[b]) for b in range(len(refs))]
    best = join(k, *(lists for lists, _ in parts))
    cell_of = {int(item): int(cell) for _, cell in parts for item, cell in cell}
    there = best.ids != NONE
    place = np.argsort(np.argsort(-(queries @ centres.T), axis=1, kind="stable"), axis=1)
    query, _ = np.nonzero(there)
    ranks = place[query, [cell_of[int(item)] for item in best.ids[there]]]
    # The k-th smallest rank that the wanted share of all neighbours has.
    needed = int(np.ceil(recall * len(ranks))) - 1
    asked = int(np.partition(ranks, needed)[needed]) + 1 if len(ranks) else 1
    return Cells(centres, asked, float((ranks < asked).mean()) if len(ranks) else 1.0, own)


def sweep_cells(
    queries: np.ndarray,
    first: int,
    columns: list[tuple[int, Any, Any]],
    k: int,
    centres: np.ndarray,
    asked: int,
) -> Lists:
    """A block of rows against the cells that each asks of several blocks of columns, one block in memory at a time."""
    rows = len(queries)
    best = Lists(np.full((rows, k), NONE), np.full((rows, k), -np.inf, np.float32))
    # Pairs of a query and a cell, by cells.
    nearest_cells = _nearest_cells(queries, centres, asked)
    cell = nearest_cells.ravel()
    order = np.argsort(cell, kind="stable")
    query = (order // asked).astype(np.int64)
    ends = np.searchsorted(cell[order], np.arange(len(centres) + 1))
    for first_item, ref, cells_ref in columns:
        items, own = ray().get([ref, cells_ref])
        members = np.argsort(own, kind="stable")
        limits = np.searchsorted(own[members], np.arange(len(centres) + 1))
        for c in np.flatnonzero(np.diff(limits)):
            who = query[ends[c] : ends[c + 1]]
            if not len(who):
                continue
            inside = members[limits[c] : limits[c + 1]]
            place, similarities = _near(queries[who], items[inside], k + 1)
            ids = first_item + inside[place]
            alone = ids != (first + who)[:, None]
            found = Lists(np.where(alone, ids, NONE), np.where(alone, similarities, np.float32(-np.inf)))
            joined = join(k, Lists(best.ids[who], best.similarities[who]), found)
            best.ids[who], best.similarities[who] = joined
        del items
    return best


def _near(queries: np.ndarray, items: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The `k` items with the largest products, in no order, and these to the last bit but one.

    Cells are small and many: an index of each would take longer to make than to ask.
    """
    if k < len(items):
        place = np.empty((len(queries), k), np.intp)
        for part in _parts(len(queries), len(items)):
            rough = queries[part] @ items.T
            place[part] = np.argpartition(-rough, k - 1, axis=1)[:, :k]
    else:
        place = np.broadcast_to(np.arange(len(items)), (len(queries), len(items)))
    exact = np.empty(place.shape, np.float32)
    for part in _parts(len(queries), place.shape[1] * queries.shape[1]):
        exact[part] = np.einsum("qd,qkd->qk", queries[part], items[place[part]], dtype=np.float64)
    return place, exact


def _rows_of(crew: Crew, rows: Collection, refs: list[Any], chosen: np.ndarray) -> np.ndarray:
    """These rows, in the order of their numbers."""
    chosen = np.sort(chosen)
    parts = []
    for block, ref in zip(rows.blocks, refs):
        inside = chosen[(chosen >= block.first) & (chosen < block.first + block.rows)]
        if len(inside):
            parts.append(crew.submit(_taken, ref, inside - block.first))
    return np.concatenate([crew.get(part) for part in parts])


def _taken(rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return rows[chosen]


def _centres(rows: np.ndarray, count: int) -> np.ndarray:
    """Spherical k-means; a centre without rows takes the row that is farthest from its own."""
    centres = rows[np.random.default_rng(0).choice(len(rows), count, replace=False)]
    for _ in range(ROUNDS):
        own, cosine = np.empty(len(rows), np.int64), np.empty(len(rows), np.float32)
        for part in _parts(len(rows), count):
            product = rows[part] @ centres.T
            own[part] = product.argmax(axis=1)
            cosine[part] = product[np.arange(product.shape[0]), own[part]]
        sums = np.zeros((count, rows.shape[1]), np.float64)
        np.add.at(sums, own, rows)
        empty = np.flatnonzero(np.bincount(own, minlength=count) == 0)
        sums[empty] = rows[np.argsort(cosine, kind="stable")[: len(empty)]]
        lengths = np.sqrt((sums**2).sum(axis=1, keepdims=True))
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres).astype(np.float32)
    return centres


def _dealt(rows: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, int]:
    """The cell of each row, and that they are there."""
    return _nearest_cells(rows, centres, 1)[:, 0], len(rows)


def _nearest_cells(rows: np.ndarray, centres: np.ndarray, count: int) -> np.ndarray:
    """The nearest cells of each row (rows x count), in no order."""
    found = np.empty((len(rows), count), np.int32)
    for part in _parts(len(rows), len(centres)):
        product = rows[part] @ centres.T
        if count == 1:
            found[part, 0] = product.argmax(axis=1)
        elif count < len(centres):
            found[part] = np.argpartition(-product, count - 1, axis=1)[:, :count]
        else:
            found[part] = np.arange(count)
    return found


def _parts(rows: int, columns: int) -> list[slice]:
    step = max(1, HELD // max(1, columns))
    return [slice(start, start + step) for start in range(0, rows, step)]


def _true(
    queries: np.ndarray,
    numbers: np.ndarray,
    items: np.ndarray,
    own: np.ndarray,
    first: int,
    k: int,
    threads: int,
) -> tuple[tuple[Lists, np.ndarray], int]:
    """The nearest items of a block to some items (of global `numbers`), and the cells of those that were found."""
    near = nearest(queries, items, k + 1, None, first, threads)
    alone = near.ids != numbers[:, None]
    ids = np.where(alone, near.ids, NONE)
    best = best_of(k, ids, np.where(alone, near.similarities, -np.inf).astype(np.float32))
    found = np.unique(best.ids[best.ids != NONE])
    return (best, np.stack([found, own[found - first]], axis=1)), len(found)
