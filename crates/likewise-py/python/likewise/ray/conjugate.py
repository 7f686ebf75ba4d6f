r"""Conjugate gradients by row blocks, for several right-hand sides at once.

The form of Chronopoulos and Gear: the sums of one iteration are all known at one place, so that the blocks meet once
an iteration, and exchange one halo. With u = r / diag(M) and w = M u, of which the sums c = r.u and e = w.u are known:

    b = c / c'    a = c / (e - b c / a')        (of each column, ' before; b = 0 and a = c / e at first)
    p = u + b p   s = w + b s   x += a p   r -= a s

Every few iterations the residual is computed anew, r = b - M x, and s = M p: what the recurrence has lost is taken
back, and x, p, a' and c' are all that a checkpoint holds. A solve that goes on from a checkpoint has the same bits
as one that never stopped. Whether a column has converged is tested on the computed residual.

Sums are taken block by block and added in the order of the blocks: the result does not depend on the workers, and on
the blocks only within the tolerance.

Cost of an iteration: one product of the graph, 2 nnz C operations, in two tasks a block, and the halo over the
network: 8 C bytes for each row of others that a block touches. Memory of a block of b rows: 12 bytes an entry of the
graph, 96 b C bytes of state, and the halo twice.

Source: Chronopoulos and Gear, "s-step iterative methods for symmetric linear systems", 1989; van der Vorst and Ye,
"Residual replacement strategies for Krylov subspace iterative methods", 2000.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from . import files
from .crew import Crew
from .halo import Halo, joined, pieces
from .system import System


class State(NamedTuple):
    """A block's rows of the vectors of the iteration (rows x columns, float64)."""

    x: np.ndarray
    r: np.ndarray
    u: np.ndarray
    p: np.ndarray
    s: np.ndarray


class Scalars(NamedTuple):
    """What the next iteration needs of the last one (columns,); `a` is 0 where a column begins anew."""

    iteration: int
    a: np.ndarray
    c: np.ndarray


class Solver(NamedTuple):
    """When to stop, and how often to compute the residual anew and to write a checkpoint."""

    tolerance: float
    max_iterations: int
    every: int


class Solution(NamedTuple):
    """What a solve found."""

    # Rows of each block, in Ray's store.
    x: list[Any]
    iterations: int
    # Relative residual of each column.
    residuals: np.ndarray


def solve(
    crew: Crew,
    systems: list[Any],
    halo: Halo,
    columns: range,
    lengths: np.ndarray,
    solver: Solver,
    checkpoint: Optional[str],
) -> Solution:
    """Solves for the classes `columns`, whose right-hand sides have these lengths.

    With the folder `checkpoint` it goes on from where it was.
    """
    blocks = range(len(systems))

    def own(task: Any, b: int, *given: Any, returns: int = 1) -> Any:
        """A task of one block."""
        return crew.submit(task, *given, returns=returns, block=(b, len(systems)))

    def wave(task: Any, *given: Any) -> tuple[list[Any], list[Any]]:
        """A task of each block that sends a piece of one vector to the others: what it keeps, and the pieces."""
        sent = [halo.send(crew, task, b, systems[b], *(one[b] for one in given)) for b in blocks]
        return [one[0] for one in sent], [one[1:] for one in sent]

    def renewed(states: list[Any]) -> tuple[list[Any], list[Any]]:
        """The states with `r`, `u` and `s` computed anew."""
        _, sent = wave(publish, states)
        with_halo = [
            own(renew, b, systems[b], states[b], columns, *halo.received(sent, b)) for b in blocks
        ]
        return wave(show, with_halo)

    found = None if checkpoint is None else files.read_json(files.join(checkpoint, "last.json"))
    if found is None:
        start = [own(begin, b, systems[b], columns) for b in blocks]
        nothing = np.zeros(len(columns))
        states, sent = wave(show, start)
        scalars = Scalars(0, nothing, nothing)
    else:
        scalars = Scalars(found["iteration"], np.array(found["a"]), np.array(found["c"]))
        states, sent = renewed(_recalled(crew, checkpoint, scalars.iteration, blocks))
    fresh = True
    while True:
        products = [
            own(multiply, b, systems[b], states[b], *halo.received(sent, b), returns=2) for b in blocks
        ]
        sums = np.sum(crew.get([sums for _, sums in products]), axis=0)
        residuals = np.sqrt(sums[2]) / lengths
        step, stuck = _step(scalars, sums, residuals <= solver.tolerance)
        over = not step[0].any() or scalars.iteration >= solver.max_iterations
        if over and (fresh or stuck):
            return Solution([crew.submit(solution, state) for state in states], scalars.iteration, residuals)
        if over or (scalars.iteration % solver.every == 0 and not fresh):
            if checkpoint is not None and not over:
                _keep(crew, checkpoint, scalars, states)
                # From the file: what is lost with a machine is then read again, not computed from the start.
                states = _recalled(crew, checkpoint, scalars.iteration, blocks)
            states, sent = renewed(states)
            fresh = True
            continue
        a, b = step
        scalars = Scalars(scalars.iteration + 1, a, sums[0])
        states, sent = wave(
            advance, states, [product for product, _ in products], [a] * len(blocks), [b] * len(blocks)
        )
        fresh = False


