r"""A block of the system that propagation solves, its rows of others renumbered to its halo.

    [(1 + mu) D - W + f (D_S + S)] H = mu D^1/2 Y,    F = D^1/2 H,    mu = 1 / alpha - 1

with the negative edges S, none for LGC, whose ``F = (1 - alpha) (I - alpha D^-1/2 W D^-1/2)^-1 Y`` this is. It needs
the degrees of the block alone. A node without edges counts as of degree 1.

Source: Zhou et al. 2003; Zhuang and Moulin 2023, eq. (10) and (23), fitted on all nodes by degree.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Union

import numpy as np

from . import files


class System(NamedTuple):
    """Some rows of the system."""

    # Minus its entries off the diagonal, float64 CSR: among the rows of the block, and to the halo.
    own: Any
    other: Any
    diagonal: np.ndarray
    degrees: np.ndarray
    # Class of each row; negative where it has none.
    codes: np.ndarray
    mu: float
    # Global number of the first row.
    first: int

    def times(self, x: np.ndarray, halo: np.ndarray) -> np.ndarray:
        """Rows of the product of the system with `x`, whose rows in other blocks are `halo`."""
        product = self.diagonal[:, None] * x
        product -= self.own @ x
        product -= self.other @ halo
        return product

    def right_hand_side(self, columns: range) -> np.ndarray:
        """Its rows of these classes (rows x classes)."""
        b = np.zeros((len(self.codes), len(columns)))
        rows = np.flatnonzero((self.codes >= columns.start) & (self.codes < columns.stop))
        b[rows, self.codes[rows] - columns.start] = self.mu * np.sqrt(self.degrees[rows])
        return b


def system(
    rows: Union[str, Any],
    number: int,
    bounds: np.ndarray,
    codes: np.ndarray,
    mu: float,
    negatives: Any,
    factor: float,
) -> tuple[Any, ...]:
    """Block `number` of the system, how many rows of each block it wants, and which.

    `rows` are those of the graph, or the file that holds them; `negatives` those of the negative edges, or None.
    """
    from scipy.sparse import csr_matrix

    graph = read_rows(rows) if isinstance(rows, str) else rows
    first, last = bounds[number], bounds[number + 1]
    shape, entries = last - first, graph.data.astype(np.float64)
    row = np.repeat(np.arange(shape), np.diff(graph.indptr))
    degrees = np.bincount(row, entries, minlength=shape)
    degrees[degrees == 0] = 1
    diagonal = (1 + mu) * degrees
    if negatives is not None:
        weights = _on_edges_of(graph, negatives, first)
        entries -= factor * weights
        diagonal += factor * np.bincount(row, weights, minlength=shape)
    inside = (graph.indices >= first) & (graph.indices < last)

    def part(chosen: np.ndarray, columns: np.ndarray, width: int) -> Any:
        ends = np.concatenate([[0], np.cumsum(np.bincount(row[chosen], minlength=shape))])
        return csr_matrix((entries[chosen], columns, ends), shape=(shape, width))

    halo, columns = np.unique(graph.indices[~inside], return_inverse=True)
    ends = np.searchsorted(halo, bounds)
    wanted = [halo[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], bounds)]
    made = System(
        own=part(inside, graph.indices[inside] - first, shape),
        other=part(~inside, columns, len(halo)),
        diagonal=diagonal,
        degrees=degrees,
        codes=codes,
        mu=mu,
        first=int(first),
    )
    return (made, np.diff(ends), *wanted)


def read_rows(path: str) -> Any:
    """The rows of the graph in a file.

    Raises
    ------
    ValueError
        Where they are none.
    """
    from scipy.sparse import csr_matrix

    arrays = files.read_arrays(path)
    missing = {"data", "indices", "indptr", "shape"} - set(arrays)
    if missing:
        raise ValueError(f"{path} is no graph: it has no {', '.join(sorted(missing))}")
    shape = tuple(int(side) for side in arrays["shape"])
    rows = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    if not (np.isfinite(rows.data).all() and (rows.data >= 0).all()):
        raise ValueError(f"{path} has weights that are negative, NaN or infinite")
    return rows


def _on_edges_of(graph: Any, negatives: Any, first: int) -> np.ndarray:
    """The weights of the negative edges, one for each entry of the graph."""
    keys, asked = (
        np.repeat(np.arange(m.shape[0], dtype=np.int64), np.diff(m.indptr)) * m.shape[1] + m.indices
        for m in (graph, negatives)
    )
    order = np.argsort(keys)
    place = order[np.minimum(np.searchsorted(keys, asked, sorter=order), len(keys) - 1)]
    strange = np.flatnonzero(keys[place] != asked) if len(keys) else np.arange(len(asked))
    if len(strange):
        row, column = divmod(int(asked[strange[0]]), graph.shape[1])
        # Both ends find it; they say the same.
        one, other = sorted((int(first) + row, column))
        raise ValueError(
            f"negatives: ({one}, {other}) is no edge of the graph; only neighbours can be negative"
        )
    weights = np.zeros(len(graph.data))
    weights[place] = negatives.data
    return weights
