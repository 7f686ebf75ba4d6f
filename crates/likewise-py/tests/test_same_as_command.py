"""The package and the command give the same numbers, bit for bit."""

import json

import numpy as np
import pytest
from conftest import blobs, hidden
from scipy.sparse import load_npz

import likewise


@pytest.fixture
def files(tmp_path):
    x, y = blobs(seed=3)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", hidden(y))
    np.save(tmp_path / "all.npy", y)
    return tmp_path, x, y, hidden(y)


@pytest.mark.parametrize(
    "words, settings",
    [
        ((), {}),
        (("--symmetrize", "sum", "--gamma", "1.5", "--center"), dict(symmetrize="sum", gamma=1.5, center=True)),
        (("--approx", "--recall", "0.9", "--seed", "7"), dict(approx=True, recall=0.9, random_state=7)),
    ],
)
def test_a_graph(files, likewise_command, words, settings):
    folder, x, _, _ = files
    likewise_command("graph", "x.npy", "-k", 10, "-o", "g.npz", *words, cwd=folder)
    theirs = load_npz(folder / "g.npz")
    ours = likewise.KNeighborsGraph(10, **settings).fit_transform(x)
    assert np.array_equal(ours.indptr, theirs.indptr)
    assert np.array_equal(ours.indices, theirs.indices)
    assert np.array_equal(ours.data, theirs.data)


@pytest.mark.parametrize("words, standardize", [((), "auto"), (("--standardize", "no"), False)])
def test_columns_of_different_units(files, likewise_command, words, standardize):
    folder, x, _, shown = files
    x = x * np.where(np.arange(x.shape[1]) == 1, 1000, 1).astype(np.float32)
    np.save(folder / "u.npy", x)
    likewise_command("graph", "u.npy", "-k", 10, "-o", "u.npz", *words, cwd=folder)
    theirs = load_npz(folder / "u.npz")
    graph = likewise.KNeighborsGraph(10, standardize=standardize).fit(x)
    assert graph.standardized_ == (standardize == "auto")
    assert np.array_equal(graph.graph_.indices, theirs.indices)
    assert np.array_equal(graph.graph_.data, theirs.data)
    likewise_command(
        "propagate", "u.npy", "--labels", "y.npy", "-k", 10, "--method", "lgc", "-o", "b.npz", *words, cwd=folder
    )
    ours = likewise.LabelPropagation("lgc", n_neighbors=10, standardize=standardize).fit(x, shown)
    assert np.array_equal(ours.scores_, np.load(folder / "b.npz", allow_pickle=False)["scores"])
    # New items are read as those that were fitted.
    assert np.mean(ours.predict(x) == ours.transduction_) > 0.9


def test_a_run_is_read_again(files, likewise_command):
    folder, x, _, _ = files
    likewise_command("fit", "x.npy", "--labels", "y.npy", "--recipe", "rca", "-o", "run", cwd=folder)
    learner = likewise.MetricLearner.load(folder / "run")
    assert np.array_equal(learner.transform(x), np.load(folder / "run/embeddings.npy"))
    assert learner.recipe_ == "rca" and learner.results_["recipe"] == "rca"
    assert learner.get_mahalanobis_matrix().shape == (x.shape[1],) * 2
    with pytest.raises(ValueError, match="is no finished run"):
        likewise.MetricLearner.load(folder)
    np.savez(folder / "pair.npz", a=x, b=x[:, ::-1].copy(), label=files[3])
    likewise_command(
        "fit", "pair.npz", "--view", "a", "--view", "b", "--recipe", "scm-seq", "-o", "pair", cwd=folder
    )
    with pytest.raises(ValueError, match="across views"):
        likewise.MetricLearner.load(folder / "pair")
    (folder / "run/model.safetensors").write_bytes(b"no model")
    with pytest.raises(ValueError, match="broken model file"):
        likewise.MetricLearner.load(folder / "run")


