"""The work of the bench `propagate` by numpy, scipy, scikit-learn and graphlearning: same graph,
labels and tolerance.

    RAYON_NUM_THREADS=1 cargo bench -p likewise --bench propagate -- classes=10 save=FOLDER
    OPENBLAS_CORETYPE=SKYLAKEX OMP_NUM_THREADS=1 python3 propagate.py FOLDER [tolerance=1e-6]

- `parts=scipy,graphlearning,sklearn`: those that are wanted; all without it. A program that is not
  installed is left out, and says so.
- `limit=600`: core-seconds after which a method is stopped.
- `only=poisson,laplace`: the methods of graphlearning whose names begin so.

A table of real rows, which the bench makes a graph of:

    python3 propagate.py export FILE.npz VIEW FOLDER
    cargo bench -p likewise --bench propagate -- save=FOLDER labels=1 draws=10 k=20 methods=...
    python3 propagate.py FOLDER

scipy:
- harmonic: scipy.sparse.linalg.cg, one call a class, Jacobi preconditioner, rtol = tolerance,
  on (L + U) F' = U (Y - 1 pi^T), float64, CSR matrix.
- negative edges: numpy over blocks of edges (the block size that was fastest here), each
  edge once, both directions.
- mixed: cg as above on L + U + (D_S + S), from zero.

graphlearning, each method on `gl.graph(W)`, whose making is not counted; a second accuracy and time
are those of its decision by the true sizes of the classes, where it has one. Its conjugate gradients
stop at an absolute residual, by default 1e-3: they are run so, and to `tolerance` times the length
of the right-hand side, which is what likewise's stop at.

scikit-learn, whose classes take a dense kernel matrix only, but whose loop takes any that multiplies:
LabelSpreading and LabelPropagation as they stand, and LabelSpreading(alpha=0.99) iterated until its
labels are those of the solution by cg on 99.9 %, 99.99 % and all of the items.

Each method runs in a process of its own, on every draw of labels. Seconds are its CPU time, mean of
the draws; accuracy is that on the items without a label.
"""

import multiprocessing
import pathlib
import resource
import sys
import time
import warnings

import numpy as np

MU = 1 / 99
LAMBDA = 3.0

cpu = time.process_time


def export(file, view, folder):
    """Rows and classes as the bench reads them."""
    data = np.load(file)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    data[view].astype("<f4").tofile(folder / "features.f32")
    data["label"].astype("<i4").tofile(folder / "truth.i32")


class Data:
    """What the bench saved."""

    def __init__(self, folder):
        import scipy.sparse as sp

        self.folder = folder
        self.indptr = np.fromfile(folder / "indptr.u64", np.uint64).astype(np.int64)
        self.indices = np.fromfile(folder / "indices.u32", np.uint32).astype(np.int32)
        weights = np.fromfile(folder / "weights.f32", np.float32).astype(np.float64)
        self.truth = np.fromfile(folder / "truth.i32", np.int32)
        self.n = n = len(self.truth)
        self.classes = self.truth.max() + 1
        if len(self.indices) < 2**31:
            self.indptr = self.indptr.astype(np.int32)
        self.W = sp.csr_matrix((weights, self.indices, self.indptr), shape=(n, n))
        self.D = np.asarray(self.W.sum(axis=1)).ravel()
        self.sizes = np.bincount(self.truth) / n
        features = folder / "features.f32"
        self.X = np.fromfile(features, np.float32).reshape(n, -1) if features.exists() else None
        self.draws = [np.fromfile(folder / "labels.i32", np.int32)]
        while (path := folder / f"labels-{len(self.draws)}.i32").exists():
            self.draws.append(np.fromfile(path, np.int32))

    def one_hot(self, labels):
        labeled = np.flatnonzero(labels >= 0)
        Y = np.zeros((self.n, self.classes))
        Y[labeled, labels[labeled]] = 1
        return labeled, Y

    def right(self, found, labels):
        open_ = labels < 0
        return (found == self.truth)[open_].mean()

    def ours(self, name):
        """Accuracy and core-seconds of likewise, mean of the draws."""
        path = self.folder / f"{name}.seconds"
        if not path.exists():
            return float("nan"), float("nan")
        found = [f"{name}-{d}" if d else name for d in range(len(self.draws))]
        found = [self.folder / f"{name}.i32" for name in found]
        right = [
            self.right(np.fromfile(path, np.int32), labels)
            for path, labels in zip(found, self.draws)
            if path.exists()
        ]
        return float(np.mean(right)), float(np.fromfile(path, np.float64).mean())


def alone(work, limit):
    """What `work` gives in a process of its own; a word where it does not."""
    receive, send = multiprocessing.Pipe(False)

    def child():
        used = resource.getrusage(resource.RUSAGE_SELF)
        used = int(used.ru_utime + used.ru_stime)
        resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            send.send(work())

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        return f"failed, or took more than {limit} core-s"
    finally:
        process.join()


