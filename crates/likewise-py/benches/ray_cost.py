"""What graphs on a cluster cost: measures tiles, fits a model of their time, and plays clusters of 4 to 1000 workers.

    python crates/likewise-py/benches/ray_cost.py [--out results/ray-cost/README.md] [--seed 0]

Needs what `likewise[ray]` brings. Takes under three minutes.
"""

import argparse
import heapq
import os
import platform
import sys
import time

# Assumed of each machine, which is one worker of one processor.
NETWORK = 1.25e9
LATENCY = 2e-3
MEMORY = 16e9
SIZES = [(2000, 8000), (4000, 16_000), (8000, 32_000)]
COLUMNS, K, CLASSES, ITERATIONS = 128, 50, 10, 100
WORKERS = [4, 16, 64, 250, 1000]
ITEMS = [100_000_000, 1_000_000_000]


def rows(n, seed):
    import numpy as np

    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(50, COLUMNS))
    return (centers[rng.integers(0, 50, n)] + rng.normal(size=(n, COLUMNS))).astype(np.float32)


def measured(seed):
    """Rows, columns, seconds of one thread and bytes moved of tiles, the best of three."""
    from likewise.ray.blocks import unit
    from likewise.ray.tile import nearest

    table = []
    for r, c in SIZES:
        queries, items = unit(rows(r, seed)), unit(rows(c, seed + 1))
        taken = []
        for _ in range(3):
            begun = time.perf_counter()
            lists = nearest(queries, items, K, 0, r)
            taken.append(time.perf_counter() - begun)
        table.append((r, c, min(taken), items.nbytes, sum(part.nbytes for part in lists)))
    return table


def fitted(table):
    """Seconds of a product of one pair, and of the lists of one row: least squares of the relative errors."""
    import numpy as np

    a = np.array([[r * c, r] for r, c, *_ in table], float)
    seconds = np.array([row[2] for row in table])
    found, *_ = np.linalg.lstsq(a / seconds[:, None], np.ones(len(seconds)), rcond=None)
    if (found < 0).any():
        # One of the two is too small to be seen.
        alone = [float(np.mean(seconds / column)) for column in a.T]
        found = np.array([alone[0], 0.0] if found[1] < 0 else [0.0, alone[1]])
    return found, a @ found / seconds - 1


def iteration(seed):
    """Seconds an entry and class of a product with the graph, in one thread."""
    import numpy as np
    from scipy.sparse import random

    n = 20_000
    graph = random(n, n, 80 / n, "csr", random_state=seed)
    x = np.ones((n, CLASSES))
    begun = time.perf_counter()
    for _ in range(3):
        graph @ x
    return (time.perf_counter() - begun) / 3 / graph.nnz / CLASSES


def played(tasks, workers, seconds):
    """When the last of equal tasks is done by workers of which each takes the next as it is free."""
    free = [0.0] * workers
    for _ in range(tasks):
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def cluster(n, workers, pair, row, entry):
    """Seconds of the lists, of the arcs and of propagation, and bytes moved of each worker."""
    # A worker holds a block of rows and one of columns, and lists.
    b = min(n // (2 * workers), int(MEMORY / 4 / (4 * COLUMNS + 40 * (K + 8))))
    blocks = -(-n // b)
    run = min(16, blocks)
    # A sweep reads its blocks while it computes only where the network is faster: it waits here.
    moved = run * b * 4 * COLUMNS
    sweep = run * (b * b * pair + b * row) + moved / NETWORK + LATENCY * run
    sweeps = blocks * -(-blocks // run)
    # Equal tasks: after the first 10,000 only the number of rounds matters.
    lists = played(sweeps, workers, sweep) if sweeps <= 10_000 else -(-sweeps // workers) * sweep
    arcs = 16 * n * K / workers / NETWORK + blocks * blocks * 1e-4
    halo = min(n, b * K) * CLASSES * 8
    nnz = 1.5 * K * n / workers
    step = nnz * CLASSES * entry + halo * blocks / workers / NETWORK + blocks * blocks * 1e-4
    bytes_moved = sweeps * moved / workers + 16 * n * K / workers + ITERATIONS * halo * blocks / workers
    fits = n * (4 * COLUMNS + 12 * K) / workers < 4 * MEMORY
    return b, blocks, lists, arcs, ITERATIONS * step, bytes_moved, fits


def span(seconds):
    for size, name in ((86_400 * 365, "years"), (86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {name}"
    return f"{seconds:.1f} seconds"


def page(seed):
    table = measured(seed)
    (pair, row), errors = fitted(table)
    entry = iteration(seed)
    yield "# What graphs on a cluster cost"
    yield ""
    yield "`python crates/likewise-py/benches/ray_cost.py` measures tiles of one thread, fits their time, and plays clusters with it."
    yield f"{platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}, seed {seed}."
    yield ""
    yield "## Measured"
    yield ""
    yield f"Tiles of {COLUMNS} columns, k = {K}, best of three:"
    yield ""
    yield "| rows | columns | seconds | of the model | MB of a block of columns | MB of lists |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for (r, c, seconds, block, lists), error in zip(table, errors):
        yield f"| {r:,} | {c:,} | {seconds:.2f} | {1 + error:.2f} | {block / 1e6:.1f} | {lists / 1e6:.1f} |"
    yield ""
    yield f"The model: {pair * 1e9:.3f} ns a pair and {row * 1e6:.1f} us a row of a tile. A product of the graph with scores: {entry * 1e9:.2f} ns an entry and class."
    yield ""
    yield "## Played"
    yield ""
    yield f"Nobody ran these. Assumed: a worker is a machine of its own with one processor as fast as this one, {MEMORY / 1e9:.0f} GB and {NETWORK * 8 / 1e9:.0f} Gbit/s;"
    yield f"{LATENCY * 1e3:.0f} ms a read; 0.1 ms of the driver for every two blocks that exchange a message; no worker is slower than another and none dies;"
    yield f"1.5 k entries an item in the graph; items in random order, so that a block touches all it can; {CLASSES} classes and {ITERATIONS} iterations. Reading"
    yield "and writing of files is not counted. Where blocks do not fit, they are smaller. *Store*: whether rows and lists are less than four times the"
    yield "memory of all workers, which is what Ray is trusted to spill."
    yield ""
    for n in ITEMS:
        yield f"### {n:,} items x {COLUMNS}"
        yield ""
        yield "| workers | rows of a block | blocks | neighbours | arcs | propagation | TB moved a worker | store |"
        yield "|---:|---:|---:|---:|---:|---:|---:|---|"
        for workers in WORKERS:
            b, blocks, lists, arcs, spread, moved, fits = cluster(n, workers, pair, row, entry)
            yield f"| {workers:,} | {b:,} | {blocks:,} | {span(lists)} | {span(arcs)} | {span(spread)} | {moved / 1e12:,.2f} | {'fits' if fits else 'too much'} |"
        yield ""
    yield "Comparing all with all breaks first: ten times the items take a hundred times the time, and more workers than twice the blocks help nothing."
    yield "Propagation breaks by its halos, which in random order are all scores for every block, and by the driver, which names every pair of blocks in"
    yield "every iteration. An approximate search by tiles, and items sorted by cluster, are what a billion items would need."


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="results/ray-cost/README.md")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    text = "\n".join(page(args.seed)) + "\n"
    os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
    with open(args.out, "w") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
