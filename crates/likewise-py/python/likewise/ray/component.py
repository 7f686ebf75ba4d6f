"""Connected components by row blocks: every node learns the smallest node that it is connected with.

Each block finds the components of its own rows once. Then, in rounds, blocks exchange the smallest numbers that they
know over their halos, and each component takes the smallest around it, until nothing changes: as many rounds as a way
through the graph crosses blocks, some five to ten on graphs of nearest neighbours, and as many as there are blocks on a
chain. A round moves 8 bytes for each row of a halo.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .crew import Crew
from .halo import Halo, joined, pieces
from .system import System


def components(crew: Crew, systems: list[Any], halo: Halo) -> list[Any]:
    """For each block, in Ray's store: the smallest node that each of its rows is connected with (rows,)."""
    blocks = range(len(systems))
    inside = [crew.submit(of_block, systems[b]) for b in blocks]
    smallest = [crew.submit(first_of_each, systems[b], inside[b]) for b in blocks]
    while True:
        sent = [halo.send(crew, show, b, inside[b], smallest[b]) for b in blocks]
        sent = [one[1:] for one in sent]
        lowered = [
            crew.submit(
                lower, systems[b], inside[b], smallest[b], *halo.received(sent, b), returns=2
            )
            for b in blocks
        ]
        smallest = [one for one, _ in lowered]
        if not any(crew.get([changed for _, changed in lowered])):
            return [crew.submit(of_rows, smallest[b], inside[b]) for b in blocks]


def of_block(system: System) -> np.ndarray:
    """The component of each row among the rows of the block alone."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    own = system.own
    # An entry may have become 0, and is an edge all the same.
    edges = csr_matrix((np.ones(own.nnz, bool), own.indices, own.indptr), shape=own.shape)
    return connected_components(edges, directed=False)[1].astype(np.int64)


def first_of_each(system: System, inside: np.ndarray) -> np.ndarray:
    """The smallest node of each component of the block."""
    smallest = np.full(inside.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(smallest, inside, system.first + np.arange(len(inside)))
    return smallest


def show(inside: np.ndarray, smallest: np.ndarray, *asked: np.ndarray) -> Any:
    """Sends the smallest node that each row knows."""
    return (None, *pieces(smallest[inside], asked)) if asked else None


def lower(
    system: System, inside: np.ndarray, smallest: np.ndarray, *received: np.ndarray
) -> tuple[np.ndarray, bool]:
    """The smallest nodes with those of the halo, and whether any changed."""
    halo = joined(received, smallest)
    row = np.repeat(np.arange(len(inside)), np.diff(system.other.indptr))
    lowered = smallest.copy()
    np.minimum.at(lowered, inside[row], halo[system.other.indices])
    return lowered, bool((lowered != smallest).any())


def of_rows(smallest: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The smallest node of each row."""
    return smallest[inside]
