"""Nearest neighbours of all items, by tiles."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import numpy as np

from .._work import count, number
from . import files
from .blocks import Collection, collection
from .cells import Cells, cells, sweep_cells
from .crew import Crew, ray
from .tile import Lists, join, nearest

# Tiles of one task: what is lost with a worker.
TILES = 16
# Lists that are joined at a time.
JOINED = 8


def neighbors(
    X: Any,
    k: int,
    *,
    approx: bool = False,
    recall: float = 0.95,
    out: Any = None,
    block_rows: Optional[int] = None,
    workers: Optional[int] = None,
    threads: int = 1,
    max_retries: int = 3,
) -> Union[tuple[np.ndarray, np.ndarray], list[str]]:
    """The `k` nearest neighbours of every item by cosine: all are compared with all, or those that are likely near.

    Exact lists are those of `likewise.KNeighborsGraph` with ``standardize=False``, ties by the smaller index, however the
    rows are cut. A processor compares some 4 10^10 / d pairs a second, so that 10 million items of 128 columns take some four
    days of one; with ``approx=True`` an item is compared with those of the cells that are nearest to it.

    **Not** for what fits into one machine: there ``KNeighborsGraph(approx=True)`` takes 10 million items.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or paths
        Rows, or shards: a file, a folder, a pattern or a list of ``.npy`` and ``.parquet`` files, as paths or fsspec
        URLs. A parquet file has a column of vectors, or its columns of numbers are the features (but for ``id``,
        ``label`` and ``split``). Items are numbered through all shards.
    k : int
        Neighbours of an item, below n_samples.
    approx : bool, default=False
        Compare an item with those of some cells alone.
    recall : float, default=0.95
        With `approx`: share of the true neighbours, measured on some items, that the cells which are asked must hold.
    out : path or URL, or None
        Folder that the lists are written into, a file a block; one that is there is not made again. None: they come
        back as arrays.
    block_rows : int or None
        Rows of a block; None: 65,536, or fewer so that there are two blocks a worker. The result does not depend on it,
        but with `approx` where neighbours are equally near.
    workers : int or None
        Tasks at a time; None: as many as the cluster has processors for.
    threads : int, default=1
        Threads of a task. Several share one copy of their blocks, so that less memory is needed.
    max_retries : int, default=3
        How often a task is done again whose worker died.

    Returns
    -------
    ids : ndarray of shape (n_samples, k), int64
        Row numbers of the neighbours, nearest first.
    similarities : ndarray of shape (n_samples, k), float32
    paths : list of str
        With `out`, in place of both: files ``neighbors-000000.npz`` of `ids`, `similarities` and the number `first` of
        their first item.

    Notes
    -----
    Cost: 2 n^2 d operations. The rows go into Ray's store once, 4 n d bytes over the cluster. A worker holds two blocks
    in the store of its machine, which its neighbours there share, and of its own one more (4 b d bytes, b the
    `block_rows`), lists of 40 b (k + 8) bytes, 96 MiB, and 32 MiB a thread: some 310 MiB with b = 65,536, d = 128 and
    k = 50. Where there are more than 16 blocks eight lists are joined at a time, in 260 b (k + 8) bytes: 1 GiB. Of parquet
    files a row group is read as a whole. Each block is moved to each machine once for every 16 tiles of a row of tiles at most. With `approx`
    there are 4 sqrt(n) cells, and a worker holds the numbers of those that its rows ask, 20 bytes each, and 64 MiB; the
    driver and one worker 160 sqrt(n) rows, of which the centres are found. Lists are then shorter where cells are nearly
    empty: -inf, with the largest int64 as the number.

    Examples
    --------
    >>> import likewise.ray
    >>> ids, similarities = likewise.ray.neighbors([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], k=1)
    >>> ids.ravel()
    array([1, 0, 1])
    """
    share = wanted(approx, recall)
    crew = Crew(workers, threads, max_retries)
    folder = None if out is None else files.address(out, "out")
    if folder is not None and block_rows is None:
        block_rows = files.cut(folder)
    rows = collection(X, "X", block_rows, crew.workers)
    k = count(k, "k")
    if k >= rows.rows:
        raise ValueError(f"k = {k}: must be below the number of items, n = {rows.rows}")
    if folder is not None:
        return write_lists(crew, rows, k, share, folder)
    lists = make_lists(crew, rows, k, share, None, range(len(rows.blocks)))
    found = [crew.get(one) for one in lists]
    return np.concatenate([one.ids for one in found]), np.concatenate(
        [one.similarities for one in found]
    )


def wanted(approx: Any, recall: Any) -> Optional[float]:
    """The share of the true neighbours that is wanted; None: all of them."""
    if not isinstance(approx, (bool, np.bool_)):
        raise TypeError(f"approx = {approx!r}: must be True or False")
    if not 0 < number(recall, "recall") <= 1:
        raise ValueError(f"recall = {recall}: must be above 0 and at most 1")
    return float(recall) if approx else None


def write_lists(
    crew: Crew, rows: Collection, k: int, recall: Optional[float], folder: str
) -> list[str]:
    """The lists of each block in a file of its own; what is there is not made again."""
    approximate = {} if recall is None else {"recall": recall}
    paths = [files.join(folder, f"neighbors-{b:06}.npz") for b in range(len(rows.blocks))]
    files.claim(folder, {"k": k, **approximate, **rows.plan()}, paths)
    missing = [b for b, path in enumerate(paths) if not files.exists(path)]
    if missing:
        make_lists(crew, rows, k, recall, paths, missing)
        files.check_there(paths)
    return paths


def make_lists(
    crew: Crew,
    rows: Collection,
    k: int,
    recall: Optional[float],
    paths: Optional[list[str]],
    blocks: Any,
) -> list[Any]:
    """The lists of these blocks, in Ray's store; with `paths` in their files. Where a `recall` is wanted, by cells."""
    refs = rows.unit_rows(crew)
    firsts = [block.first for block in rows.blocks]
    dealt = None if recall is None else cells(crew, rows, refs, k, recall)
    columns: list[Any] = list(zip(firsts, refs) if dealt is None else zip(firsts, refs, dealt.own))
    task = _task(crew, k, dealt)
    # So many parts of a row of tiles that all workers have some.
    parts = max(-(-len(columns) // TILES), -(-crew.workers // max(1, len(blocks))))
    parts = min(parts, len(columns))
    step = -(-len(columns) // parts)
    results = {}

    def submit(b: int) -> Any:
        lists = [
            task(refs[b], firsts[b], columns[at : at + step])
            for at in range(0, len(columns), step)
        ]
        while len(lists) > JOINED:
            lists = [
                crew.submit(join, k, *lists[at : at + JOINED])
                for at in range(0, len(lists), JOINED)
            ]
        path = paths[b] if paths else None
        results[b], done = crew.submit(finish, k, rows.blocks[b].first, path, *lists, returns=2)
        return done

    # Two rows of tiles more than keep all workers busy: while the last tasks of a row are done, the next one has begun.
    for _ in crew.each(submit, blocks, crew.workers // parts + 2):
        pass
    return [results[b] for b in blocks]


def _task(crew: Crew, k: int, dealt: Optional[Cells]) -> Callable[[Any, int, list[Any]], Any]:
    """What begins a block of rows against several blocks of columns."""
    if dealt is None:
        return lambda rows, first, columns: crew.submit(sweep, rows, first, columns, k, crew.threads)
    centres = crew.put(dealt.centres)
    return lambda rows, first, columns: crew.submit(
        sweep_cells, rows, first, columns, k, centres, dealt.asked
    )


def sweep(
    queries: np.ndarray, first: int, columns: list[tuple[int, Any]], k: int, threads: int
) -> Lists:
    """A block of rows against several blocks of columns, one in memory at a time."""
    best = None
    for first_item, ref in columns:
        items = ray().get(ref)
        floor = None if best is None else best.similarities[:, -1]
        found = nearest(queries, items, k, first, first_item, threads, floor)
        best = found if best is None else join(k, best, found)
        del items
    return best


def finish(k: int, first: int, path: Optional[str], *lists: Lists) -> tuple[Optional[Lists], int]:
    """The lists of a row of tiles; in the file, if there is one."""
    best = join(k, *lists)
    if path is None:
        return best, first
    files.write_arrays(
        path, ids=best.ids, similarities=best.similarities, first=np.int64(first)
    )
    return None, first


def read_lists(path: str) -> Lists:
    """The lists of a file."""
    arrays = files.read_arrays(path)
    return Lists(arrays["ids"], arrays["similarities"])
