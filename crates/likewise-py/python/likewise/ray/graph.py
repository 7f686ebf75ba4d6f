"""The symmetric affinity graph of nearest neighbours, by row blocks."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

import numpy as np

from .._work import count, number
from ..graph import Symmetrize
from . import files
from .blocks import collection
from .crew import Crew
from .neighbors import make_lists, read_lists, wanted, write_lists
from .tile import NONE, Lists

RULES = ("sum", "mutual", "max", "mean")


class Rule(NamedTuple):
    """What an arc weighs, and what becomes of the two arcs of a pair."""

    gamma: float
    symmetrize: Union[str, float]


class Arcs(NamedTuple):
    """Arcs into the items of one block."""

    # Item of the block.
    to: np.ndarray
    # Global number of the item that lists it.
    source: np.ndarray
    affinity: np.ndarray


def graph(
    X: Any,
    n_neighbors: int = 20,
    *,
    gamma: float = 3.0,
    symmetrize: Symmetrize = 0.1,
    approx: bool = False,
    recall: float = 0.95,
    out: Any = None,
    block_rows: Optional[int] = None,
    workers: Optional[int] = None,
    threads: int = 1,
    max_retries: int = 3,
) -> Any:
    """The affinity graph of `likewise.KNeighborsGraph` with ``standardize=False``, in row blocks.

    Columns stay as they come: bring those of different units to one scale before.

    An item that lists another weighs ``max(cos, 0) ** gamma``; the two arcs of a pair are joined where their rows lie.

    **Not** where `neighbors` is too slow, and not for a graph that fits into one machine's memory and time.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or paths
        As of `neighbors`.
    n_neighbors : int, default=20
        Neighbours of an item.
    gamma : float, default=3.0
        Exponent of the cosine.
    symmetrize : {"sum", "mutual", "max", "mean"} or float, default=0.1
        What becomes of pairs of which one lists the other, as of `likewise.KNeighborsGraph`.
    approx : bool, default=False
    recall : float, default=0.95
        As of `neighbors`.
    out : path or URL, or None
        Folder of the row blocks, and in ``neighbors/`` of the lists that they are made of, which may be removed later.
        What is there is not made again. None: the graph comes back.
    block_rows, workers, threads, max_retries
        As of `neighbors`.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_samples, n_samples), float32
    paths : list of str
        With `out`, in place of it: files ``graph-000000.npz`` that ``scipy.sparse.load_npz`` reads, each some rows
        of all columns.

    Notes
    -----
    Cost: that of `neighbors`, then one exchange of 16 n k bytes over the network. Memory of a worker: that of
    `neighbors`, then 80 bytes an arc into or out of its block, of which there are 2 k b (b the `block_rows`) in the
    mean, and more where its items are in the lists of many. Blocks exchange B^2 messages (B the number of blocks):
    above some 100 blocks take larger ones.

    Examples
    --------
    >>> import likewise.ray
    >>> graph = likewise.ray.graph([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], n_neighbors=1)
    >>> graph.toarray().round(4)
    array([[0.    , 1.024 , 0.    ],
           [1.024 , 0.    , 0.0216],
           [0.    , 0.0216, 0.    ]], dtype=float32)
    """
    rule, share = _rule(gamma, symmetrize), wanted(approx, recall)
    crew = Crew(workers, threads, max_retries)
    folder = None if out is None else files.address(out, "out")
    if folder is not None and block_rows is None:
        block_rows = files.cut(folder)
    rows = collection(X, "X", block_rows, crew.workers)
    k = count(n_neighbors, "n_neighbors")
    if k >= rows.rows:
        raise ValueError(f"n_neighbors = {k}: must be below the number of items, n = {rows.rows}")
    numbers = range(len(rows.blocks))
    paths = None
    if folder is None:
        lists = make_lists(crew, rows, k, share, None, numbers)
    else:
        approximate = {} if share is None else {"recall": share}
        paths = [files.join(folder, f"graph-{b:06}.npz") for b in numbers]
        files.claim(folder, {**rule._asdict(), "n_neighbors": k, **approximate, **rows.plan()}, paths)
        if all(map(files.exists, paths)):
            return paths
        lists = write_lists(crew, rows, k, share, files.join(folder, "neighbors"))
    bounds = np.array([block.first for block in rows.blocks] + [rows.rows])
    arcs: dict[int, list[Any]] = {}

    def send(b: int) -> Any:
        sent = crew.submit(outgoing, lists[b], b, bounds, rule, returns=len(numbers) + 1)
        arcs[b] = sent[:-1]
        return sent[-1]

    for _ in crew.each(send, numbers):
        pass
    blocks = {}

    def receive(b: int) -> Any:
        into = [arcs[other][b] for other in numbers]
        path = paths[b] if paths else None
        blocks[b], done = crew.submit(block, lists[b], b, bounds, rule, path, *into, returns=2)
        return done

    missing = (b for b in numbers if not (paths and files.exists(paths[b])))
    for _ in crew.each(receive, missing):
        pass
    if paths:
        return paths
    from scipy.sparse import vstack

    return vstack([crew.get(blocks[b]) for b in numbers], format="csr")


def _rule(gamma: Any, symmetrize: Any) -> Rule:
    if not 0 < number(gamma, "gamma") < np.inf:
        raise ValueError(f"gamma = {gamma}: must be finite and above 0")
    if isinstance(symmetrize, str):
        if symmetrize not in RULES:
            raise ValueError(f"symmetrize = {symmetrize!r}: must be one of {RULES} or a share of 0 to 1")
        return Rule(float(gamma), symmetrize)
    if not 0 <= number(symmetrize, "symmetrize") <= 1:
        raise ValueError(f"symmetrize = {symmetrize}: must be from 0 to 1")
    return Rule(float(gamma), float(symmetrize))


def outgoing(
    lists: Union[Lists, str], own: int, bounds: np.ndarray, rule: Rule
) -> tuple[Any, ...]:
    """The arcs out of block `own`, by the blocks that they lead to, and its number."""
    source, to, affinity = _arcs(lists, bounds[own], rule)
    block_of = np.searchsorted(bounds, to, side="right") - 1
    order = np.argsort(block_of, kind="stable")
    ends = np.searchsorted(block_of[order], np.arange(len(bounds)))
    cut = [order[a:b] for a, b in zip(ends[:-1], ends[1:])]
    arcs = (
        Arcs((to[part] - bounds[b]).astype(np.uint32), source[part], affinity[part])
        for b, part in enumerate(cut)
    )
    return (*arcs, own)


def block(
    lists: Union[Lists, str],
    own: int,
    bounds: np.ndarray,
    rule: Rule,
    path: Optional[str],
    *into: Arcs,
) -> tuple[Any, int]:
    """The rows of block `own`; in the file, if there is one."""
    from scipy.sparse import csr_matrix, save_npz

    first, rows, n = bounds[own], bounds[own + 1] - bounds[own], int(bounds[-1])
    source, to, affinity = _arcs(lists, first, rule)
    row = np.concatenate([source - first, *(arcs.to for arcs in into)]).astype(np.int64)
    column = np.concatenate([to, *(arcs.source for arcs in into)])
    weight = np.concatenate([affinity, *(arcs.affinity for arcs in into)])
    order = np.lexsort((column, row))
    row, column, weight = _joined(row[order], column[order], weight[order], rule.symmetrize)
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    index = np.int32 if max(n, len(column)) < 2**31 else np.int64
    shape = (int(rows), n)
    made = csr_matrix((weight, column.astype(index), ends.astype(index)), shape=shape)
    made.has_sorted_indices = made.has_canonical_format = True
    if path is None:
        return made, own
    files.write(path, lambda file: save_npz(file, made, compressed=False))
    return None, own


def _arcs(
    lists: Union[Lists, str], first: int, rule: Rule
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who lists whom, by global numbers, and the affinity; those of affinity 0 are none."""
    ids, similarities = read_lists(lists) if isinstance(lists, str) else lists
    row, place = np.nonzero(similarities > 0)
    affinity = affinities(similarities[row, place], rule.gamma)
    there = (affinity > 0) & (ids[row, place] != NONE)
    return first + row[there], ids[row, place][there], affinity[there]


