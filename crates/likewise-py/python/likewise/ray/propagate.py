"""Propagation of labels over a graph in row blocks."""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import Any, NamedTuple, Optional

import numpy as np

from .._arrays import csr
from .._labels import encode
from .._likewise import parameters
from .._work import LikewiseWarning, count, number
from . import belief, conjugate, files
from .blocks import ROWS
from .component import components
from .conjugate import Solver, solve
from .crew import Crew
from .halo import Halo, halo_of
from .shards import is_address, listed
from .system import read_rows, system

METHODS = ("lgc", "mixed")
# Classes that are solved side by side; memory does not grow with their number.
WIDTH = 32


class Spread(NamedTuple):
    """What propagation found.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    transduction : ndarray of shape (n_samples,), or None
        Class of each item; where no label reaches, and of what is known to be of none: -1 of numbers, ``""`` of strings,
        None of objects.
    scores : ndarray of shape (n_samples, n_classes), float64, or None
    confidence : ndarray of shape (n_samples,), float32, or None
    paths : list of str, or None
        With `out`, in place of these: files ``beliefs-000000.npz`` of `scores`, `pseudo_label` (numbers of classes, -1
        where there is none), `confidence`, `labeled`, `classes` and the number `first` of their first item.
    n_iter : int
        Iterations, of the classes that needed most.
    residual : float
        Largest relative residual of a class.
    converged : bool
        Whether that is within the tolerance.
    """

    classes: np.ndarray
    transduction: Optional[np.ndarray]
    scores: Optional[np.ndarray]
    confidence: Optional[np.ndarray]
    paths: Optional[list[str]]
    n_iter: int
    residual: float
    converged: bool


class Graph(NamedTuple):
    """A graph in row blocks: of each its rows, or the file that holds them."""

    blocks: list[Any]
    bounds: np.ndarray
    # What tells it from another.
    origin: Any
    # Entries, or as many as its files can hold.
    entries: int


