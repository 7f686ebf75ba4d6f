"""What graphs on a cluster cost: measures tiles and whole runs, fits a model, and plays clusters of 4 to 1000 workers.

    python crates/likewise-py/benches/ray_cost.py [--out results/ray-cost/README.md] [--items 100000 ...] [--seed 0]
    python crates/likewise-py/benches/ray_cost.py --measured results/ray-cost/measured.json

What was measured is written beside the page; the second form plays clusters with it again and measures nothing. Needs what `likewise[ray]` brings, an optimised extension (that of `pip install`), and a machine that does nothing else.
Runs of 100,000 and 200,000 items take three minutes on two processors; one of a million, which all are compared with all, half an hour.
"""

import argparse
import heapq
import json
import math
import os
import platform
import sys
import time

# Assumed of each machine, which is one worker of one processor.
NETWORK = 1.25e9
LATENCY = 2e-3
MEMORY = 16e9
# Of the memory, what Ray takes for its store unless it is told otherwise.
SHARE = 0.3
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


def halo(n, b, entries):
    """Rows that a block asks for: those that its entries touch where items are in random order."""
    return n * -math.expm1(-entries * K * b / n)


def store(n, workers, entries):
    """Bytes of Ray's store a worker, at most: rows and lists; or the graph, the state, scores and what blocks send to others,
    as `propagate` counts them."""
    b = block_of(n, workers)
    sent = 8 * CLASSES * halo(n, b, entries) * -(-n // b)
    return max(n * (4 * COLUMNS + 12 * K), n * (12 * entries * K + 96 * CLASSES) + sent) / workers


def memory(n, workers, entries):
    """Bytes of its own that a worker takes for a block of propagation: its graph, its state and its halo."""
    b = block_of(n, workers)
    return 16 * entries * K * b + 130 * CLASSES * b + 24 * CLASSES * halo(n, b, entries)


def cluster(n, workers, pair, row, entry, entries=1.5, slower=(1.0, 1.0, 1.0, 1.0)):
    """Seconds of the lists, of the arcs and of propagation, and bytes moved of each worker; `slower`: by how much lists, arcs
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
    # The driver's messages are too few in a small run to tell of.
    arcs = 16 * n * K / workers / NETWORK * slower[1] + blocks * blocks * 1e-4
    halos = halo(n, b, entries) * CLASSES * 8 * (workers - 1) / workers
    # The product of a block is one task.
    rounds = -(-blocks // workers)
    products = entries * K * b * CLASSES * entry
    iteration = rounds * (products + halos / NETWORK) * slower[2] + blocks * blocks * 1e-4
    bytes_moved = (blocks * blocks * 4 * COLUMNS * b + 16 * n * K + ITERATIONS * halos * slower[3] * blocks) / workers
    return b, blocks, lists, arcs, ITERATIONS * iteration, bytes_moved


def beyond(held):
    """What so many bytes of the store of a worker mean."""
    return ", too much" if held > 4 * MEMORY else ", disk" if held > SHARE * MEMORY else ""


def own(taken):
    """What so many bytes of its own mean, beside the store."""
    return ", too much" if taken > (1 - SHARE) * MEMORY else ""


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
    """By how much the largest run took longer than the model says, the lists, the arcs and an iteration, and by how much an
    iteration sent more than its halos: its blocks are the nearest to those that are played."""
    n, (lists, arcs, spread) = max(zip(sizes, found), key=lambda of: of[0])
    said = cluster(n, nodes, *model)
    return lists[0] / said[2], arcs[0] / said[3], spread[0] / (said[4] / ITERATIONS), spread[1] / halos(n, nodes, model[3])


def halos(n, nodes, entries):
    """Bytes of the halos of all blocks in an iteration."""
    b = block_of(n, nodes)
    return halo(n, b, entries) * CLASSES * 8 * -(-n // b) * (nodes - 1) / nodes


def whole(sizes, nodes, found, model):
    """The table of the whole runs."""
    yield "| items | blocks | neighbours, s | of the model | MB sent | at most | arcs, s | of the model | MB sent | MB of arcs | an iteration, s | of the model | MB sent | MB of halos |"
    yield "|" + "---:|" * 14
    for n, (lists, arcs, spread) in zip(sizes, found):
        b, blocks, seconds, said, propagation, _ = cluster(n, nodes, *model)
        # Every sweep reads the blocks that its node does not hold; what is there already is not sent again.
        swept = blocks * blocks * b * 4 * COLUMNS * (nodes - 1) / nodes
        exchanged = 16 * n * K * (nodes - 1) / nodes
        yield (
            f"| {n:,} | {blocks} | {lists[0]:.1f} | {lists[0] / seconds:.2f} | {lists[1] / 1e6:.1f} | {swept / 1e6:.1f} "
            f"| {arcs[0]:.1f} | {arcs[0] / said:.0f} | {arcs[1] / 1e6:.1f} | {exchanged / 1e6:.1f} | {spread[0]:.2f} "
            f"| {spread[0] / (propagation / ITERATIONS):.1f} | {spread[1] / 1e6:.1f} | {halos(n, nodes, model[3]) / 1e6:.1f} |"
        )


def span(seconds):
    for size, name in ((86_400 * 365, "years"), (86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {name}"
    return f"{seconds:.1f} seconds"


def measure(seed, sizes):
    """All that the page is made of."""
    import numpy as np

    table, nodes = measured(seed), min(2, os.cpu_count())
    found = runs(sizes, nodes, seed)
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}, seed {seed}.",
        "tiles": table, "model": [*fitted(table)[0]], "product": iteration(seed), "nodes": nodes, "items": sizes,
        "runs": [run[:3] for run in found],
        # Of k, in the graphs; and of propagation, the fewest and the most.
        "entries": float(np.mean([run[4] / n / K for n, run in zip(sizes, found)])),
        "iterations": [min(run[3] for run in found), max(run[3] for run in found)],
    }


def page(given):
    table, (pair, row), entry, nodes = given["tiles"], given["model"], given["product"], given["nodes"]
    sizes, found = given["items"], given["runs"]
    said = [r * c * pair + r * row for r, c, *_ in table]
    entries = given["entries"]
    yield "# What graphs on a cluster cost"
    yield ""
    yield "`python crates/likewise-py/benches/ray_cost.py` measures tiles of one thread, fits their time, and plays clusters with it."
    yield given["machine"]
    if "note" in given:
        yield given["note"]
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
    yield "device saw, in which the talk of Ray is too. *At most*: what is sent where a node keeps nothing for the next task. *An iteration*: a whole call of"
    yield "`propagate` divided by its iterations, with what is done and sent once (reading the graph, beliefs, scores) and every 20 iterations (a new residual)."
    yield ""
    model = (pair, row, entry, entries)
    yield from whole(sizes, nodes, found, model)
    yield ""
    slower = factors(sizes, nodes, found, model)
    yield f"The largest took {slower[0]:.2f} times what the model says for the lists, {slower[1]:.0f} times for the arcs, and {slower[2]:.1f} times for an iteration, which sent {slower[3]:.1f}"
    yield "times its halos; why, was not measured. What follows counts with that: lists, arcs, and products and halos of an iteration, by so much longer, bytes of iterations by so much more: what is done once counts more often than it happens. Larger blocks may be slower still."
    yield f"Graphs had {entries:.2f} k entries an item, and propagation took {given['iterations'][0]} to {given['iterations'][1]} iterations."
    yield ""
    yield "## Played"
    yield ""
    yield f"Nobody ran these. Assumed: a worker is a machine of its own with one processor as fast as this one, {MEMORY / 1e9:.0f} GB and {NETWORK * 8 / 1e9:.0f} Gbit/s;"
    yield f"{LATENCY * 1e3:.0f} ms a read; 0.1 ms of the driver for every two blocks that exchange a message; no worker is slower than another and none dies;"
    yield f"{entries:.2f} k entries an item in the graph; items in random order, so that a block touches as many others as random entries do; {CLASSES} classes and {ITERATIONS} iterations. Reading"
    yield "and writing of files, and partial lists that are sent to be joined, are not counted. A block is so large that its lists take half of the memory of a worker at most. *Store*: what"
    yield f"Ray's store holds at a time, in GB a worker: rows and lists, or the graph, the state and the scores of propagation and what blocks send to others. *Memory*: what a worker takes of its own for a block of propagation, in GB; *too much* where that is more than the store leaves. *Disk*: more than the {SHARE * MEMORY / 1e9:.1f} GB that Ray takes by itself of"
    yield f"{MEMORY / 1e9:.0f}; what is too much for the store goes to the disk and back, which is **not** counted and many times slower. *Too much*: more than four times the memory."
    yield ""
    for n in ITEMS:
        yield f"### {n:,} items x {COLUMNS}"
        yield ""
        yield "| workers | rows of a block | blocks | neighbours | arcs | propagation | TB moved a worker | store | memory |"
        yield "|---:|---:|---:|---:|---:|---:|---:|---|---|"
        for workers in WORKERS:
            b, blocks, lists, arcs, spread, moved = cluster(n, workers, *model, slower)
            held, taken = store(n, workers, entries), memory(n, workers, entries)
            yield f"| {workers:,} | {b:,} | {blocks:,} | {span(lists)} | {span(arcs)} | {span(spread)} | {moved / 1e12:,.2f} | {held / 1e9:.1f}{beyond(held)} | {taken / 1e9:.1f}{own(taken)} |"
        yield ""
    yield "Comparing all with all breaks first: ten times the items take a hundred times the time."
    yield "Propagation breaks by its store, by its halos (in random order, most of what the entries of a block name lies elsewhere), and by the driver, which names every pair of blocks in"
    yield "every iteration; the product of a block is one task, so that more workers than blocks help nothing. An approximate search by tiles, and items sorted by cluster, are what a billion items would need."


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
