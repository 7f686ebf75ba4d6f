"""What graphs on a cluster cost: measures tiles and whole runs, fits a model, and plays clusters of 4 to 1000 workers.

    python crates/likewise-py/benches/ray_cost.py [--out results/ray-cost/README.md] [--items 100000 ...] [--seed 0]
    python crates/likewise-py/benches/ray_cost.py --measured results/ray-cost/measured.json

What was measured is written beside the page; the second form plays clusters with it again and measures nothing. Needs what `likewise[ray]` brings, an optimised extension (that of `pip install`), and a machine that does nothing else.
Runs of 100,000 and 200,000 items take three minutes on two processors; one of a million, which all are compared with all, half an hour.
"""

import argparse
import heapq
import json
import os
import platform
import sys
import time

# Assumed of each machine, which is one worker of one processor.
NETWORK = 1.25e9
LATENCY = 2e-3
MEMORY = 16e9
SIZES = [(2000, 8000), (4000, 16_000), (8000, 32_000), (16_000, 128_000)]
RUNS = [100_000, 200_000, 400_000, 1_000_000]
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
    from scipy.sparse import csr_matrix

    n, each = 20_000, 80
    columns = np.random.default_rng(seed).integers(0, n, n * each)
    ends = np.arange(0, n * each + 1, each)
    graph = csr_matrix((np.ones(n * each), columns, ends), shape=(n, n))
    x = np.ones((n, CLASSES))
    begun = time.perf_counter()
    for _ in range(3):
        graph @ x
    return (time.perf_counter() - begun) / 3 / graph.nnz / CLASSES


