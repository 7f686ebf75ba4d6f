"""Metric learners beside those of the library metric-learn, on the same rows and pairs.

    cargo bench -p likewise --bench metric --no-run    # prints the path of BENCH
    python metric.py BENCH DATA OUT.md [--limit 120] [--only SET] [--learners itml,rca]

What was measured is kept beside OUT.md, in cases.json: a case that stands there is not measured again, and runs
of other cases write the same page. Each fit is a process of its own with one thread, under a limit of time and memory; where the peer does
not end within the limit, both get half of the rows or pairs, until it does. Core-seconds of the fit
alone; memory is the peak of the process less what it had before the fit. The objective is computed here, by one
function for both. R@1 is that of the learned distance on rows that neither has seen. Needs numpy,
scikit-learn, metric-learn.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
os.environ.update({name: "1" for name in THREADS})

import numpy as np

SEED = 1
# Name and file under DATA.
SETS = [
    ("letter", "classical/letter.npz"),
    ("pendigits", "classical/pendigits.npz"),
    ("isolet", "classical/isolet1560.npz"),
]
# Rows or pairs that a learner begins with.
SIZES = {"rca": 10_000, "itml": 5_000, "mmc": 2_000, "lmnn": 1_000, "nca": 2_000}
# The same in hundreds of columns.
WIDE = {"rca": 10_000, "itml": 1_000, "mmc": 100, "lmnn": 400, "nca": 1_000}
OF_PAIRS = ("itml", "mmc")
TESTED = 4_000
MEMORY = 6 << 30


def load(path):
    arrays = np.load(path, allow_pickle=True)
    x = next(arrays[k] for k in arrays.files if arrays[k].ndim == 2).astype(np.float32)
    y = next(arrays[k] for k in arrays.files if arrays[k].ndim == 1 and len(arrays[k]) == len(x))
    # Columns of one size: no learner here is meant for others.
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-6)
    return x.astype(np.float32), np.unique(y, return_inverse=True)[1].astype(np.uint32)


def draw_pairs(y, count, rng):
    """Half alike, half unlike, each once; alike ones first, as ITML goes over them."""
    found = {True: set(), False: set()}
    by_class = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    half = count // 2
    while min(len(of) for of in found.values()) < half:
        a = rng.integers(len(y))
        b = rng.choice(by_class[y[a]]) if len(found[True]) < half else rng.integers(len(y))
        kind = found[y[a] == y[b]]
        if a != b and len(kind) < half:
            kind.add((min(a, b), max(a, b)))
    alike, unlike = sorted(found[True]), sorted(found[False])
    return np.array([(a, b, 1) for a, b in alike] + [(a, b, -1) for a, b in unlike], dtype=np.int32)


def task(folder, x, y, size, learner, rng):
    """Writes what is learned from; the rows that both see."""
    if learner in OF_PAIRS:
        pairs = draw_pairs(y, size, rng)
        used = np.unique(pairs[:, :2])
        place = np.zeros(len(y), dtype=np.int32)
        place[used] = np.arange(len(used))
        pairs[:, :2] = place[pairs[:, :2]]
    else:
        used = np.sort(rng.permutation(len(y))[:size])
        pairs = np.zeros((0, 3), dtype=np.int32)
    own, classes = x[used], y[used]
    some = own[rng.integers(len(own), size=(2, 10_000))]
    squares = ((some[0] - some[1]) ** 2).sum(axis=1)
    bounds = np.percentile(squares[squares > 0], (5, 95))
    (folder / "shape.txt").write_text(f"{own.shape[0]} {own.shape[1]}\n")
    (folder / "bounds.txt").write_text(f"{bounds[0]} {bounds[1]}\n")
    own.tofile(folder / "rows.f32")
    classes.tofile(folder / "class.u32")
    pairs.tofile(folder / "pairs.i32")
    return len(own)


def read_task(folder):
    shape = tuple(int(v) for v in (folder / "shape.txt").read_text().split())
    x = np.fromfile(folder / "rows.f32", dtype=np.float32).reshape(shape)
    y = np.fromfile(folder / "class.u32", dtype=np.uint32)
    pairs = np.fromfile(folder / "pairs.i32", dtype=np.int32).reshape(-1, 3)
    bounds = np.array([float(v) for v in (folder / "bounds.txt").read_text().split()])
    return x.astype(np.float64), y.astype(np.int64), pairs, bounds


def peer(folder, learner):
    """One fit of metric-learn, in this process."""
    warnings.filterwarnings("ignore")
    import metric_learn

    x, y, pairs, bounds = read_task(folder)
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if learner in OF_PAIRS:
        given = (x[pairs[:, :2]], pairs[:, 2])
    else:
        given = (x, y)
    make = {
        "itml": lambda: metric_learn.ITML(),
        "mmc": lambda: metric_learn.MMC(),
        "rca": lambda: metric_learn.RCA(),
        "lmnn": lambda: metric_learn.LMNN(init="identity", n_neighbors=3),
        "nca": lambda: metric_learn.NCA(init="identity"),
    }[learner]
    before, begin, times = peak(), time.process_time(), 0
    while True:
        fitted = make()
        if learner == "itml":
            fitted.fit(*given, bounds=bounds)
        else:
            fitted.fit(*given)
        times += 1
        spent = time.process_time() - begin
        if spent >= 0.5:
            break
    fitted.get_mahalanobis_matrix().tofile(folder / "peer.f64")
    print(json.dumps([spent / times, peak() - before]))


def limited(command, limit):
    """What a command prints, or why it ended: core-seconds or memory."""

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limits)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None, f"{limit:.0f} s"
    if done.returncode != 0:
        if "MemoryError" in done.stderr or "Unable to allocate" in done.stderr:
            return None, "memory"
        sys.exit(done.stderr)
    return done.stdout, None


def objective(learner, m, folder):
    """What the learner minimises, of the metric `m`; of RCA none: it is in closed form."""
    x, y, pairs, bounds = read_task(folder)
    values, vectors = np.linalg.eigh((m + m.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    z = x @ root
    if learner in OF_PAIRS:
        squares = ((z[pairs[:, 0]] - z[pairs[:, 1]]) ** 2).sum(axis=1)
        alike, unlike = squares[pairs[:, 2] > 0], squares[pairs[:, 2] < 0]
        if learner == "mmc":
            # The sum of the distances of unlike pairs, once alike ones have squares of sum 1.
            return -np.sqrt(unlike).sum() / np.sqrt(alike.sum())
        # The nearest slack that lets every pair in, gamma 1: a bound gives way to the distance itself.
        lax = lambda ratio: ratio - np.log(ratio) - 1
        slack = lax(np.maximum(alike / bounds[0], 1)).sum() + lax(np.minimum(unlike / bounds[1], 1)).sum()
        return np.trace(m) - np.linalg.slogdet(m)[1] - len(m) + slack
    if learner == "rca":
        return None
    squares = (z**2).sum(axis=1)[:, None] + (z**2).sum(axis=1)[None] - 2 * z @ z.T
    same = y[:, None] == y[None]
    if learner == "nca":
        np.fill_diagonal(squares, np.inf)
        near = np.exp(-(squares - squares.min(axis=1, keepdims=True)))
        return -((near * same).sum(axis=1) / near.sum(axis=1)).sum()
    given = (x**2).sum(axis=1)[:, None] + (x**2).sum(axis=1)[None] - 2 * x @ x.T
    given[~same] = np.inf
    np.fill_diagonal(given, np.inf)
    targets = np.argsort(given, axis=1, kind="stable")[:, :3]
    pull, push = 0.0, 0.0
    for i, own in enumerate(targets):
        near = squares[i, own]
        pull += near.sum()
        others = squares[i, ~same[i]]
        push += np.maximum(1 + near[:, None] - others[None], 0).sum()
    return 0.5 * pull + 0.5 * push


def recall(m, x, y):
    """R@1 of rows among each other."""
    values, vectors = np.linalg.eigh((m + m.T) / 2)
    z = x.astype(np.float64) @ (vectors * np.sqrt(np.maximum(values, 0)))
    norms = (z**2).sum(axis=1)
    right = 0
    for at in range(0, len(z), 500):
        some = slice(at, at + 500)
        squares = norms[None] - 2 * z[some] @ z.T
        squares[np.arange(len(squares)), np.arange(at, at + len(squares))] = np.inf
        right += (y[squares.argmin(axis=1)] == y[some]).sum()
    return right / len(z)


def measure(name, learner, data, bench, limit):
    x, y = data
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(x))
    test, train = order[: min(TESTED, len(x) // 2)], order[min(TESTED, len(x) // 2) :]
    size, why = (WIDE if x.shape[1] > 100 else SIZES)[learner], None
    if learner not in OF_PAIRS:
        size = min(size, len(train))
    while True:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            rows = task(folder, x[train], y[train], size, learner, np.random.default_rng(SEED))
            said, stopped = limited([sys.executable, __file__, "--peer", learner, str(folder)], limit)
            if said is None:
                why, size = stopped, size // 2
                if size < 10:
                    return None
                continue
            theirs = json.loads(said)
            said, stopped = limited([bench, f"folder={folder}", f"learner={learner}"], 5 * limit)
            if said is None:
                sys.exit(f"{name} {learner}: {stopped}")
            ours = [float(word) for word in said.split()[:2]]
            d = x.shape[1]
            read = lambda file: np.fromfile(folder / file, dtype=np.float64).reshape(d, d)
            metrics = [read("likewise.f64"), read("peer.f64")]
            sound = bool(np.isfinite(metrics[1]).all())
            scored = metrics if sound else metrics[:1]
            return {
                "set": name,
                "d": d,
                "learner": learner,
                "size": size,
                "rows": rows,
                "why": why,
                "seconds": [ours[0], theirs[0]],
                "memory": [ours[1], theirs[1]],
                "sound": sound,
                "objective": [objective(learner, m, folder) for m in scored],
                "apart": np.abs(metrics[0] - metrics[1]).max() / np.abs(metrics[1]).max() if sound else None,
                "recall": [recall(m, x[test], y[test]) for m in [*scored, np.eye(d)]],
                "tested": len(test),
            }


def cells(row):
    of = "pairs" if row["learner"] in OF_PAIRS else "rows"
    size = f"{row['size']} {of}" + (f" ({row['why']})" if row["why"] else "")
    ours, theirs = row["seconds"]
    if not row["sound"]:
        reached, value = True, "the peer's has NaN"
    elif row["objective"][0] is None:
        reached, value = True, f"matrices {row['apart']:.0e} apart"
    else:
        ours_at, theirs_at = row["objective"]
        reached = ours_at <= theirs_at + 1e-3 * abs(theirs_at)
        value = f"{ours_at:.5g} / {theirs_at:.5g}"
    ratio = f"{theirs / ours:.1f}" + ("" if reached else ", not reached")
    time_of = lambda s: f"{s:.2g}" if s < 100 else f"{s:.0f}"
    memory = " / ".join(f"{kib / 1024:.0f}" for kib in row["memory"])
    found = [f"{r:.3f}" for r in row["recall"]]
    found = " / ".join(found if row["sound"] else [found[0], "-", found[1]])
    return [row["set"], row["learner"], size, f"{time_of(ours)} / {time_of(theirs)}", ratio, value, found, memory]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("bench")
    arguments.add_argument("data", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--limit", type=float, default=120)
    arguments.add_argument("--only")
    arguments.add_argument("--learners", default=",".join(SIZES))
    asked = arguments.parse_args()
    import metric_learn
    import sklearn

    for name, file in SETS:
        if asked.only and asked.only != name:
            continue
        data = load(asked.data / file)
        for learner in asked.learners.split(","):
            if any((r["set"], r["learner"]) == (name, learner) for r in kept(asked.out)):
                continue
            row = measure(name, learner, data, asked.bench, asked.limit)
            if row is None:
                print(f"{name} {learner}: not within the limit", flush=True)
                continue
            print(" | ".join(cells(row)), flush=True)
            keep(row, asked.out)
    write(kept(asked.out), asked, metric_learn.__version__, sklearn.__version__)


def kept(out):
    """The cases that were measured, in the order of sets and learners."""
    file = out.with_name("cases.json")
    rows = json.loads(file.read_text()) if file.exists() else []
    sets, learners = [name for name, _ in SETS], list(SIZES)
    return sorted(rows, key=lambda r: (sets.index(r["set"]), learners.index(r["learner"])))


def keep(row, out):
    rows = [*kept(out), row]
    out.parent.mkdir(parents=True, exist_ok=True)
    new = out.with_name(f"cases.{os.getpid()}.new")
    new.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
    new.replace(out.with_name("cases.json"))


def write(rows, asked, version, sklearn):
    ratios = [r["seconds"][1] / r["seconds"][0] for r in rows if r["sound"]]
    head = ["set", "learner", "learned from", "core-seconds, here / peer", "times faster", "objective, here / peer",
            "R@1, here / peer / Euclid", "MiB, here / peer"]
    lines = ["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head)] + [cells(r) for r in rows]]
    machine = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown")
    text = [
        "# Metric learners beside metric-learn",
        "",
        f"metric-learn {version} with scikit-learn {sklearn} and numpy {np.__version__}, one thread each, {machine}, seed {SEED}.",
        "Columns are standardised; both learn from the same rows and pairs, with the settings that they share: ITML with gamma 1,",
        "tolerance 1e-3 and the same bounds; LMNN with 3 neighbours from the identity; the others by their defaults. The objective",
        "is what the learner minimises (less is better), computed by one function for both, and a time counts where ours ends no",
        "higher than the peer's (but a thousandth). Where the peer took more core-seconds than its limit, or 6 GiB, both have half as many rows or",
        "pairs, again and again, and the limit stands behind the number. R@1 is on rows that none has seen. Memory is what the fit",
        "added to the peer's process, and all of ours. A case where the peer's matrix holds NaN counts for nothing.",
        "",
        f"Median of {len(ratios)} cases: {np.median(ratios):.1f} times faster; faster in {sum(r > 1 for r in ratios)}.",
        "",
        *lines,
        "",
    ]
    # What was read from the table stays.
    old = asked.out.read_text() if asked.out.exists() else ""
    reading = old[old.index("## Reading") :] if "## Reading" in old else ""
    asked.out.write_text("\n".join(text) + ("\n" + reading if reading else ""))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(Path(sys.argv[3]), sys.argv[2])
    else:
        main()
