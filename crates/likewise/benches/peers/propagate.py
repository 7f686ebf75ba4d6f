"""The work of the bench `propagate` by numpy, scipy and scikit-learn: same graph, labels
and tolerance.

    RAYON_NUM_THREADS=1 cargo bench -p likewise --bench propagate -- classes=10 save=FOLDER
    OPENBLAS_CORETYPE=SKYLAKEX OMP_NUM_THREADS=1 python3 propagate.py FOLDER [tolerance]

- harmonic: scipy.sparse.linalg.cg, one call a class, Jacobi preconditioner, rtol = tolerance,
  on (L + U) F' = U (Y - 1 pi^T), float64, CSR matrix.
- negative edges: numpy over blocks of edges (the block size that was fastest here), each
  edge once, both directions.
- mixed: cg as above on L + U + (D_S + S), from zero.
- scikit-learn LabelSpreading(alpha=0.99) on the given graph, iterated until its labels are
  those of the solution by cg on 99.9 %, 99.99 % and all of the items. The last line says
  what share likewise's have.
Seconds are CPU time of the process.
"""

import pathlib
import sys
import time
import warnings

import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.semi_supervised import LabelSpreading

MU = 1 / 99
LAMBDA = 3.0

folder = pathlib.Path(sys.argv[1])
tolerance = float(sys.argv[2]) if len(sys.argv) > 2 else 1e-6
indptr = np.fromfile(folder / "indptr.u64", np.uint64).astype(np.int64)
indices = np.fromfile(folder / "indices.u32", np.uint32).astype(np.int32)
weights = np.fromfile(folder / "weights.f32", np.float32).astype(np.float64)
labels = np.fromfile(folder / "labels.i32", np.int32)
truth = np.fromfile(folder / "truth.i32", np.int32)
n = len(labels)
if len(indices) < 2**31:
    indptr = indptr.astype(np.int32)
W = sp.csr_matrix((weights, indices, indptr), shape=(n, n))
classes = labels.max() + 1
labeled = np.flatnonzero(labels >= 0)
Y = np.zeros((n, classes))
Y[labeled, labels[labeled]] = 1
D = np.asarray(W.sum(axis=1)).ravel()
u = np.where(labels >= 0, MU, 0.0)
components, component = sp.csgraph.connected_components(W, directed=False)
if components != 1:
    sys.exit("this script expects a connected graph")

cpu = time.process_time
print(
    f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}; "
    f"n {n}, classes {classes}, entries {W.nnz}, labels {len(labeled)}, tolerance {tolerance:.0e}"
)


def solve(M, B):
    """CG of every column; solution, CPU seconds, largest number of iterations."""
    begin, most = cpu(), 0
    inverse = 1 / M.diagonal()
    jacobi = LinearOperator((n, n), matvec=lambda r: inverse * r, dtype=np.float64)
    X = np.zeros(B.shape)
    for c in range(B.shape[1]):
        count = 0

        def step(_):
            nonlocal count
            count += 1

        X[:, c], info = cg(M, B[:, c], rtol=tolerance, atol=0, maxiter=1000, M=jacobi, callback=step)
        assert info == 0, info
        most = max(most, count)
    return X, cpu() - begin, most


def ours(name):
    path = folder / f"{name}.seconds"
    return float(np.fromfile(path, np.float64)[0]) if path.exists() else float("nan")


def compare(name, seconds, scores, detail):
    line = f"{name}: {seconds:.2f} core-s ({detail})"
    path = folder / f"{name}.i32"
    if path.exists():
        mine = np.fromfile(path, np.int32)
        same = (mine == scores.argmax(1)).mean()
        line += f"; likewise {ours(name):.2f} core-s, ratio {seconds / ours(name):.1f}, same labels {same:.5f}"
    print(line, flush=True)


begin = cpu()
A = (sp.diags(D + u) - W).tocsr()
setup = cpu() - begin
pi = Y[labeled].mean(0)
F, seconds, most = solve(A, u[:, None] * (Y - pi))
F -= (u @ F) / u.sum()
harmonic = setup + seconds
G = F.copy()
compare("harmonic", harmonic, G, f"{most} iterations at most")


def negatives(block):
    z = (F - F.mean(0)) / F.std(0)
    row = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    upper = np.flatnonzero(row < indices)
    S = np.zeros(W.nnz)

    def estimate(i, j, w):
        a = LAMBDA * (D[i, None] * z[i] - w[:, None] * z[j]) / (D[i] - w)[:, None]
        a -= a.max(1, keepdims=True)
        e = np.exp(a)
        s = e.sum(1)
        omega = 1 - (np.log(s) - (a * e).sum(1) / s) / np.log(classes)
        return e / s[:, None], np.clip(omega, 0, 1)

    for first in range(0, len(upper), block):
        e = upper[first : first + block]
        i, j, w = row[e], indices[e], weights[e]
        p, omega_p = estimate(i, j, w)
        q, omega_q = estimate(j, i, w)
        S[e] = omega_p * omega_q * (1 - (p * q).sum(1)) * w
    half = sp.csr_matrix((S[upper], (row[upper], indices[upper])), shape=(n, n))
    return (half + half.T).tocsr()


best = None
for block in (4096, 65536):
    begin = cpu()
    S = negatives(block)
    seconds = cpu() - begin
    print(f"negative edges: {seconds:.2f} core-s (numpy, blocks of {block} edges)", flush=True)
    best = seconds if best is None else min(best, seconds)

begin = cpu()
M = (A + sp.diags(np.asarray(S.sum(axis=1)).ravel()) + S).tocsr()
setup = cpu() - begin
G, seconds, most = solve(M, u[:, None] * Y)
compare("mixed", harmonic + best + setup + seconds, G, f"{most} iterations at most in the second solve")
print(
    f"mixed without its negative edges (two solves): {harmonic + setup + seconds:.2f} core-s, "
    f"ratio to all of likewise's {(harmonic + setup + seconds) / ours('mixed'):.1f}"
)

spread = LabelSpreading(kernel=lambda x, y: None, alpha=0.99, max_iter=1, tol=0)
# The class takes a dense kernel matrix only; its loop takes any that multiplies.
spread._build_graph = lambda: (sp.diags(1 / np.sqrt(D)) @ W @ sp.diags(1 / np.sqrt(D))).tocsr()
index = np.arange(n)[:, None]


def run(iterations):
    spread.max_iter = iterations
    begin = cpu()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread.fit(index, labels)
    return spread.label_distributions_.argmax(1), cpu() - begin


H, _, _ = solve((sp.diags((1 + MU) * D) - W).tocsr(), (MU * np.sqrt(D))[:, None] * Y)
exact = H.argmax(1)
iterations = 16
for wanted in (0.999, 0.9999, 1.0):
    while True:
        found, seconds = run(iterations)
        same = (found == exact).mean()
        if same >= wanted or iterations > 4000:
            break
        iterations *= 2
    print(
        f"scikit-learn LabelSpreading, {wanted:.2%} of the labels of the solution: {seconds:.2f} "
        f"core-s for {iterations} iterations ({1000 * seconds / iterations:.0f} core-ms each, "
        f"{same:.3%} reached); likewise lgc {ours('lgc'):.2f} core-s, ratio "
        f"{seconds / ours('lgc'):.1f}; likewise mixed, which has two solves, ratio "
        f"{seconds / ours('mixed'):.1f}",
        flush=True,
    )
path = folder / "lgc.i32"
if path.exists():
    mine = np.fromfile(path, np.int32)
    print(f"LabelSpreading and lgc: same labels {(mine == exact).mean():.5f}")