class Table:
    HEAD = "peer | accuracy | core-s | of likewise | accuracy | core-s | times as fast"

    def __init__(self, data, limit):
        self.data, self.limit, self.lines = data, limit, []

    def add(self, peer, right, seconds, name=None):
        if name is None:
            ours = " | | |"
        else:
            accuracy, time = self.data.ours(name)
            ours = f"{name} | {accuracy:.4f} | {time:.2f} | {seconds / time:.1f}"
        self.lines.append(f"| {peer} | {right:.4f} | {seconds:.2f} | {ours} |")
        print(self.lines[-1], flush=True)

    def measure(self, peer, work, name=None, by_size=None):
        """`work(labels)` gives pairs of classes and seconds: as they are, and by the sizes."""
        kinds = [(peer, name), (f"{peer}, true sizes", by_size)]
        found = []
        for labels in self.data.draws:
            pairs = alone(lambda: work(labels), self.limit)
            if isinstance(pairs, str):
                print(f"{peer}: {pairs}", flush=True)
                return
            found.append([(self.data.right(c, labels), seconds) for c, seconds in pairs])
        means = np.mean(found, axis=0)
        for (peer, name), (right, seconds) in zip(kinds, means):
            self.add(peer, right, seconds, name)

    def show(self):
        print(f"\n| {self.HEAD} |")
        print("|" + "---|" * (self.HEAD.count("|") + 1))
        print("\n".join(self.lines))


def solve(M, B, tolerance):
    """CG of every column; solution, CPU seconds, largest number of iterations."""
    from scipy.sparse.linalg import LinearOperator, cg

    begin, most, n = cpu(), 0, B.shape[0]
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


def negatives(data, F, block):
    import scipy.sparse as sp

    W, D, n = data.W, data.D, data.n
    z = (F - F.mean(0)) / F.std(0)
    row = np.repeat(np.arange(n, dtype=np.int32), np.diff(data.indptr))
    upper = np.flatnonzero(row < data.indices)
    S = np.zeros(W.nnz)

    def estimate(i, j, w):
        a = LAMBDA * (D[i, None] * z[i] - w[:, None] * z[j]) / (D[i] - w)[:, None]
        a -= a.max(1, keepdims=True)
        e = np.exp(a)
        s = e.sum(1)
        omega = 1 - (np.log(s) - (a * e).sum(1) / s) / np.log(data.classes)
        return e / s[:, None], np.clip(omega, 0, 1)

    for first in range(0, len(upper), block):
        e = upper[first : first + block]
        i, j, w = row[e], data.indices[e], W.data[e]
        p, omega_p = estimate(i, j, w)
        q, omega_q = estimate(j, i, w)
        S[e] = omega_p * omega_q * (1 - (p * q).sum(1)) * w
    half = sp.csr_matrix((S[upper], (row[upper], data.indices[upper])), shape=(n, n))
    return (half + half.T).tocsr()


def by_scipy(data, table, tolerance):
    import scipy
    import scipy.sparse as sp

    print(f"scipy {scipy.__version__}")
    if sp.csgraph.connected_components(data.W, directed=False)[0] != 1:
        print("scipy: left out, its solves are written for a connected graph")
        return

    def harmonic(labels):
        begin = cpu()
        labeled, Y = data.one_hot(labels)
        u = np.where(labels >= 0, MU, 0.0)
        A = (sp.diags(data.D + u) - data.W).tocsr()
        pi = Y[labeled].mean(0)
        setup = cpu() - begin
        F, seconds, _ = solve(A, u[:, None] * (Y - pi), tolerance)
        F -= (u @ F) / u.sum()
        return A, u, Y, F, setup + seconds

    def mixed(labels):
        A, u, Y, F, first = harmonic(labels)
        best = np.inf
        for block in (4096, 65536):
            begin = cpu()
            S = negatives(data, F, block)
            best = min(best, cpu() - begin)
        begin = cpu()
        M = (A + sp.diags(np.asarray(S.sum(axis=1)).ravel()) + S).tocsr()
        setup = cpu() - begin
        G, seconds, _ = solve(M, u[:, None] * Y, tolerance)
        return [(G.argmax(1), first + best + setup + seconds)]

    def harmonic_alone(labels):
        _, _, _, F, seconds = harmonic(labels)
        return [(F.argmax(1), seconds)]

    table.measure("scipy cg, harmonic", harmonic_alone, "harmonic")
    table.measure("numpy and scipy, mixed", mixed, "mixed")


