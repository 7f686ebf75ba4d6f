"""Time, memory and accuracy beside scikit-learn's LabelSpreading, metric-learn and pytorch-metric-learning, on the same data.

    python crates/likewise-py/benches/beside.py [--items 10000] [--columns 64] [--seed 0] [--out results/python/README.md]

Needs an optimised extension (that of `pip install`), scikit-learn, scipy, metric-learn, and for losses torch and
pytorch-metric-learning; what is missing is a row that says so. Each run is in a child process, whose peak memory above that
of the data is printed; all use the same number of threads. A loss is a batch of 512 rows of 128 numbers, four of a class, with its
gradient, ten times.
"""

import argparse
import multiprocessing
import os
import platform
import sys
import time


def data(n, columns, seed, classes=10):
    import numpy as np

    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    places = rng.normal(size=(classes, 4, columns))
    x = places[truth, rng.integers(0, 4, n)] + 1.2 * rng.normal(size=(n, columns))
    y = np.full(n, -1)
    for c in range(classes):
        y[rng.permutation(np.flatnonzero(truth == c))[:20]] = c
    return x.astype(np.float32), y, truth


def ours(x, y, truth):
    import likewise

    return (likewise.LabelPropagation("mixed", n_neighbors=20).fit(x, y).transduction_ == truth).mean()


def ours_lgc(x, y, truth):
    import likewise

    fit = likewise.LabelPropagation("lgc", parameters={"mass": "uniform"}, n_neighbors=20).fit(x, y)
    return (fit.transduction_ == truth).mean()


def spreading_knn(x, y, truth):
    from sklearn.semi_supervised import LabelSpreading

    fit = LabelSpreading(kernel="knn", n_neighbors=20, alpha=0.99, max_iter=100, n_jobs=-1).fit(x, y)
    return (fit.transduction_ == truth).mean()


def spreading_rbf(x, y, truth):
    from sklearn.semi_supervised import LabelSpreading

    fit = LabelSpreading(kernel="rbf", gamma=1 / x.shape[1], alpha=0.99, max_iter=100).fit(x, y)
    return (fit.transduction_ == truth).mean()


def nearest(train, labels, test, truth):
    from sklearn.neighbors import KNeighborsClassifier

    return (KNeighborsClassifier(5).fit(train, labels).predict(test) == truth).mean()