def played(tasks, workers):
    """When the last of some tasks, of so many seconds each, is done by workers of which each takes the next as it is free."""
    free = [0.0] * workers
    for seconds in tasks:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def block_of(n, workers):
    """Rows of a block, half of the memory of a worker at most: it holds one of rows and one of columns, its lists, and where
    there are more than 16 blocks, eight lists that are joined."""
    return min(n // (2 * workers), int(MEMORY / 2 / (8 * COLUMNS + 300 * (K + 8))))


def cluster(n, workers, pair, row, entry, entries=1.5, slower=(1.0, 1.0, 1.0)):
    """Seconds of the lists, of the arcs and of propagation, and bytes moved of each worker; `slower`: by how much the lists
    and an iteration take longer than products and messages, and by how much an iteration sends more than halos."""
    b = block_of(n, workers)
    blocks = -(-n // b)
    # As neighbors.py cuts them: a task is a row of tiles, or a part of one.
    parts = min(max(-(-blocks // 16), -(-workers // blocks)), blocks)
    step = -(-blocks // parts)
    cuts = [min(step, blocks - at) for at in range(0, blocks, step)]
    # A task reads its blocks while it computes only where the network is faster: it waits here.
    tile = (b * b * pair + b * row) * slower[0] + 4 * COLUMNS * b / NETWORK + LATENCY
    tasks = blocks * len(cuts)
    # Of many tasks only the sum matters, and the last.
    if tasks <= 10_000:
        lists = played((cut * tile for _ in range(blocks) for cut in cuts), workers)
    else:
        lists = blocks * blocks * tile / workers + step * tile
    arcs = 16 * n * K / workers / NETWORK + blocks * blocks * 1e-4
    halo = min(n, b * K) * CLASSES * 8 * (workers - 1) / workers
    # A block is one task of an iteration.
    rounds = -(-blocks // workers)
    products = entries * K * b * CLASSES * entry
    # The driver's messages are too few in a small run to tell of.
    iteration = rounds * (products + halo / NETWORK) * slower[1] + blocks * blocks * 1e-4
    bytes_moved = (blocks * blocks * 4 * COLUMNS * b + 16 * n * K + ITERATIONS * halo * slower[2] * blocks) / workers
    fits = n * (4 * COLUMNS + 12 * K) / workers < 4 * MEMORY
    return b, blocks, lists, arcs, ITERATIONS * iteration, bytes_moved, fits


def labels(n, seed):
    """Two of a hundred are known."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.02, rng.integers(0, CLASSES, n), -1)


def runs(sizes, nodes, seed):
    """Of each size: what a whole run on so many nodes took and sent."""
    import ray_runs

    with ray_runs.cluster(nodes):
        return [ray_runs.run(rows(n, seed), labels(n, seed), K, block_of(n, nodes)) for n in sizes]


def factors(sizes, nodes, found, model):
    """By how much the largest run took longer than the model says, the lists and an iteration, and by how much an iteration
    sent more than its halos: its blocks are the nearest to those that are played."""
    n, (lists, _, spread, _, _) = max(zip(sizes, found), key=lambda of: of[0])
    said = cluster(n, nodes, *model)
    return lists[0] / said[2], spread[0] / (said[4] / ITERATIONS), spread[1] / halos(n, nodes)


def halos(n, nodes):
    """Bytes of an iteration where every block asks for all that it may touch."""
    b = block_of(n, nodes)
    return min(n, b * K) * CLASSES * 8 * -(-n // b) * (nodes - 1) / nodes


def whole(sizes, nodes, found, model):
    """The table of the whole runs."""
    yield "| items | blocks | neighbours, s | of the model | MB sent | at most | arcs, s | MB sent | model | an iteration, s | of the model | MB sent | MB of halos |"
    yield "|" + "---:|" * 13
    for n, (lists, arcs, spread, _, _) in zip(sizes, found):
        b, blocks, seconds, _, propagation, _, _ = cluster(n, nodes, *model)
        # Every sweep reads the blocks that its node does not hold; what is there already is not sent again.
        swept = blocks * blocks * b * 4 * COLUMNS * (nodes - 1) / nodes
        exchanged = 16 * n * K * (nodes - 1) / nodes
        yield (
            f"| {n:,} | {blocks} | {lists[0]:.1f} | {lists[0] / seconds:.2f} | {lists[1] / 1e6:.1f} | {swept / 1e6:.1f} "
            f"| {arcs[0]:.1f} | {arcs[1] / 1e6:.1f} | {exchanged / 1e6:.1f} | {spread[0]:.2f} "
            f"| {spread[0] / (propagation / ITERATIONS):.2f} | {spread[1] / 1e6:.1f} | {halos(n, nodes) / 1e6:.1f} |"
        )


def span(seconds):
    for size, name in ((86_400 * 365, "years"), (86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {name}"
    return f"{seconds:.1f} seconds"


def measure(seed, sizes):
    """All that the page is made of."""
    table, nodes = measured(seed), min(2, os.cpu_count())
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}, seed {seed}.",
        "tiles": table, "model": [*fitted(table)[0]], "product": iteration(seed), "nodes": nodes, "items": sizes,
        "runs": runs(sizes, nodes, seed),
    }


def page(given):
    import numpy as np

    table, (pair, row), entry, nodes = given["tiles"], given["model"], given["product"], given["nodes"]
    sizes, found = given["items"], given["runs"]
    said = [r * c * pair + r * row for r, c, *_ in table]
    entries = float(np.mean([run[4] / n / K for n, run in zip(sizes, found)]))
    yield "# What graphs on a cluster cost"
    yield ""
    yield "`python crates/likewise-py/benches/ray_cost.py` measures tiles of one thread, fits their time, and plays clusters with it."
    yield given["machine"]
    yield ""
    yield "## Measured"
    yield ""
    yield f"Tiles of {COLUMNS} columns, k = {K}, best of three:"
    yield ""
    yield "| rows | columns | seconds | of the model | MB of a block of columns | MB of lists |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for (r, c, seconds, block, lists), wanted in zip(table, said):
        yield f"| {r:,} | {c:,} | {seconds:.2f} | {wanted / seconds:.2f} | {block / 1e6:.1f} | {lists / 1e6:.1f} |"
    yield ""
    yield f"The model: {pair * 1e9:.3f} ns a pair and {row * 1e6:.1f} us a row of a tile. A product of the graph with scores: {entry * 1e9:.2f} ns an entry and class."
    yield ""
    yield f"Whole runs on {nodes} nodes of one processor on this machine, their rows in files; seconds by the clock, and the bytes that the loopback"
    yield "device saw, in which the talk of Ray is too. *At most*: what is sent where a node keeps nothing for the next task. An iteration of propagation"
    yield "sends more than halos: Ray's talk, and a block whose node was lost or full."
    yield ""
    model = (pair, row, entry, entries)
    yield from whole(sizes, nodes, found, model)
    yield ""
    slower = factors(sizes, nodes, found, model)
    yield f"The largest took {slower[0]:.2f} times what the model says for the lists, and {slower[1]:.2f} times for an iteration of propagation, which sent {slower[2]:.1f}"
    yield "times its halos; what follows counts with that: lists, and products and halos of an iteration, by so much longer, bytes by so much more. Larger blocks may be slower still."
    yield f"Graphs had {entries:.2f} k entries an item, and propagation took {min(run[3] for run in found)} to {max(run[3] for run in found)} iterations."
    yield ""
    yield "## Played"
    yield ""
    yield f"Nobody ran these. Assumed: a worker is a machine of its own with one processor as fast as this one, {MEMORY / 1e9:.0f} GB and {NETWORK * 8 / 1e9:.0f} Gbit/s;"
    yield f"{LATENCY * 1e3:.0f} ms a read; 0.1 ms of the driver for every two blocks that exchange a message; no worker is slower than another and none dies;"
    yield f"{entries:.2f} k entries an item in the graph; items in random order, so that a block touches all it can; {CLASSES} classes and {ITERATIONS} iterations. Reading"
    yield "and writing of files is not counted. Where blocks do not fit, they are smaller. *Store*: whether rows and lists are less than four times the"
    yield "memory of all workers, which is what Ray is trusted to spill."
    yield ""
    for n in ITEMS:
        yield f"### {n:,} items x {COLUMNS}"
        yield ""
        yield "| workers | rows of a block | blocks | neighbours | arcs | propagation | TB moved a worker | store |"
        yield "|---:|---:|---:|---:|---:|---:|---:|---|"
        for workers in WORKERS:
            b, blocks, lists, arcs, spread, moved, fits = cluster(n, workers, *model, slower)
            yield f"| {workers:,} | {b:,} | {blocks:,} | {span(lists)} | {span(arcs)} | {span(spread)} | {moved / 1e12:,.2f} | {'fits' if fits else 'too much'} |"
        yield ""
    yield "Comparing all with all breaks first: ten times the items take a hundred times the time."
    yield "Propagation breaks by its halos, which in random order are all scores for every block, and by the driver, which names every pair of blocks in"
    yield "every iteration; a block is one task of it, so that more workers than blocks help nothing. An approximate search by tiles, and items sorted by cluster, are what a billion items would need."


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="results/ray-cost/README.md")
    parser.add_argument("--items", type=int, nargs="+", default=RUNS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measured", help="what an earlier call measured, to be played again")
    args = parser.parse_args()
    os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
    if args.measured:
        with open(args.measured) as file:
            given = json.load(file)
    else:
        given = measure(args.seed, args.items)
        with open(os.path.join(os.path.dirname(args.out), "measured.json"), "w") as file:
            json.dump(given, file, indent=1)
    text = "\n".join(page(given)) + "\n"
    with open(args.out, "w") as file:
        file.write(text)
    print(text)


if __name__ == "__main__":
    main()