def by_graphlearning(data, table, tolerance, only):
    import graphlearning as gl
    from importlib.metadata import version

    print(f"graphlearning {version('graphlearning')}, its C extensions, one thread")
    graph = gl.graph(data.W)

    def run(make, decide=True):
        def work(labels):
            labeled = np.flatnonzero(labels >= 0)
            model = make(labeled, labels)
            begin = cpu()
            model.fit(labeled, labels[labeled])
            found = [(model.predict(), cpu() - begin)]
            if decide:
                model.class_priors = data.sizes / data.sizes.sum()
                model.volume_label_projection()
                found.append((model.predict(), cpu() - begin))
            return found

        return work

    def to_tolerance(labeled, labels):
        """The absolute residual that is `tolerance` times the right-hand side."""
        _, Y = data.one_hot(labels)
        b = (Y[labeled] - Y[labeled].mean(0)) / np.sqrt(data.D[labeled])[:, None]
        return tolerance * np.linalg.norm(b)

    ssl = gl.ssl
    fine = lambda at, y: ssl.poisson(graph, tol=to_tolerance(at, y))
    methods = [
        ("poisson", run(lambda at, y: ssl.poisson(graph)), "poisson@1e-3", "poisson-known@1e-3"),
        (f"poisson to {tolerance:.0e}", run(fine), "poisson", "poisson-known"),
        (
            "poisson_mbo, true sizes",
            run(lambda at, y: ssl.poisson_mbo(graph, data.sizes), decide=False),
            "poisson-mbo-paper-known",
            None,
        ),
        ("laplace", run(lambda at, y: ssl.laplace(graph)), "harmonic", None),
    ]
    for reweighting in ("poisson", "wnll", "properly"):
        if reweighting == "properly" and data.X is None:
            print("laplace, properly: left out, it needs the features, which were not saved")
            continue
        make = lambda at, y, r=reweighting: ssl.laplace(graph, reweighting=r, X=data.X)
        methods.append((f"laplace, {reweighting}", run(make), None, None))
    for p in (3, 10):
        make = lambda at, y, p=p: ssl.plaplace(graph, p=p)
        methods.append((f"plaplace, p = {p}", run(make), None, None))
    methods.append(("centered_kernel", run(lambda at, y: ssl.centered_kernel(graph)), None, None))
    for peer, work, name, by_size in methods:
        if only is None or peer.startswith(tuple(only)):
            table.measure(f"graphlearning {peer}", work, name, by_size)


def by_sklearn(data, table, tolerance):
    import scipy.sparse as sp
    import sklearn
    from sklearn.semi_supervised import LabelPropagation, LabelSpreading

    print(f"scikit-learn {sklearn.__version__}")
    half = sp.diags(1 / np.sqrt(data.D))
    normal, walk = (half @ data.W @ half).tocsr(), (sp.diags(1 / data.D) @ data.W).tocsr()
    index = np.arange(data.n)[:, None]

    def fit(model, matrix, labels):
        model._build_graph = lambda: matrix
        begin = cpu()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(index, labels)
        return model.label_distributions_.argmax(1), cpu() - begin

    none = lambda x, y: None
    spreading = lambda labels: [fit(LabelSpreading(none), normal, labels)]
    table.measure("scikit-learn LabelSpreading as it stands", spreading, "lgc")
    propagation = lambda labels: [fit(LabelPropagation(none), walk, labels)]
    table.measure("scikit-learn LabelPropagation as it stands", propagation, "harmonic")

    for wanted in (0.999, 0.9999, 1.0):

        def enough(labels):
            _, Y = data.one_hot(labels)
            A = (sp.diags((1 + MU) * data.D) - data.W).tocsr()
            H, _, _ = solve(A, (MU * np.sqrt(data.D))[:, None] * Y, tolerance)
            exact, iterations = H.argmax(1), 16
            while True:
                model = LabelSpreading(none, alpha=0.99, max_iter=iterations, tol=0)
                found, seconds = fit(model, normal, labels)
                if (found == exact).mean() >= wanted or iterations > 4000:
                    return [(found, seconds)]
                iterations *= 2

        peer = f"scikit-learn LabelSpreading(alpha=0.99), {wanted:.2%} of its limit's labels"
        table.measure(peer, enough, "lgc")


def main():
    if sys.argv[1] == "export":
        export(*sys.argv[2:])
        return
    given = dict(a.split("=", 1) for a in sys.argv[2:])
    tolerance = float(given.get("tolerance", 1e-6))
    parts = given.get("parts", "scipy,graphlearning,sklearn").split(",")
    only = given["only"].split(",") if "only" in given else None
    data = Data(pathlib.Path(sys.argv[1]))
    table = Table(data, int(given.get("limit", 600)))
    print(
        f"numpy {np.__version__}; n {data.n}, classes {data.classes}, entries {data.W.nnz}, labels "
        f"{(data.draws[0] >= 0).sum()}, {len(data.draws)} draws, tolerance {tolerance:.0e}"
    )
    work = {
        "scipy": lambda: by_scipy(data, table, tolerance),
        "graphlearning": lambda: by_graphlearning(data, table, tolerance, only),
        "sklearn": lambda: by_sklearn(data, table, tolerance),
    }
    for part in parts:
        try:
            work[part]()
        except ImportError as missing:
            print(f"{part}: left out, {missing}")
    table.show()


main()
