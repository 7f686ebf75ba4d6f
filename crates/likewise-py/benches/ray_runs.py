"""Whole runs on a cluster of this machine: seconds, and the bytes that its nodes sent each other.

Every node has one processor and a store of its own, so that a block that another one holds is sent, here over the
loopback device, whose counter is read: what tasks, their small results and Ray itself say is in it too.
"""

import contextlib
import os
import tempfile
import time

import numpy as np


#: Bytes of the store of a node.
STORE = 3 * 2**30


def sent():
    """Bytes that the loopback device has seen."""
    with open("/proc/net/dev") as file:
        for line in file:
            name, _, counters = line.partition(":")
            if name.strip() == "lo":
                return int(counters.split()[0])
    raise OSError("there is no loopback device")


@contextlib.contextmanager
def cluster(nodes):
    """Joins a cluster of so many nodes of one processor."""
    import ray
    from ray.cluster_utils import Cluster

    # By itself such a cluster has stores of 150 MB, which are full of one graph: then all waits for the disk.
    store = {"num_cpus": 1, "object_store_memory": STORE}
    made = Cluster(initialize_head=True, head_node_args={**store, "include_dashboard": False})
    for _ in range(nodes - 1):
        made.add_node(**store)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    try:
        # Workers are there, and have imported what they need.
        x = np.eye(64, dtype=np.float32)
        import likewise.ray

        likewise.ray.neighbors(x, 3, block_rows=8)
        yield
    finally:
        ray.shutdown()
        made.shutdown()


def spent(work):
    """What the work gives, its seconds and the bytes that were sent."""
    before, begun = sent(), time.perf_counter()
    found = work()
    return found, time.perf_counter() - begun, sent() - before


def run(rows, y, k, block_rows):
    """Seconds and bytes of the lists, of the arcs, and of propagation an iteration; and the entries of the graph."""
    import likewise.ray
    from scipy import sparse

    with tempfile.TemporaryDirectory() as folder:
        # Shards are read by the nodes; an array would lie with the driver.
        os.mkdir(f"{folder}/x")
        for number in range(0, len(rows), block_rows):
            np.save(f"{folder}/x/{number:09}.npy", rows[number : number + block_rows])
        how = {"block_rows": block_rows}
        _, *lists = spent(lambda: likewise.ray.neighbors(f"{folder}/x", k, out=f"{folder}/graph/neighbors", **how))
        # Its lists are there: what is left is to exchange and to join the arcs.
        paths, *arcs = spent(lambda: likewise.ray.graph(f"{folder}/x", k, out=f"{folder}/graph", **how))
        found, *spread = spent(lambda: likewise.ray.propagate(f"{folder}/graph", y))
        entries = sum(sparse.load_npz(path).nnz for path in paths)
        return lists, arcs, [one / found.n_iter for one in spread], found.n_iter, entries