def affinities(cosine: np.ndarray, gamma: float) -> np.ndarray:
    """``cosine ** gamma`` (float32); of a whole gamma by repeated squares, as one machine has it."""
    base = cosine.astype(np.float64)
    if gamma != int(gamma) or gamma > 16:
        return (base**gamma).astype(np.float32)
    power, rest = np.ones_like(base), int(gamma)
    while rest:
        if rest & 1:
            power = power * base
        base, rest = base * base, rest >> 1
    return power.astype(np.float32)


def _joined(
    row: np.ndarray, column: np.ndarray, weight: np.ndarray, rule: Union[str, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One entry a pair of the one or two arcs that stand side by side."""
    if not len(row):
        return row, column, weight
    same = (row[1:] == row[:-1]) & (column[1:] == column[:-1])
    twice, again = np.append(same, False), np.append(False, same)
    other = np.where(twice, np.roll(weight, -1), np.float32(0))
    if rule == "max":
        joined = np.maximum(weight, other)
    elif rule == "mean":
        joined = (weight + other) / np.float32(2)
    elif isinstance(rule, str):
        joined = weight + other
        if rule == "mutual":
            joined[~twice] = 0
    else:
        lone = (rule * weight.astype(np.float64)).astype(np.float32)
        joined = np.where(twice, weight + other, lone)
    kept = ~again & (joined > 0)
    return row[kept], column[kept], joined[kept]