def propagate(
    graph: Any,
    y: Any,
    *,
    method: str = "lgc",
    alpha: float = 0.99,
    mass: Optional[str] = None,
    negatives: Any = None,
    beta: float = 0.3,
    tolerance: float = 1e-10,
    max_iterations: int = 1000,
    out: Any = None,
    checkpoint: Any = None,
    every: int = 20,
    block_rows: Optional[int] = None,
    workers: Optional[int] = None,
    threads: int = 1,
    max_retries: int = 3,
) -> Spread:
    """Spread a few labels over a graph in row blocks, as `likewise.LabelPropagation` does on one machine.

    Conjugate gradients in float64, a halo exchanged an iteration: of the rows of others a block receives only those
    that it touches.

    **Not** for a graph that fits into one machine. **Not** for items in random order on many machines: each block then
    touches nearly all items, and an iteration moves all scores to every block. Order items so that neighbours are near
    each other, such as by cluster, before the graph is made.

    Parameters
    ----------
    graph : paths, or scipy sparse matrix of shape (n_samples, n_samples)
        The folder or files that `likewise.ray.graph` wrote (their symmetry is not checked again), or a symmetric graph.
    y : array-like of shape (n_samples,)
        Numbers or words; -1, ``""``, None and NaN where nothing is known, -2 or ``"outside"`` for what is known to be
        of none of the classes.
    method : {"lgc", "mixed"}, default="lgc"
        ``"mixed"`` takes the `negatives` that are given; it does not look for them.
    alpha : float, default=0.99
        How far labels reach, above 0 and below 1: ``F = (1 - alpha) (I - alpha S)^-1 Y``. In the words of
        ``LabelPropagation``, ``mu = 1 / alpha - 1``.
    mass : {"none", "uniform", "labeled", "estimated"} or None
        Class-mass normalisation. None: as of `LabelPropagation`, ``"none"`` for ``"lgc"``, as printed, and
        ``"estimated"`` for ``"mixed"``. With ``"lgc"``, ``"uniform"`` is better where classes are about equally large.
    negatives : scipy sparse matrix of shape (n_samples, n_samples), or None
        Edges that are known to join unlike items, with weights from 0 to 2, for ``method="mixed"``; such as
        `LabelPropagation.negatives_`.
    beta : float, default=0.3
        Weight of the negative edges, at least 0.
    tolerance : float, default=1e-10
        Relative residual at which a class is done.
    max_iterations : int, default=1000
        Most iterations. Reaching it is a warning.
    out : path or URL, or None
        Folder that the beliefs are written into, a file a block. None: they come back as arrays.
    checkpoint : path or URL, or None
        Folder that the state is written into every `every` iterations; where it holds one of the same call, that is
        gone on from, with the same result to the bit. It may be removed once the call has returned.
    every : int, default=20
        Iterations between checkpoints, at which residuals are computed anew too.
    block_rows : int or None
        Rows of a block of a scipy graph, as of `neighbors`. Graphs in files are cut as these are.
    workers, threads, max_retries
        As of `neighbors`. Products with the graph use one thread.

    Returns
    -------
    Spread

    Notes
    -----
    Scores are those of one machine within 1e-6 of the largest at the default tolerance; which blocks there are moves
    them within that.

    Cost: tens of iterations with ``alpha=0.99``, more where parts of the graph hang together loosely, each 2 nnz C operations and four passes over the state. A
    worker holds of its block of b rows 16 bytes an entry of the graph, and per class (32 at a time) 130 bytes a row and
    24 bytes a row of the halo; for beliefs of all classes 50 b C bytes. The tasks of a block are given to one machine,
    as long as it lives and has room. Object stores that hold less than the graph (12 bytes an entry), the state (88 bytes a row and
    class) and what blocks send to others (8 bytes a row of the halo of each block and class) are a warning: an iteration then
    waits for the disk. Blocks exchange B^2 messages an iteration (B the
    number of blocks): more than 100 blocks are slow. The driver holds the labels, and without `out` all scores.

    Examples
    --------
    >>> import likewise, likewise.ray
    >>> graph = likewise.KNeighborsGraph(1).fit_transform([[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.9]])
    >>> likewise.ray.propagate(graph, ["left", "", "right", ""]).transduction
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """
    method, mass = _method(method, mass, negatives)
    mu = 1 / _share(alpha, "alpha") - 1
    factor = 0.0 if method == "lgc" else _weight(beta, "beta")
    solver = Solver(
        _share(tolerance, "tolerance"),
        count(max_iterations, "max_iterations"),
        count(every, "every"),
    )
    crew = Crew(workers, threads, max_retries)
    if checkpoint is not None:
        checkpoint = files.address(checkpoint, "checkpoint")
    if out is not None:
        out = files.address(out, "out")
    rows = _graph(crew, graph, block_rows, (checkpoint, out))
    n = int(rows.bounds[-1])
    labels = encode(y, n)
    if not len(labels.classes):
        raise ValueError("no item has a known label; label at least one item of each class")
    unlike = _negatives(negatives, n)
    plan = {
        "method": method,
        "alpha": float(alpha),
        "beta": factor,
        "tolerance": solver.tolerance,
        "graph": rows.origin,
        "block_rows": np.diff(rows.bounds).tolist(),
        "y": hashlib.sha256(labels.codes.tobytes()).hexdigest(),
        "negatives": None if unlike is None else _digest(unlike),
    }
    if checkpoint is not None:
        kept = [_group_folder(checkpoint, group) for group in _groups(len(labels.classes))]
        files.claim(checkpoint, {**plan, "every": solver.every}, kept)
    if out is not None:
        files.claim(out, {**plan, "mass": mass})

    classes = len(labels.classes)
    systems, halo = _systems(crew, rows, labels.codes, mu, unlike, factor)
    # The system, the state twice while it is renewed with the product, what blocks send to others, and the scores.
    wide = min(classes, WIDTH)
    crew.warn_of_store(12 * rows.entries + n * (88 * wide + 8 * classes) + 8 * wide * halo.rows)
    component = components(crew, systems, halo)
    known = belief.known(crew, systems, component, len(labels.classes))
    counts = known.counts.sum(axis=0)
    lengths = _lengths(crew, systems, len(labels.classes))
    found = [
        _group(crew, systems, halo, group, lengths, solver, checkpoint)
        for group in _groups(len(labels.classes))
    ]
    scores = [
        crew.submit(belief.scores_of, of, *parts)
        for of, *parts in zip(systems, *(group.x for group in found))
    ]
    shared = crew.put(known)
    scale = belief.scale(crew, systems, scores, component, shared, counts, mass)
    residual = float(max(group.residuals.max() for group in found))
    iterations = max(group.iterations for group in found)
    if residual > solver.tolerance:
        _warn(
            f"the solver stopped after {iterations} iterations at a relative residual of {residual:.1e}; "
            "raise max_iterations or tolerance"
        )
    beliefs: dict[int, Any] = {}

    def submit(b: int) -> Any:
        path = None if out is None else files.join(out, f"beliefs-{b:06}.npz")
        given = systems[b], scores[b], component[b], shared, scale, path, labels.names
        beliefs[b], reached = crew.submit(belief.believe, *given, returns=2)
        return reached

    blocks = range(len(systems))
    unreached = n - sum(reached for _, reached in crew.each(submit, blocks))
    if unreached:
        _warn(
            f"{unreached} of {n} items are in parts of the graph without any label and get no "
            "pseudo-label; raise n_neighbors or label one item there"
        )
    about = iterations, residual, residual <= solver.tolerance
    if out is not None:
        paths = [files.join(out, f"beliefs-{b:06}.npz") for b in blocks]
        files.check_there(paths)
        return Spread(labels.classes, None, None, None, paths, *about)
    arrays = zip(*(crew.get(beliefs[b]) for b in blocks))
    all_scores, codes, sure = (np.concatenate(parts) for parts in arrays)
    return Spread(labels.classes, labels.decoded(codes), all_scores, sure, None, *about)