def _step(
    before: Scalars, sums: np.ndarray, done: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], bool]:
    """The step lengths `a` and `b`, 0 of columns that are done; and whether a column cannot go on.

    A curvature that is not positive cannot be of a positive definite system: rounding is all that is left.
    """
    c, e = sums[0], sums[1]
    begun = (before.a != 0) & (before.c != 0)
    b = np.divide(c, before.c, out=np.zeros_like(c), where=begun)
    curvature = e - np.divide(b * c, before.a, out=np.zeros_like(c), where=begun)
    able = ~done & (curvature > 0)
    a = np.divide(c, curvature, out=np.zeros_like(c), where=able)
    return (a, np.where(able, b, 0.0)), bool((~done & ~able).any())


def _keep(crew: Crew, checkpoint: str, scalars: Scalars, states: list[Any]) -> None:
    """Writes a checkpoint: first the blocks, then what names it the last, and then the one before goes."""
    folder = files.join(checkpoint, f"{scalars.iteration:06}")
    last = files.join(checkpoint, "last.json")
    before = files.read_json(last)
    crew.get(
        [
            crew.submit(save, files.join(folder, f"{b:06}.npz"), state)
            for b, state in enumerate(states)
        ]
    )
    files.write_json(
        last, {"iteration": scalars.iteration, "a": list(scalars.a), "c": list(scalars.c)}
    )
    if before is not None:
        files.remove(files.join(checkpoint, f"{before['iteration']:06}"))


def _recalled(crew: Crew, checkpoint: str, iteration: int, blocks: range) -> list[Any]:
    folder = files.join(checkpoint, f"{iteration:06}")
    return [crew.submit(recall, files.join(folder, f"{b:06}.npz")) for b in blocks]


# The tasks of a block.


def begin(system: System, columns: range) -> State:
    """The start at 0."""
    r = system.right_hand_side(columns)
    nothing = np.zeros_like(r)
    return State(nothing, r, r / system.diagonal[:, None], nothing, nothing)


def show(_: System, state: State, *asked: np.ndarray) -> Any:
    """Sends `u`."""
    return _sent(state, state.u, asked)


def publish(_: System, state: State, *asked: np.ndarray) -> Any:
    """Sends `x` and `p` side by side."""
    return _sent(None, np.concatenate([state.x, state.p], axis=1), asked)


def renew(system: System, state: State, columns: range, *received: np.ndarray) -> State:
    """Computes the residual and `s` anew."""
    both = np.concatenate([state.x, state.p], axis=1)
    product = system.times(both, joined(received, both))
    r = system.right_hand_side(columns) - product[:, : len(columns)]
    return State(
        state.x, r, r / system.diagonal[:, None], state.p, product[:, len(columns) :].copy()
    )


def multiply(
    system: System, state: State, *received: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``w = M u``, and the block's parts of ``r.u``, ``w.u`` and ``r.r`` of each column."""
    w = system.times(state.u, joined(received, state.u))
    pairs = (state.r, state.u), (w, state.u), (state.r, state.r)
    return w, np.stack([np.einsum("ij,ij->j", one, other) for one, other in pairs])


def advance(
    system: System, state: State, w: np.ndarray, a: np.ndarray, b: np.ndarray, *asked: np.ndarray
) -> Any:
    """One step of all columns; sends `u`."""
    p, s = state.u + b * state.p, w + b * state.s
    x, r = state.x + a * p, state.r - a * s
    u = r / system.diagonal[:, None]
    return _sent(State(x, r, u, p, s), u, asked)


def _sent(kept: Any, values: np.ndarray, asked: tuple[np.ndarray, ...]) -> Any:
    return (kept, *pieces(values, asked)) if asked else kept


def solution(state: State) -> np.ndarray:
    """`x` alone."""
    return state.x


def save(path: str, state: State) -> int:
    """Writes what a checkpoint holds of a block."""
    files.write_arrays(path, x=state.x, p=state.p)
    return len(state.x)


def recall(path: str) -> State:
    """A block of a checkpoint; what it does not hold is computed anew."""
    arrays = files.read_arrays(path)
    nothing = np.zeros((0, 0))
    return State(arrays["x"], nothing, nothing, arrays["p"], nothing)