@pytest.mark.parametrize("method", ["mixed", "lgc", "harmonic", "manifold", "iscen", "dssml", "poisson", "lpdr"])
def test_a_propagation(files, likewise_command, method):
    folder, x, _, shown = files
    likewise_command(
        "propagate", "x.npy", "--labels", "y.npy", "-k", 10, "--method", method, "-o", "b.npz", cwd=folder
    )
    theirs = np.load(folder / "b.npz", allow_pickle=False)
    ours = likewise.LabelPropagation(method, n_neighbors=10).fit(x, shown)
    assert np.array_equal(ours.scores_, theirs["scores"])
    assert np.array_equal(ours.transduction_, theirs["pseudo_label"])
    assert np.array_equal(ours.confidence_, theirs["confidence"])


@pytest.mark.parametrize("recipe", ["auto", "mixed-rca", "rca", "itml", "logistic", "mixed-lp"])
def test_a_fit_of_a_handful_of_labels(files, likewise_command, recipe):
    folder, x, _, shown = files
    words = ["fit", "x.npy", "--labels", "y.npy", "--recipe", recipe, "--seed", 5, "-o", "run", "--json"]
    settings = None
    if recipe == "mixed-lp":
        words += ["--epochs", 6]
        settings = {"rounds": {"epochs": 6}}
    said = likewise_command(*words, cwd=folder)
    ours = likewise.MetricLearner(recipe, settings=settings, random_state=5).fit(x, shown)
    assert np.array_equal(ours.transform(x), np.load(folder / "run/embeddings.npy"))
    assert ours.to_bytes() == (folder / "run/model.safetensors").read_bytes()
    theirs = json.loads(said)
    assert ours.results_["r_precision"] == theirs["r_precision"]
    assert ours.results_["ci"] == theirs["ci"]
    assert ours.verdict_ == theirs["verdict"]


def test_a_study_with_hidden_labels(files, likewise_command):
    folder, x, y, _ = files
    said = likewise_command(
        "fit", "x.npy", "--labels", "all.npy", "--recipe", "label-rca", "--split", "item",
        "--labels-per-class", 3, "--draws", 2, "--seed", 2, "-o", "run", "--json", cwd=folder,
    )  # fmt: skip
    study = likewise.Study(
        x, y, recipe="label-rca", split="item", labels_per_class=3, draws=2, random_state=2
    )
    study.run()
    assert study.results == json.loads(said)


def test_a_saved_study_is_a_run_that_the_command_searches(files, likewise_command):
    folder, x, _, shown = files
    study = likewise.Study(x, shown, recipe="label-rca")
    study.run()
    study.save(folder / "mine")
    answer = json.loads(
        likewise_command("search", "mine", "--id", 3, "-k", 4, "--json", cwd=folder)
    )
    ids, similarities = likewise.Index(study.model.transform(x)).search(study.model.transform(x[3:4]), 5)
    assert [int(hit["id"]) for hit in answer[0]["hits"]] == [i for i in ids[0] if i != 3][:4]
    with pytest.raises(ValueError, match="overwrite=True"):
        study.save(folder / "mine")
    # An index would take the place of the embeddings of the run.
    for place in ["mine", "mine/index"]:
        with pytest.raises(ValueError, match="belongs to the run"):
            likewise.Index(x).save(folder / place)
    study.save(folder / "mine", overwrite=True)
    # What the folder holds is what `fit` writes of the same data.
    likewise_command("fit", "x.npy", "--labels", "y.npy", "--recipe", "label-rca", "-o", "run", cwd=folder)
    for name in ["model.safetensors", "embeddings.npy", "metrics.json"]:
        assert (folder / "mine" / name).read_bytes() == (folder / "run" / name).read_bytes(), name