def _method(method: Any, mass: Any, negatives: Any) -> tuple[str, str]:
    if method not in METHODS:
        raise ValueError(f"method = {method!r}: must be one of {METHODS}; others run on one machine")
    if method == "mixed" and negatives is None:
        raise ValueError(
            "method = 'mixed' needs negatives here: those of likewise.LabelPropagation on a part of the "
            "items, or method='lgc'"
        )
    if method == "lgc" and negatives is not None:
        raise ValueError("method = 'lgc' takes no negatives; leave them out, or take method='mixed'")
    if mass is None:
        mass = json.loads(parameters(method))["mass"]
    if mass not in belief.MASSES:
        raise ValueError(f"mass = {mass!r}: must be one of {belief.MASSES}")
    return method, mass


def _share(value: Any, name: str) -> float:
    if not 0 < number(value, name) < 1:
        raise ValueError(f"{name} = {value}: must be above 0 and below 1")
    return float(value)


def _weight(value: Any, name: str) -> float:
    if not 0 <= number(value, name) < np.inf:
        raise ValueError(f"{name} = {value}: must be finite and at least 0")
    return float(value)


def _graph(crew: Crew, graph: Any, block_rows: Optional[int], folders: tuple[Optional[str], ...]) -> Graph:
    """The graph in row blocks: of so many rows, as what lies in the folders is cut, or two blocks a worker."""
    if is_address(graph):
        if block_rows is not None:
            raise ValueError("block_rows: a graph in files is cut as these are; leave it out")
        paths = listed(graph, "graph", (".npz",))
        looked: list[Any] = [None] * len(paths)
        for b, found in crew.each(lambda b: crew.submit(_look, paths[b]), range(len(paths))):
            looked[b] = found
        shapes = np.array([shape for shape, _, _ in looked])
        bounds = np.concatenate([[0], np.cumsum(shapes[:, 0])])
        for path, (_, columns) in zip(paths, shapes):
            if columns != bounds[-1]:
                raise ValueError(
                    f"graph: {path} has {columns} columns, but the files have {bounds[-1]} rows together: "
                    "some are missing, or of another graph"
                )
        origin = [digest for _, _, digest in looked]
        return Graph(paths, bounds, origin, sum(entries for _, entries, _ in looked))
    indptr, indices, weights, n = csr(graph, "graph")
    whole = _matrix(indptr, indices, weights, n)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("graph has weights that are negative, NaN or infinite")
    if (whole != whole.T).nnz:
        raise ValueError("graph is not symmetric: every entry needs its mirror")
    if whole.diagonal().any():
        raise ValueError("graph has entries on the diagonal: an item is no neighbour of itself")
    if block_rows is None:
        block_rows = files.cut(*folders) or min(ROWS, -(-n // (2 * crew.workers)))
    starts = range(0, n, count(block_rows, "block_rows"))
    bounds = np.array([*starts, n])
    blocks = [crew.put(whole[a:b]) for a, b in zip(bounds[:-1], bounds[1:])]
    return Graph(blocks, bounds, _digest(whole), whole.nnz)


def _negatives(negatives: Any, n: int) -> Any:
    if negatives is None:
        return None
    indptr, indices, weights, m = csr(negatives, "negatives")
    if m != n:
        raise ValueError(f"negatives is of {m} items, the graph of {n}")
    if not ((weights >= 0) & (weights <= 2)).all():
        raise ValueError("negatives: weights must lie in [0, 2]")
    whole = _matrix(indptr, indices, weights.astype(np.float64), n)
    if (whole != whole.T).nnz:
        raise ValueError("negatives is not symmetric: every entry needs its mirror")
    return whole


def _matrix(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, n: int) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((weights, indices, indptr), shape=(n, n))


def _digest(matrix: Any) -> str:
    digest = hashlib.sha256()
    for part in (matrix.indptr, matrix.indices, matrix.data):
        digest.update(part.tobytes())
    return digest.hexdigest()


def _look(path: str) -> tuple[tuple[int, ...], int, str]:
    """Rows and columns of the graph in a file, its entries, and its digest."""
    rows = read_rows(path)
    return rows.shape, rows.nnz, _digest(rows)


def _systems(
    crew: Crew, rows: Graph, codes: np.ndarray, mu: float, unlike: Any, factor: float
) -> tuple[list[Any], Halo]:
    blocks = range(len(rows.blocks))
    made = [
        crew.submit(
            system,
            rows.blocks[b],
            b,
            rows.bounds,
            codes[rows.bounds[b] : rows.bounds[b + 1]],
            mu,
            None if unlike is None else unlike[rows.bounds[b] : rows.bounds[b + 1]],
            factor,
            returns=2 + len(blocks),
            block=(b, len(blocks)),
        )
        for b in blocks
    ]
    counts = np.array(crew.get([counts for _, counts, *_ in made]))
    return [of for of, *_ in made], halo_of([wanted for _, _, *wanted in made], counts)


def _lengths(crew: Crew, systems: list[Any], classes: int) -> np.ndarray:
    """The length of the right-hand side of each class."""
    parts = crew.get([crew.submit(_squares, of, classes) for of in systems])
    return np.sqrt(np.sum(parts, axis=0))


def _squares(system: Any, classes: int) -> np.ndarray:
    rows = np.flatnonzero(system.codes >= 0)
    squares = system.mu**2 * system.degrees[rows]
    return np.bincount(system.codes[rows], squares, minlength=classes)


def _groups(classes: int) -> list[range]:
    return [range(start, min(start + WIDTH, classes)) for start in range(0, classes, WIDTH)]


def _group_folder(checkpoint: str, group: range) -> str:
    return files.join(checkpoint, f"classes-{group.start:06}")


def _group(
    crew: Crew,
    systems: list[Any],
    halo: Halo,
    group: range,
    lengths: np.ndarray,
    solver: Solver,
    checkpoint: Optional[str],
) -> conjugate.Solution:
    """The solution of some classes; with a checkpoint it is kept, and not computed again."""
    lengths = lengths[group.start : group.stop]
    if checkpoint is None:
        return solve(crew, systems, halo, group, lengths, solver, None)
    folder = _group_folder(checkpoint, group)
    paths = [files.join(folder, f"solution-{b:06}.npz") for b in range(len(systems))]
    done = files.join(folder, "done.json")
    about = files.read_json(done)
    if about is None:
        found = solve(crew, systems, halo, group, lengths, solver, folder)
        crew.get([crew.submit(_keep, path, x) for path, x in zip(paths, found.x)])
        files.write_json(
            done, {"iterations": found.iterations, "residuals": list(found.residuals)}
        )
        return found
    if max(about["residuals"]) > solver.tolerance and about["iterations"] < solver.max_iterations:
        # It was stopped by a smaller number of iterations.
        files.remove(done)
        return _group(crew, systems, halo, group, lengths, solver, checkpoint)
    x = [crew.submit(_kept, path) for path in paths]
    return conjugate.Solution(x, about["iterations"], np.array(about["residuals"]))


def _keep(path: str, x: np.ndarray) -> int:
    files.write_arrays(path, x=x)
    return len(x)


def _kept(path: str) -> np.ndarray:
    return files.read_arrays(path)["x"]


def _warn(message: str) -> None:
    warnings.warn(message, LikewiseWarning, stacklevel=3)