def learned(fit, transform, x, truth):
    n = min(len(x) // 2, 1000)
    model = fit(x[:n], truth[:n])
    return nearest(transform(model, x[:n]), truth[:n], transform(model, x[n : n + 2000]), truth[n : n + 2000])


def bounds(x):
    """The 5th and 95th percentile of squared distances, as ITML is printed. Given to both, since metric-learn alone would take
    those of distances, and solve another problem."""
    import numpy as np
    from scipy.spatial.distance import pdist

    return np.percentile(pdist(x, "sqeuclidean"), (5, 95))


def of_likewise(recipe):
    def run(x, y, truth):
        import likewise

        def make(a, b):
            settings = {}
            if recipe == "itml":
                alike, unlike = bounds(a)
                settings = {"learner": {"bounds": {"kind": "squared", "alike": alike, "unlike": unlike}}}
            return likewise.MetricLearner(recipe, settings=settings, measure=False).fit(a, b)

        return learned(make, lambda m, a: m.transform(a), x, truth)

    return run


def of_metric_learn(name):
    def run(x, y, truth):
        import metric_learn

        make = lambda a, b: getattr(metric_learn, name)(random_state=0).fit(
            a, b, **({"bounds": bounds(a)} if name.startswith("ITML") else {})
        )
        return learned(make, lambda m, a: m.transform(a), x, truth)

    return run


REPEATS = 10
LOSSES = {
    "contrastive": "ContrastiveLoss",
    "triplet": "TripletMarginLoss",
    "multi-similarity": "MultiSimilarityLoss",
    "nt-xent": "NTXentLoss",
    "fast-ap": "FastAPLoss",
}


def batch():
    import numpy as np

    rows = np.random.default_rng(1).normal(size=(512, 128)).astype(np.float32)
    return rows, np.arange(512) % 128


def loss_of_likewise(name):
    def run(*_):
        import likewise

        rows, classes = batch()
        of = getattr(likewise.losses, name.replace("-", "_"))
        for _ in range(REPEATS):
            value, _ = of(rows, classes)
        return float(value)

    return run


def loss_of_peer(name):
    def run(*_):
        import torch
        from pytorch_metric_learning import losses

        rows, classes = batch()
        rows, classes = torch.from_numpy(rows).requires_grad_(), torch.from_numpy(classes)
        of = getattr(losses, LOSSES[name])()
        for _ in range(REPEATS):
            rows.grad = None
            value = of(rows, classes)
            value.backward()
        return value.item()

    return run


CASES = {
    "likewise mixed": ours,
    "likewise lgc, uniform mass": ours_lgc,
    "scikit-learn LabelSpreading knn": spreading_knn,
    "scikit-learn LabelSpreading rbf": spreading_rbf,
    "likewise itml": of_likewise("itml"),
    "metric-learn ITML_Supervised": of_metric_learn("ITML_Supervised"),
    "likewise rca": of_likewise("rca"),
    "metric-learn RCA_Supervised": of_metric_learn("RCA_Supervised"),
    "likewise nca": of_likewise("nca"),
    "metric-learn NCA": of_metric_learn("NCA"),
    "likewise lmnn": of_likewise("lmnn"),
    "metric-learn LMNN": of_metric_learn("LMNN"),
}
for loss in LOSSES:
    CASES[f"likewise loss {loss}"] = loss_of_likewise(loss)
    CASES[f"pytorch-metric-learning {loss}"] = loss_of_peer(loss)


def versions():
    from importlib.metadata import PackageNotFoundError, version

    for name in ("scikit-learn", "metric-learn", "torch", "pytorch-metric-learning", "numpy"):
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"no {name}"


def peak():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024


def measured(name, given, pipe):
    import numpy as np

    x, y, truth = given
    try:
        # What is imported counts for nobody.
        CASES[name](x[:200], np.where(np.arange(200) < 100, truth[:200], -1), truth[:200])
        before, begun = peak(), time.perf_counter()
        right = CASES[name](x, y, truth)
        pipe.send((time.perf_counter() - begun, peak() - before, right))
    except Exception as e:  # A peer that fails is a row that says so.
        pipe.send(f"{type(e).__name__}: {e}"[:100])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", help="a page with the table")
    args = parser.parse_args()
    given = data(args.items, args.columns, args.seed)
    about = (
        f"{args.items:,} items x {args.columns}, 10 classes, 20 labels each, seed {args.seed}; metrics are learned "
        f"from {min(args.items // 2, 1000)} labeled items; {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {sys.version.split()[0]}"
    )
    print(about)
    print(f"{'':40}{'seconds':>9}{'MiB':>9}{'right':>8}")
    page = [
        "# From Python, beside what is there",
        "",
        "Written by `python crates/likewise-py/benches/beside.py --out FILE`, whose first lines say how.",
        f"{about}. {', '.join(versions())}.",
        "",
        "*Right* is the share of right classes, of a loss its value; *MiB* what the peak of memory grew by. The seconds of a loss are of",
        f"{REPEATS} batches of 512 rows of 128 numbers, four of a class, with gradients.",
        "",
        "| | seconds | MiB | right |",
        "|---|---:|---:|---:|",
    ]
    for name in CASES:
        if args.only not in name:
            continue
        receive, send = multiprocessing.Pipe()
        child = multiprocessing.get_context("spawn").Process(target=measured, args=(name, given, send))
        child.start()
        child.join()
        answer = receive.recv() if receive.poll() else f"ended with code {child.exitcode}"
        if isinstance(answer, str):
            print(f"{name:42}{answer}")
            page.append(f"| {name} | {answer} | | |")
        else:
            seconds, memory, right = answer
            print(f"{name:42}{seconds:9.3g}{memory:9.0f}{right:8.3f}")
            page.append(f"| {name} | {seconds:.3g} | {memory:.0f} | {right:.3f} |")
    if args.out:
        os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
        with open(args.out, "w") as file:
            file.write("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