def test_pairs_and_triplets(files, likewise_command):
    folder, x, y, shown = files
    rng = np.random.default_rng(4)
    rows = rng.integers(0, len(x), size=(300, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    said = np.where(y[rows[:, 0]] == y[rows[:, 1]], 1, -1)
    pairs = np.column_stack([rows, said])
    np.savetxt(folder / "pairs.csv", pairs, fmt="%d", delimiter=",", header="a,b,y", comments="")
    likewise_command("fit", "x.npy", "--recipe", "itml", "--pairs", "pairs.csv", "-o", "run", cwd=folder)
    ours = likewise.MetricLearner("itml").fit(x, pairs=pairs)
    assert np.array_equal(ours.transform(x), np.load(folder / "run/embeddings.npy"))
    triplets = [(a, *rng.choice(np.flatnonzero(y == y[a]), 1), *rng.choice(np.flatnonzero(y != y[a]), 1)) for a in range(200)]
    triplets = np.array([t for t in triplets if t[0] != t[1]])
    np.savetxt(
        folder / "t.csv", triplets, fmt="%d", delimiter=",", header="anchor,positive,negative", comments=""
    )
    likewise_command("fit", "x.npy", "--recipe", "oasis", "--triplets", "t.csv", "-o", "run2", cwd=folder)
    ours = likewise.MetricLearner("oasis").fit(x, triplets=triplets)
    assert np.array_equal(ours.transform(x), np.load(folder / "run2/embeddings.npy"))


def test_an_evaluation(files, likewise_command):
    folder, x, y, _ = files
    theirs = json.loads(likewise_command("eval", "x.npy", "--labels", "all.npy", "--json", cwd=folder))
    ours = likewise.metrics.evaluate(x, y, ks=(1, 2, 4, 8))
    for key in ["map", "map_at_r", "r_precision", "nmi", "n_queries"]:
        assert ours[key] == theirs[key], key
    for k, value in theirs["recall"].items():
        if k in ours["recall"]:
            assert ours["recall"][k] == value


def test_an_index_of_either_is_read_by_the_other(files, likewise_command):
    folder, x, _, _ = files
    likewise_command("index", "x.npy", "--kind", "hnsw", "-o", "theirs", cwd=folder)
    theirs = likewise.Index.load(folder / "theirs")
    ours = likewise.Index(x, kind="hnsw")
    ours.save(folder / "ours")
    for index in (theirs, ours, likewise.Index.load(folder / "ours")):
        assert index.kind == "hnsw" and index.recall > 0.95
        assert np.array_equal(index.X, x)
        found = index.search(x[:40], 5)[0]
        assert (found[:, 0] == np.arange(40)).all()
    answer = json.loads(likewise_command("search", "ours", "--id", 3, "-k", 4, "--json", cwd=folder))
    assert len(answer[0]["hits"]) == 4


def test_the_command_in_the_package(files, likewise_command):
    import subprocess
    import sys

    folder, *_ = files
    words = ["doctor", "x.npy", "--labels", "y.npy", "--json"]
    ours = subprocess.run(
        [sys.executable, "-m", "likewise", *words], cwd=folder, capture_output=True, text=True
    )
    assert ours.returncode == 0, ours.stderr
    assert json.loads(ours.stdout) == json.loads(likewise_command(*words, cwd=folder))
    wrong = subprocess.run([sys.executable, "-m", "likewise", "nosuch"], capture_output=True)
    assert wrong.returncode == 2


def test_classes_are_learned_in_the_order_of_the_command(files, likewise_command):
    folder, x, _, _ = files
    # As words "10" comes before "2".
    y = np.arange(len(x)) % 12
    np.save(folder / "many.npy", y)
    said = likewise_command(
        "fit", "x.npy", "--labels", "many.npy", "--recipe", "label-rca", "--split", "item",
        "--labels-per-class", 3, "--draws", 1, "-o", "run", "--json", cwd=folder,
    )  # fmt: skip
    for given in (y, y.astype(str), y.astype(str).astype(object)):
        study = likewise.Study(x, given, recipe="label-rca", split="item", labels_per_class=3, draws=1)
        study.run()
        assert study.results == json.loads(said)
