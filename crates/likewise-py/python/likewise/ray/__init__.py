"""Graphs, search, propagation and embedding on a Ray cluster, where one machine is not enough.

Rows come as an array, or as shards on a path or fsspec URL: ``.npy`` and ``.parquet`` files, a folder of them or a
list. What is large is written as shards again, whole or not at all, so that a driver that was killed goes on where
it was; a worker that dies is replaced, and its task done again. Results are those of one machine, however the rows
are cut and however many workers there are; where ``approx=True`` finds more neighbours that are equally near than it may
list, which of them it lists may depend on the cut.

Importing this needs neither Ray nor scipy; calling it needs what ``pip install likewise[ray]`` brings. A cluster that
``ray.init`` has joined is used, else one is started on this machine.

**Not** for what fits into one machine: a cluster takes seconds to start, and sends what `likewise.KNeighborsGraph` has at hand.
"""

from .embed import embed
from .graph import graph
from .neighbors import neighbors
from .propagate import Spread, propagate
from .search import search

__all__ = ["Spread", "embed", "graph", "neighbors", "propagate", "search"]
