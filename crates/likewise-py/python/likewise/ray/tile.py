r"""A tile: a block of rows against a block of columns, and how the lists of tiles are joined.

The k nearest of a row by cosine, ties by the smaller index. A matrix product proposes candidates, a few more than k;
its last bits depend on the shape of the tile, so the cosines of the candidates are computed again, in float32 along the
columns with one rounding a step, as the graph of one machine has them. Of rows of length 1 either is within d 2^-24 of
the cosine, and rounded rows add a little, so that they are within

    w / 2 = (2 d + 8) 2^-24

of each other, and a list is complete where the worst candidate is below the k-th best by w; else (many equal rows) four
times as many are proposed, until it is. So the list of a row does not depend on the tiles. Lists are ordered by cosine
descending, then index ascending, and the best k of several lists of different columns are the same in whatever order
they are joined: joining is associative.

Cost of r rows x c columns x d: 2 r c d operations, and r (k + 8) d for the second cosines. Memory: the columns once
more (4 c d bytes), 32 MiB a thread, 20 r (k + 8) bytes of lists, and 64 MiB.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy as np

from .. import _likewise
from .._work import how

# Candidates beyond the k nearest.
SPARE = 8
# Values that are gathered at a time for the second cosines.
GATHERED = 1 << 22
# Candidates that are proposed at a time where a row needs many.
CROWD = 1 << 22
# Stands for no item; every item is before it.
NONE = np.iinfo(np.int64).max


class Lists(NamedTuple):
    """The nearest of each row, best first; `NONE` with minus infinity where there are fewer."""

    # Global row numbers, rows x k, int64.
    ids: np.ndarray
    # Cosines, rows x k, float32.
    similarities: np.ndarray


def nearest(
    queries: np.ndarray,
    items: np.ndarray,
    k: int,
    first_query: Optional[int],
    first_item: int,
    threads: int = 1,
    floor: Optional[np.ndarray] = None,
) -> Lists:
    """The `k` nearest of `items` for each row of `queries`, both of length 1.

    `first_query` and `first_item` are the global numbers of the first rows; an item is not its own neighbour, and with
    None queries are no items. Items below the `floor` of a row (rows,) may be left out: it has `k` better ones.
    """
    index = _likewise.Index.build(items, "flat", "cosine", 0, how(threads))
    best = Lists(
        np.full((len(queries), k), NONE), np.full((len(queries), k), -np.inf, np.float32)
    )
    if floor is None:
        floor = np.full(len(queries), -np.inf, np.float32)
    pending, proposed = np.arange(len(queries)), min(len(items), k + 1 + SPARE)
    while len(pending):
        crowded = []
        for part in np.array_split(pending, -(-len(pending) * proposed // CROWD)):
            own = None if first_query is None else first_query + part - first_item
            found, complete = _candidates(
                index, queries[part], items, k, proposed, own, floor[part], threads
            )
            known = found.ids != NONE
            best.ids[part] = np.where(known, found.ids + first_item, NONE)
            best.similarities[part] = found.similarities
            crowded.append(part[~complete])
        pending, proposed = np.concatenate(crowded), min(len(items), 4 * proposed)
    return best


def join(k: int, *lists: Lists) -> Lists:
    """The best `k` of lists of the same rows and different columns."""
    ids = np.concatenate([one.ids for one in lists], axis=1)
    similarities = np.concatenate([one.similarities for one in lists], axis=1)
    return best_of(k, ids, similarities)


def _candidates(
    index: _likewise.Index,
    queries: np.ndarray,
    items: np.ndarray,
    k: int,
    proposed: int,
    own: Optional[np.ndarray],
    floor: np.ndarray,
    threads: int,
) -> tuple[Lists, np.ndarray]:
    """The best of so many proposed items, and for which rows no other can be among them."""
    width = (queries.shape[1] + 4) * 2.0**-22
    ids, rough = index.search(np.ascontiguousarray(queries), proposed, how(threads))
    last = rough[:, -1]
    wanted = rough >= floor[:, None] - width
    if own is not None:
        wanted &= ids != own[:, None]
    row, place = np.nonzero(wanted)
    exact = np.full(ids.shape, -np.inf, np.float32)
    exact[row, place] = cosines(queries, items, row, ids[row, place])
    best = best_of(k, np.where(wanted, ids, NONE), exact)
    bar = np.maximum(floor, best.similarities[:, -1])
    return best, (last < bar - width) | (proposed == len(items))


def cosines(
    queries: np.ndarray, items: np.ndarray, query: np.ndarray, item: np.ndarray
) -> np.ndarray:
    """Cosines of pairs of rows of length 1, column after column with one rounding each.

    A product of two float32 is exact in float64. The sum is rounded there before it is rounded to float32: it differs
    from one rounding in one of some hundred million steps, and always in the same way.
    """
    out = np.empty(len(query), np.float32)
    step = max(1, GATHERED // queries.shape[1])
    for start in range(0, len(query), step):
        pairs = slice(start, start + step)
        a = np.ascontiguousarray(queries[query[pairs]].T)
        b = np.ascontiguousarray(items[item[pairs]].T)
        total = np.zeros(a.shape[1], np.float32)
        for x, y in zip(a, b):
            total = (np.multiply(x, y, dtype=np.float64) + total).astype(np.float32)
        out[pairs] = total
    return out


def best_of(k: int, ids: np.ndarray, similarities: np.ndarray) -> Lists:
    """The best `k` of each row, by cosine descending, then index ascending."""
    order = np.lexsort((ids, -similarities), axis=-1)[:, :k]
    best = Lists(
        np.take_along_axis(ids, order, axis=1), np.take_along_axis(similarities, order, axis=1)
    )
    short = k - order.shape[1]
    if short <= 0:
        return best
    return Lists(
        np.pad(best.ids, ((0, 0), (0, short)), constant_values=NONE),
        np.pad(best.similarities, ((0, 0), (0, short)), constant_values=-np.inf),
    )
