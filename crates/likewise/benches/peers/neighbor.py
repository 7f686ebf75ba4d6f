"""Nearest neighbours by the usual libraries, for the bench `neighbor`.

    neighbor.py FILE.f32 N D K RECALL PEER...

FILE.f32 holds N x D float32 rows. Peers: flat (faiss IndexFlatIP), ivf (faiss IVF), hnsw
(faiss HNSW), usearch. Approximate ones get the cheapest setting that reaches RECALL on 256
sampled items, searched upwards; the printed time is build + query at that setting. Above
QUERIES items, as many of them are asked and that time is scaled up: each query costs these
peers the same. One thread each; prints one JSON line a peer. Times are CPU seconds of this
process.
"""

import json
import os
import sys

os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")  # else AVX2 kernels on some machines
os.environ["OMP_NUM_THREADS"] = "1"

import time

import faiss
import numpy as np

faiss.omp_set_num_threads(1)
path, n, d, k, recall, *peers = sys.argv[1:]
n, d, k, recall = int(n), int(d), int(k), float(recall)
x = np.fromfile(path, dtype=np.float32).reshape(n, d)
x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)

QUERIES = 50_000
sample = np.random.default_rng(0).choice(n, min(256, n), replace=False)
truth = np.argsort(-(x[sample] @ x.T), axis=1)[:, : k + 1] if n <= 100_000 else None
if truth is None:
    flat = faiss.IndexFlatIP(d)
    flat.add(x)
    truth = flat.search(x[sample], k + 1)[1]
truth = [set(row) - {i} for row, i in zip(truth.tolist(), sample.tolist())]


def recall_of(found, rows):
    hits = sum(len((set(f) - {i}) & t) for f, i, t in zip(found.tolist(), rows.tolist(), truth))
    return hits / sum(len(t) for t in truth)


def timed(work):
    begin = time.process_time()
    answer = work()
    return answer, time.process_time() - begin


def report(peer, setting, seconds, measured):
    print(json.dumps({"peer": peer, "setting": setting, "core_seconds": seconds, "recall": measured}), flush=True)


asked = x if n <= QUERIES else x[np.random.default_rng(1).choice(n, QUERIES, replace=False)]


def tune(search, settings, build):
    """The first setting that reaches the recall on the sample, then all items with it."""
    for setting in settings:
        measured = recall_of(search(setting, x[sample]), sample)
        if measured >= recall:
            break
    _, seconds = timed(lambda: search(setting, asked))
    return setting, build + seconds * n / len(asked), measured


for peer in peers:
    if peer == "flat":
        def flat():
            index = faiss.IndexFlatIP(d)
            index.add(x)
            return index.search(x, k + 1)[1]
        found, seconds = timed(flat)
        report(f"faiss {faiss.__version__} IndexFlatIP", "", seconds, recall_of(found[sample], sample))
    elif peer == "ivf":
        for cells in [int(n**0.5), int(4 * n**0.5)]:
            def build():
                index = faiss.IndexIVFFlat(faiss.IndexFlatIP(d), d, cells, faiss.METRIC_INNER_PRODUCT)
                index.cp.niter = 10
                index.cp.max_points_per_centroid = 64
                index.train(x)
                index.add(x)
                return index
            index, seconds = timed(build)
            def search(probes, rows):
                index.nprobe = probes
                return index.search(rows, k + 1)[1]
            probes, seconds, measured = tune(search, [4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256], seconds)
            report(f"faiss {faiss.__version__} IVFFlat", f"{cells} cells, nprobe {probes}", seconds, measured)
    elif peer == "hnsw":
        for links, breadth in [(8, 24), (8, 40), (16, 60)]:
            def build():
                index = faiss.IndexHNSWFlat(d, links, faiss.METRIC_INNER_PRODUCT)
                index.hnsw.efConstruction = breadth
                index.add(x)
                return index
            index, seconds = timed(build)
            def search(ef, rows):
                index.hnsw.efSearch = ef
                return index.search(rows, k + 1)[1]
            ef, seconds, measured = tune(search, [k + 1, 80, 128, 192, 256, 384, 512], seconds)
            setting = f"M {links}, efConstruction {breadth}, efSearch {ef}"
            report(f"faiss {faiss.__version__} HNSWFlat", setting, seconds, measured)
    elif peer == "usearch":
        import usearch
        from usearch.index import Index
        for links, breadth in [(8, 24), (8, 40), (16, 64)]:
            def build():
                index = Index(ndim=d, metric="ip", dtype="f32", connectivity=links, expansion_add=breadth)
                index.add(np.arange(n), x, threads=1)
                return index
            index, seconds = timed(build)
            def search(ef, rows):
                index.expansion_search = ef
                return index.search(rows, k + 1, threads=1).keys
            ef, seconds, measured = tune(search, [k + 1, 80, 128, 192, 256, 384, 512], seconds)
            setting = f"connectivity {links}, expansion_add {breadth}, expansion_search {ef}"
            report(f"usearch {usearch.__version__}", setting, seconds, measured)
