"""The nearest codes by faiss, for the bench `codes`.

    codes.py FOLDER N BITS QUERIES K

FOLDER holds codes.u64 and queries.u64, N and QUERIES codes of BITS bits in little-endian words, and
distances.u32, the QUERIES x K distances that were found. One thread; prints one line, with the CPU
seconds of the search alone, and fails where the distances differ.
"""

import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import time

import faiss
import numpy as np

faiss.omp_set_num_threads(1)
folder, n, bits, queries, k = sys.argv[1], *map(int, sys.argv[2:])


def codes(name, rows):
    return np.fromfile(os.path.join(folder, name), dtype=np.uint8).reshape(rows, bits // 8)


index = faiss.IndexBinaryFlat(bits)
index.add(codes("codes.u64", n))
asked = codes("queries.u64", queries)
begin = time.process_time()
distances, _ = index.search(asked, k)
seconds = time.process_time() - begin
wanted = np.fromfile(os.path.join(folder, "distances.u32"), dtype=np.uint32).reshape(queries, k)
if not np.array_equal(np.sort(distances, axis=1), wanted.astype(distances.dtype)):
    sys.exit("faiss and likewise found other distances")
print(f"faiss {faiss.__version__} IndexBinaryFlat: core_seconds {seconds:.2f}, the same distances")
