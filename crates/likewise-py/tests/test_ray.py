"""Graphs, search, propagation and embedding on Ray: what one process finds, whatever dies meanwhile."""

import importlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from conftest import ROOT, blobs, hidden

import likewise

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install likewise[ray]")
sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install likewise[ray]")
arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install likewise[ray]")
pytest.importorskip("fsspec", reason="fsspec is not installed: pip install likewise[ray]")

# One item is zero, and no label reaches it.
pytestmark = pytest.mark.filterwarnings("ignore:.*parts of the graph without any label")
parquet = importlib.import_module("pyarrow.parquet")
# Names of the package are its functions; these are the files of the same names.
FILES = {
    name: importlib.import_module(f"likewise.ray.{name}")
    for name in ("conjugate", "embed", "graph", "neighbors", "search", "tile")
}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Four processors; the drivers that are killed join it, too."""
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


def items(n=500, seed=3):
    """Items of which some stand often, one is zero, and values lie on a grid, so that ties are many."""
    x, y = blobs(n=n, columns=7, spread=1.5, seed=seed)
    x[::2] = np.round(x[::2])
    x[60:100] = x[1]
    x[5] = 0
    return x, y


@pytest.fixture(scope="module")
def data():
    x, y = items()
    return x, hidden(y, 6), likewise.KNeighborsGraph(9).fit_transform(x)


def npy_shards(folder, x, sizes=(170, 1, 229, 100)):
    folder.mkdir()
    for number, part in enumerate(np.split(x, np.cumsum(sizes)[:-1])):
        np.save(folder / f"part-{number}.npy", part)
    return folder


def parquet_shards(folder, x, vectors=True):
    """Of row groups of 64 rows, which no block fits."""
    folder.mkdir()
    for number, (start, stop) in enumerate([(0, 210), (210, len(x))]):
        part, ids = x[start:stop], [f"item {i}" for i in range(start, stop)]
        if vectors:
            column = arrow.FixedSizeListArray.from_arrays(arrow.array(part.ravel()), x.shape[1])
            table = arrow.table({"id": ids, "label": [1] * len(ids), "vector": column})
        else:
            table = arrow.table({"id": ids, **{f"c{c}": part[:, c] for c in range(x.shape[1])}})
        parquet.write_table(table, folder / f"part-{number}.parquet", row_group_size=64)
    return folder


def same_graph(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    assert (ours.indptr == theirs.indptr).all() and (ours.indices == theirs.indices).all()
    np.testing.assert_array_max_ulp(ours.data, theirs.data, 1)


def same_scores(ours, theirs):
    assert abs(ours.scores - theirs.scores_).max() <= 1e-6 * abs(theirs.scores_).max()
    assert (ours.transduction == theirs.transduction_).all()
    assert abs(ours.confidence - theirs.confidence_).max() < 1e-5


def loaded(paths):
    return sparse.vstack([sparse.load_npz(path) for path in paths], format="csr")


def one_process(graph, y, method="lgc", negatives=None, **parameters):
    fit = likewise.LabelPropagation(method, affinity="precomputed", parameters=parameters)
    return fit.fit(graph, y, negatives=negatives)


# What one process finds.


def test_lists_do_not_depend_on_tiles(data):
    x, _, _ = data
    unit = importlib.import_module("likewise.ray.blocks").unit(x)
    cosine = unit.astype(np.float64) @ unit.T.astype(np.float64)
    np.fill_diagonal(cosine, -np.inf)
    known = -np.sort(-cosine, axis=1)[:, :9]
    ids, similarities = likewise.ray.neighbors(x, 9, block_rows=len(x), workers=2)
    assert abs(similarities - known).max() < 1e-6
    assert (ids != np.arange(len(x))[:, None]).all()
    # Ties by the smaller index: of those that stand often the first.
    assert ids[99].tolist() == [1, *range(60, 68)]
    for workers, block_rows in [(2, 71), (4, 333)]:
        again = likewise.ray.neighbors(x, 9, block_rows=block_rows, workers=workers)
        assert (again[0] == ids).all() and (again[1] == similarities).all()


def test_joining_is_associative(data):
    tile = FILES["tile"]
    unit = importlib.import_module("likewise.ray.blocks").unit(data[0])
    parts = [tile.nearest(unit, unit[a : a + 83], 9, 0, a) for a in range(0, len(unit), 83)]
    whole = tile.nearest(unit, unit, 9, 0, 0)
    left, right = parts[0], parts[-1]
    for part in parts[1:]:
        left = tile.join(9, left, part)
    for part in parts[-2::-1]:
        right = tile.join(9, right, part)
    for joined in (left, right, tile.join(9, *parts[::-1])):
        assert (joined.ids == whole.ids).all() and (joined.similarities == whole.similarities).all()


@pytest.mark.parametrize("symmetrize", [0.1, "sum", "mutual", "max", "mean"])
def test_the_graph_is_that_of_one_process(data, symmetrize):
    x = data[0]
    theirs = likewise.KNeighborsGraph(9, symmetrize=symmetrize, gamma=2.5).fit_transform(x)
    ours = likewise.ray.graph(x, 9, symmetrize=symmetrize, gamma=2.5, block_rows=130, workers=4)
    same_graph(ours, theirs)


def test_columns_stay_as_they_come():
    x = items(n=80)[0] * np.array([1, 1, 1, 1, 1, 1, 1000], np.float32)
    ours = likewise.ray.graph(x, 5, block_rows=30)
    same_graph(ours, likewise.KNeighborsGraph(5, standardize=False).fit_transform(x))
    assert likewise.KNeighborsGraph(5).fit(x).standardized_


@pytest.mark.parametrize("workers, block_rows", [(2, 77), (4, 201)])
def test_lgc_is_that_of_one_process(data, workers, block_rows):
    _, y, graph = data
    ours = likewise.ray.propagate(graph, y, workers=workers, block_rows=block_rows)
    same_scores(ours, one_process(graph, y))
    assert ours.converged and ours.residual <= 1e-10


@pytest.mark.parametrize("mass", ["none", "uniform", "labeled", "estimated"])
def test_class_masses_are_those_of_one_process(data, mass):
    _, y, graph = data
    y = y.copy()
    y[np.flatnonzero(y == 0)[1:]] = -1
    y[7] = -2
    ours = likewise.ray.propagate(graph, y, mass=mass, alpha=0.9, block_rows=170)
    same_scores(ours, one_process(graph, y, mass=mass, mu=1 / 0.9 - 1))


def test_without_a_class_mass_that_is_asked_for_lgc_is_as_printed(data):
    _, y, graph = data
    y = y.copy()
    y[np.flatnonzero(y == 0)[1:]] = -1
    ours = likewise.ray.propagate(graph, y, block_rows=170)
    same_scores(ours, one_process(graph, y, mass="none"))
    uniform = one_process(graph, y, mass="uniform")
    assert abs(ours.scores - uniform.scores_).max() > 1e-3 * abs(uniform.scores_).max()


def test_mixed_with_given_negatives_is_that_of_one_process(data):
    _, y, graph = data
    negatives = one_process(graph, y, "mixed").negatives_
    ours = likewise.ray.propagate(graph, y, method="mixed", negatives=negatives, block_rows=120)
    same_scores(ours, one_process(graph, y, "mixed", negatives))


def test_more_classes_than_are_solved_side_by_side(data):
    graph = data[2]
    y = np.full(len(data[1]), -1)
    y[::10] = np.arange(50) % 45
    same_scores(likewise.ray.propagate(graph, y, block_rows=250), one_process(graph, y))


def test_a_chain_through_all_blocks_and_parts_without_a_label():
    n = 60
    i = np.r_[np.arange(39), np.arange(40, n - 1)]
    ones = np.ones(len(i), np.float32)
    graph = sparse.csr_matrix((ones, (i, i + 1)), shape=(n, n))
    graph = graph + graph.T
    y = np.full(n, "", dtype="<U4")
    y[0], y[39] = "left", "last"
    with pytest.warns(likewise.LikewiseWarning, match="20 of 60 items"):
        ours = likewise.ray.propagate(graph, y, block_rows=7)
    with pytest.warns(likewise.LikewiseWarning):
        same_scores(ours, one_process(graph, y))
    assert (ours.transduction[40:] == "").all() and not ours.scores[40:].any()


def test_search_is_that_of_an_index(tmp_path, data):
    x = data[0]
    queries = blobs(n=30, columns=7, seed=8)[0]
    ids, similarities = likewise.ray.search(x, queries, 6, block_rows=91)
    theirs = likewise.Index(x).search(queries, 6)
    assert abs(similarities - theirs[1]).max() < 1e-6
    exact = likewise.ray.search(npy_shards(tmp_path / "x", x), queries, 6, workers=2)
    assert (exact[0] == ids).all() and (exact[1] == similarities).all()
    assert likewise.ray.search(x[:3], queries, 6)[0].shape == (30, 3)


@pytest.mark.parametrize("kind", ["npy", "vectors", "columns", "url"])
def test_shards_of_every_kind(tmp_path, data, kind):
    x, y, graph = data
    source = tmp_path / "x"
    if kind in ("npy", "url"):
        npy_shards(source, x)
    else:
        parquet_shards(source, x, kind == "vectors")
    given = f"file://{source}" if kind == "url" else source
    out = f"file://{tmp_path}/graph" if kind == "url" else tmp_path / "graph"
    paths = likewise.ray.graph(given, 9, block_rows=111, out=out)
    local = [path.replace("file://", "") for path in paths]
    same_graph(loaded(local), graph)
    found = likewise.ray.propagate(out, y, out=tmp_path / "beliefs")
    parts = [np.load(path) for path in found.paths]
    scores = np.concatenate([part["scores"] for part in parts])
    theirs = one_process(graph, y)
    assert abs(scores - theirs.scores_).max() <= 1e-6 * theirs.scores_.max()
    pseudo = np.concatenate([part["pseudo_label"] for part in parts])
    assert (np.append(found.classes, -1)[pseudo] == theirs.transduction_).all()


def test_shards_are_embedded_as_in_one_process(tmp_path, data):
    x = data[0]
    y = items()[1]
    learner = likewise.MetricLearner("rca", measure=False).fit(x, y)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/model.safetensors").write_bytes(learner.to_bytes())
    theirs = learner.transform(x)
    out = likewise.ray.embed(
        tmp_path / "run", npy_shards(tmp_path / "x", x), tmp_path / "e", batch_rows=50
    )
    assert [os.path.basename(path) for path in out] == [f"part-{i}.npy" for i in range(4)]
    np.testing.assert_allclose(np.concatenate([np.load(path) for path in out]), theirs, atol=1e-6)
    tables = likewise.ray.embed(learner, parquet_shards(tmp_path / "p", x), tmp_path / "f", batch_rows=99)
    table = arrow.concat_tables([parquet.read_table(path) for path in tables])
    assert table["id"].to_pylist() == [f"item {i}" for i in range(len(x))]
    vectors = np.array(table["embedding"].to_pylist(), np.float32)
    np.testing.assert_allclose(vectors, theirs, atol=1e-6)
    # What is there is not made again; what is not, is.
    before = {path: os.stat(path).st_mtime_ns for path in out}
    os.remove(out[2])
    likewise.ray.embed(learner, tmp_path / "x", tmp_path / "e")
    after = {path: os.stat(path).st_mtime_ns for path in out}
    assert [before[path] == after[path] for path in out] == [True, True, False, True]


# What dies.


def dies_once(function, flag):
    """The function; the first worker to call it dies in it."""

    def dying(*given):
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return function(*given)
        os._exit(1)

    return dying


@pytest.mark.parametrize(
    "file, task",
    [
        ("neighbors", "sweep"),
        ("neighbors", "finish"),
        ("graph", "outgoing"),
        ("graph", "block"),
        ("conjugate", "multiply"),
        ("conjugate", "advance"),
        ("conjugate", "save"),
    ],
)
def test_a_killed_worker_is_replaced(tmp_path, data, monkeypatch, file, task):
    x, y, graph = data
    flag = str(tmp_path / "died")
    monkeypatch.setattr(FILES[file], task, dies_once(getattr(FILES[file], task), flag))
    if file == "conjugate":
        ours = likewise.ray.propagate(graph, y, block_rows=150, checkpoint=tmp_path / "c", every=8)
        same_scores(ours, one_process(graph, y))
    else:
        paths = likewise.ray.graph(x, 9, block_rows=200, out=tmp_path / "graph")
        same_graph(loaded(paths), graph)
    assert os.path.exists(flag)


@pytest.mark.parametrize("file, task", [("search", "search_block"), ("embed", "embed_shard")])
def test_a_worker_killed_in_search_or_embedding_is_replaced(tmp_path, data, monkeypatch, file, task):
    x = data[0]
    flag = str(tmp_path / "died")
    monkeypatch.setattr(FILES[file], task, dies_once(getattr(FILES[file], task), flag))
    if file == "search":
        ids, _ = likewise.ray.search(x, x[:20], 4, block_rows=120)
        assert (ids == FILES["tile"].nearest(
            *(importlib.import_module("likewise.ray.blocks").unit(part) for part in (x[:20], x)), 4, None, 0
        ).ids).all()  # fmt: skip
    else:
        learner = likewise.MetricLearner("rca", measure=False).fit(x, items()[1])
        out = likewise.ray.embed(learner, npy_shards(tmp_path / "x", x), tmp_path / "e")
        np.testing.assert_allclose(
            np.concatenate([np.load(path) for path in out]), learner.transform(x), atol=1e-6
        )
    assert os.path.exists(flag)


def killed(code, cluster, seen):
    """Runs a driver, and kills it as soon as `seen` says so."""
    head = f"""
        import sys
        sys.path[:0] = {[str(ROOT / "crates/likewise-py/tests")]!r}
        import numpy as np, ray, likewise.ray
        from scipy import sparse
        ray.init(address={cluster!r}, log_to_driver=False, logging_level="error")
    """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(code)])
    begun = time.monotonic()
    try:
        while not seen():
            assert driver.poll() is None, "the driver was done before it was killed"
            # Of a machine that does much else.
            assert time.monotonic() - begun < 300
            time.sleep(0.002)
    finally:
        driver.send_signal(signal.SIGKILL)
        ended = driver.wait()
    assert ended == -signal.SIGKILL


def test_a_killed_driver_goes_on_with_its_graph(tmp_path, cluster):
    x = blobs(n=3000, columns=16, seed=5)[0]
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "graph"
    code = f"likewise.ray.graph({str(tmp_path / 'x.npy')!r}, 10, block_rows=100, workers=2, out={str(out)!r})"
    killed(code, cluster, lambda: len(list(out.glob("neighbors/neighbors-*.npz"))) >= 3)
    before = {path: path.stat().st_mtime_ns for path in out.glob("neighbors/neighbors-*.npz")}
    assert 3 <= len(before) < 30 and not list(out.glob("graph-*"))
    paths = likewise.ray.graph(tmp_path / "x.npy", 10, block_rows=100, out=out)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    same_graph(loaded(paths), likewise.KNeighborsGraph(10).fit_transform(x))


def test_a_killed_driver_goes_on_with_its_scores(tmp_path, cluster, data):
    _, y, graph = data
    sparse.save_npz(tmp_path / "graph.npz", graph)
    np.save(tmp_path / "y.npy", y)
    settings = dict(block_rows=170, every=8)
    last = tmp_path / "c/classes-000000/last.json"
    code = f"""
        graph, y = sparse.load_npz({str(tmp_path / "graph.npz")!r}), np.load({str(tmp_path / "y.npy")!r})
        likewise.ray.propagate(graph, y, checkpoint={str(tmp_path / "c")!r}, **{settings!r})
    """
    wanted = '"iteration": 16'
    killed(code, cluster, lambda: last.exists() and wanted in last.read_text())
    resumed = likewise.ray.propagate(graph, y, checkpoint=tmp_path / "c", **settings)
    whole = likewise.ray.propagate(graph, y, checkpoint=tmp_path / "other", **settings)
    assert (resumed.scores == whole.scores).all() and resumed.n_iter == whole.n_iter
    same_scores(resumed, one_process(graph, y))
    # What is solved is not solved again.
    again = likewise.ray.propagate(graph, y, checkpoint=tmp_path / "c", **settings)
    assert (again.scores == whole.scores).all()
    with pytest.raises(ValueError, match="alpha = 0.99, and 0.5 is asked for"):
        likewise.ray.propagate(graph, y, checkpoint=tmp_path / "c", alpha=0.5, **settings)


def test_a_folder_is_of_what_it_was_made_of_and_of_nothing_else(tmp_path, data):
    x, y, _ = data
    r, shards = likewise.ray, npy_shards(tmp_path / "x", x)
    lists = dict(k=4, out=tmp_path / "lists", block_rows=120)
    paths = r.neighbors(shards, **lists)
    assert r.neighbors(shards, **lists) == paths
    # Of the same shape: the same shard with other rows, and the same shards in another order.
    np.save(tmp_path / "a.npy", x[:250])
    np.save(tmp_path / "b.npy", x[250:])
    both = [tmp_path / "a.npy", tmp_path / "b.npy"]
    r.neighbors(both, k=4, out=tmp_path / "of both")
    with pytest.raises(ValueError, match="holds what was made with rows_of"):
        r.neighbors(both[::-1], k=4, out=tmp_path / "of both")
    np.save(shards / "part-0.npy", 1 + np.load(shards / "part-0.npy"))
    with pytest.raises(ValueError, match="holds what was made with rows_of"):
        r.neighbors(shards, **lists)
    # A graph of the same entries with other weights.
    graph = r.graph(x, 9, out=tmp_path / "graph", block_rows=250)
    spread = dict(checkpoint=tmp_path / "state", every=5)
    r.propagate(graph, y, **spread)
    for path in graph:
        rows = sparse.load_npz(path)
        rows.data **= 2
        sparse.save_npz(path, rows, compressed=False)
    with pytest.raises(ValueError, match="holds what was made with graph"):
        r.propagate(graph, y, **spread)
    # Embeddings of shards of the same names.
    learner = likewise.MetricLearner("rca", measure=False).fit(x, items()[1])
    first = r.embed(learner, shards, tmp_path / "e")
    other = npy_shards(tmp_path / "other", 2 + x)
    with pytest.raises(ValueError, match="holds part-0.npy of another shard"):
        r.embed(learner, other, tmp_path / "e")
    # More may come to a folder.
    np.save(tmp_path / "more.npy", x[:3])
    assert r.embed(learner, tmp_path / "more.npy", tmp_path / "e") == [f"{tmp_path}/e/more.npy"]
    assert r.embed(learner, shards, tmp_path / "e") == first
    np.save(shards / "part-1.npy", x[7:8])
    with pytest.raises(ValueError, match="holds part-1.npy of another shard, or of what"):
        r.embed(learner, shards, tmp_path / "e")


def test_a_call_goes_on_with_another_number_of_workers(tmp_path, data):
    x, y, graph = data
    r, out = likewise.ray, tmp_path / "graph"
    paths = r.graph(x, 9, out=out, workers=4)
    os.remove(paths[-1])
    assert len(paths) == 8 and r.graph(x, 9, out=out, workers=2) == paths
    stopped = dict(checkpoint=tmp_path / "state", every=5)
    with pytest.warns(likewise.LikewiseWarning, match="stopped after 10"):
        r.propagate(graph, y, workers=4, max_iterations=10, **stopped)
    same_scores(r.propagate(graph, y, workers=2, **stopped), one_process(graph, y))


def test_a_graph_that_was_moved_is_gone_on_with(tmp_path, data):
    x, y, graph = data
    r, stopped = likewise.ray, dict(checkpoint=tmp_path / "state", every=5)
    r.graph(x, 9, out=tmp_path / "graph", block_rows=250)
    with pytest.warns(likewise.LikewiseWarning, match="stopped after 10"):
        r.propagate(tmp_path / "graph", y, max_iterations=10, **stopped)
    (tmp_path / "graph").rename(tmp_path / "moved")
    same_scores(r.propagate(tmp_path / "moved", y, **stopped), one_process(graph, y))


def test_what_blocks_send_to_others_is_counted_for_the_stores(data, monkeypatch):
    _, y, graph = data
    counted = []
    crew = importlib.import_module("likewise.ray.crew").Crew
    monkeypatch.setattr(crew, "warn_of_store", lambda _, needed: counted.append(needed))
    for block_rows in (500, 100):
        likewise.ray.propagate(graph, y, block_rows=block_rows)
    halo = 0
    for first in range(0, 500, 100):
        touched = np.unique(graph[first : first + 100].indices)
        halo += ((touched < first) | (touched >= first + 100)).sum()
    classes = len(np.unique(y[y >= 0]))
    assert counted[1] - counted[0] == 8 * classes * halo and halo > 100


def test_stores_that_are_too_small_are_a_warning():
    crew, held = importlib.import_module("likewise.ray.crew").Crew(None, 1, 0), ray.cluster_resources()["object_store_memory"]
    crew.warn_of_store(held)
    with pytest.warns(likewise.LikewiseWarning, match="GB are needed: what does not fit") as told:
        crew.warn_of_store(held + 1e9)
    assert len(told) == 1


def test_what_goes_on_does_not_begin_anew(tmp_path, data, monkeypatch):
    _, y, graph = data
    how = dict(block_rows=170, every=5, checkpoint=tmp_path / "state")
    with pytest.warns(likewise.LikewiseWarning, match="stopped after 10"):
        likewise.ray.propagate(graph, y, max_iterations=10, **how)

    def never(*_):
        raise ValueError("it began anew")

    monkeypatch.setattr(FILES["conjugate"], "begin", never)
    same_scores(likewise.ray.propagate(graph, y, **how), one_process(graph, y))
    with pytest.raises(ValueError, match="it began anew"):
        likewise.ray.propagate(graph, y, **{**how, "checkpoint": tmp_path / "other"})


def test_columns_of_shards_go_by_their_names(tmp_path, data):
    x, _, _ = data
    names = [f"c{c}" for c in range(x.shape[1])]
    folder, wanted = tmp_path / "x", likewise.ray.neighbors(x, 4)[0]
    folder.mkdir()
    columns = {name: x[:, c] for c, name in enumerate(names)}
    half = len(x) // 2
    index, labels = np.arange(len(x)) % half, np.arange(len(x)) % 3
    first = arrow.table({**columns, "__index_level_0__": index, "y": labels}).slice(0, half)
    parquet.write_table(first, folder / "a.parquet")
    turned = arrow.table({name: columns[name] for name in reversed(names)}).slice(half)
    parquet.write_table(turned, folder / "b.parquet")
    ids, _ = likewise.ray.neighbors(folder, 4)
    assert (ids == wanted).all()
    import decimal

    exact = arrow.array([[decimal.Decimal(repr(float(of))) for of in x[half:, 0]]][0], arrow.decimal128(30, 20))
    parquet.write_table(turned.set_column(turned.column_names.index("c0"), "c0", exact), folder / "b.parquet")
    assert (likewise.ray.neighbors(folder, 4)[0] == wanted).all()
    one = tmp_path / "one.parquet"
    parquet.write_table(turned.slice(0, 1), one)
    found, similarities = likewise.ray.search(folder, one, 1)
    assert similarities[0, 0] > 0.999999
    parquet.write_table(turned.rename_columns([*names[1:], "other"]), folder / "b.parquet")
    with pytest.raises(ValueError, match="b.parquet has no column of numbers 'c0'"):
        likewise.ray.neighbors(folder, 4)


def test_a_shard_without_rows_says_nothing_of_columns(tmp_path, data):
    x, _, _ = data
    folder, wanted = tmp_path / "x", likewise.ray.neighbors(x, 4)[0]
    folder.mkdir()
    # What pandas writes of none of its rows of vectors, and a table of another column.
    parquet.write_table(arrow.table({"vector": arrow.array([], arrow.null())}), folder / "a.parquet")
    parquet.write_table(arrow.table({"other": arrow.array([], arrow.float32())}), folder / "b.parquet")
    parquet.write_table(arrow.table({f"c{c}": column for c, column in enumerate(x.T)}), folder / "c.parquet")
    assert (likewise.ray.neighbors(folder, 4)[0] == wanted).all()
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(x, columns=[f"c{c}" for c in range(x.shape[1])])
    for name, given in (("array", x), ("frame", frame)):
        learner = likewise.MetricLearner("rca", measure=False).fit(given, items()[1])
        made = likewise.ray.embed(learner, folder, tmp_path / name)
        rows = np.concatenate([np.stack(table["embedding"].to_numpy()) for table in map(parquet.read_table, made) if len(table)])
        np.testing.assert_allclose(rows, learner.transform(given), atol=1e-6)
    (folder / "c.parquet").unlink()
    with pytest.raises(ValueError, match="is empty: 0 rows"):
        likewise.ray.neighbors(folder, 4)


def test_a_run_on_a_table_embeds_by_its_columns_and_not_without_what_it_makes_of_them(tmp_path, data):
    x, y, _ = data
    names = [f"c{c}" for c in range(x.shape[1])]
    columns = {name: x[:, c] for c, name in enumerate(names)}
    labels = [str(of) for of in items()[1]]
    parquet.write_table(arrow.table({**columns, "label": labels}), tmp_path / "x.parquet")
    words = arrow.array(["u", "v"] * (len(x) // 2))
    parquet.write_table(arrow.table({**columns, "kind": words, "label": labels}), tmp_path / "w.parquet")
    for name in ("x", "w"):
        command = ["fit", f"{tmp_path}/{name}.parquet", "--recipe", "rca", "-q", "-o", f"{tmp_path}/run-{name}"]
        subprocess.run([sys.executable, "-m", "likewise", *command], check=True)
    turned = tmp_path / "turned.parquet"
    parquet.write_table(arrow.table({name: columns[name] for name in reversed(names)}), turned)
    (path,) = likewise.ray.embed(tmp_path / "run-x", turned, tmp_path / "e")
    made = np.stack(parquet.read_table(path)["embedding"].to_numpy())
    np.testing.assert_allclose(made, np.load(tmp_path / "run-x/embeddings.npy"), atol=1e-6)
    for run in (tmp_path / "run-w", tmp_path / "run-w/model.safetensors"):
        with pytest.raises(ValueError, match="whose columns it brings to one scale or makes of words"):
            likewise.ray.embed(run, turned, tmp_path / "f")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    learner = likewise.MetricLearner("rca", measure=False).fit(pandas.DataFrame(columns), items()[1])
    (path,) = likewise.ray.embed(learner, turned, tmp_path / "g")
    made = np.stack(parquet.read_table(path)["embedding"].to_numpy())
    np.testing.assert_allclose(made, learner.transform(pandas.DataFrame(columns)), atol=1e-6)
    with pytest.raises(ValueError, match="has no column of numbers 'c6', which was fitted"):
        parquet.write_table(arrow.table({name: columns[name] for name in names[:-1]}), turned)
        likewise.ray.embed(learner, turned, tmp_path / "h")


def test_shards_are_read_as_one_machine_reads_tables(tmp_path, data):
    x, y, _ = data
    x, labels = x[:, :4], [str(of) for of in items()[1]]
    run, shard = tmp_path / "run", tmp_path / "s.parquet"

    def fit(path, *words):
        command = ["fit", str(path), *map(str, words), "--recipe", "rca", "-q", "--overwrite", "-o", str(run)]
        subprocess.run([sys.executable, "-m", "likewise", *command], check=True)

    def embedded(out):
        (path,) = likewise.ray.embed(run, shard, tmp_path / out)
        return np.stack(parquet.read_table(path)["embedding"].to_numpy())

    # Spaces around a name, on either side.
    for fitted, asked in [(" {} ", "{}"), ("{}", " {} ")]:
        tables = [arrow.table({of.format(name): x[:, c] for c, name in enumerate("abcd")}) for of in (fitted, asked)]
        parquet.write_table(tables[0].append_column("label", arrow.array(labels)), tmp_path / "x.parquet")
        parquet.write_table(tables[1], shard)
        fit(tmp_path / "x.parquet")
        subprocess.run([sys.executable, "-m", "likewise", "embed", run, shard, "-o", tmp_path / "e.npy", "-q"], check=True)
        wanted = np.load(run / "embeddings.npy")
        np.testing.assert_allclose(np.load(tmp_path / "e.npy"), wanted, atol=1e-6)
        np.testing.assert_allclose(embedded(f"e {asked}"), wanted, atol=1e-6)
    # A run of columns without names takes those of any.
    np.savetxt(tmp_path / "x.csv", x, delimiter=",", fmt="%.9g")
    np.save(tmp_path / "y.npy", items()[1])
    fit(tmp_path / "x.csv", "--labels", tmp_path / "y.npy")
    np.testing.assert_allclose(embedded("counted"), np.load(run / "embeddings.npy"), atol=1e-5)
    # A number that is missing: the table was brought to one scale.
    table = tables[0].set_column(1, "b", arrow.array([None, *x[1:, 1].tolist()])).append_column("label", arrow.array(labels))
    parquet.write_table(table, tmp_path / "x.parquet")
    fit(tmp_path / "x.parquet")
    for of in (run, likewise.MetricLearner.load(run)):
        with pytest.raises(ValueError, match="whose columns it brings to one scale or makes of words"):
            likewise.ray.embed(of, shard, tmp_path / "f")
    # Several views are not one.
    views = {"p": x, "q": x[:, ::-1].copy()}
    several = likewise.Study(views, items()[1], recipe="rca")
    several.save(tmp_path / "several")
    likewise.CrossModalLearner("cluster-cca").fit(views, items()[1]).save(tmp_path / "across")
    np.save(tmp_path / "x.npy", np.hstack([x, x]))
    for of, said in [(several.model, "the views p, q"), (tmp_path / "several", "the views p, q"), (tmp_path / "across", "a run across views")]:
        with pytest.raises(ValueError, match=said):
            likewise.ray.embed(of, tmp_path / "x.npy", tmp_path / "g")


# What cannot be used.


def test_bad_input_is_said_in_the_words_of_python(tmp_path, data):
    x, y, graph = data
    lame = x.copy()
    lame[123, 2] = np.nan
    np.save(tmp_path / "lame.npy", lame)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "narrow.npy", x[:, :3])
    np.save(tmp_path / "line.npy", x[0])
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    (tmp_path / "none.npy").write_bytes(b"nothing")
    (tmp_path / "short.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-50])
    (tmp_path / "none.parquet").write_bytes(b"nothing")
    (tmp_path / "cut.npz").write_bytes(b"PK" + bytes(30))
    sparse.save_npz(tmp_path / "half.npz", graph[:200])
    lone = sparse.csr_matrix(([1.0], ([0], [1])), shape=(500, 500))
    away = sparse.csr_matrix(([1.0, 1.0], ([0, 499], [499, 0])), shape=(500, 500))
    r, at = likewise.ray, lambda name: str(tmp_path / name)
    r.graph(x, 3, out=at("graph"), block_rows=250)
    cases = [
        (lambda: r.neighbors(x, 0), ValueError, "^k = 0: must be at least 1"),
        (lambda: r.neighbors(x, 500), ValueError, "^k = 500: must be below"),
        (lambda: r.neighbors(x, 2.5), TypeError, "^k = 2.5: must be an int"),
        (lambda: r.neighbors(x[0], 3), ValueError, "Expected 2D array"),
        (lambda: r.neighbors(lame, 3), ValueError, "^X: row 123, column 2 is NaN"),
        (lambda: r.neighbors(at("lame.npy"), 3), ValueError, "lame.npy: row 123, column 2 is NaN"),
        (lambda: r.neighbors(sparse.csr_matrix(x), 3), TypeError, "dense data is required"),
        (lambda: r.neighbors(at("nosuch"), 3), FileNotFoundError, "there are no .npy or .parquet"),
        (lambda: r.neighbors([at("x.npy"), at("narrow.npy")], 3), ValueError, "narrow.npy has 3 columns"),
        (lambda: r.neighbors(at("line.npy"), 3), ValueError, r"of shape \(7,\)"),
        (lambda: r.neighbors(at("objects.npy"), 3), ValueError, "holds objects"),
        (lambda: r.neighbors(at("none.npy"), 3), ValueError, "is no .npy file"),
        (lambda: r.neighbors(at("short.npy"), 3), ValueError, "is cut off"),
        (lambda: r.neighbors(at("none.parquet"), 3), ValueError, "is no parquet file"),
        (lambda: r.propagate(at("cut.npz"), y), ValueError, "cut.npz cannot be read"),
        (lambda: r.neighbors(x, 3, block_rows=0), ValueError, "^block_rows = 0"),
        (lambda: r.neighbors(x, 3, workers=0), ValueError, "^workers = 0"),
        (lambda: r.neighbors(x, 3, threads=9), ValueError, "^threads = 9: the cluster has 4 processors"),
        (lambda: r.neighbors(x, 3, out=7), TypeError, "^out = 7: must be a path"),
        (lambda: r.graph(x, 500), ValueError, "^n_neighbors = 500"),
        (lambda: r.graph(x, 3, gamma=-1), ValueError, "^gamma = -1"),
        (lambda: r.graph(x, 3, gamma="a"), TypeError, "^gamma = 'a'"),
        (lambda: r.graph(x, 3, symmetrize="both"), ValueError, "^symmetrize = 'both'"),
        (lambda: r.graph(x, 3, symmetrize=2), ValueError, "^symmetrize = 2"),
        (lambda: r.graph(x, 4, out=at("graph"), block_rows=250), ValueError, "n_neighbors = 3, and 4 is"),
        (lambda: r.propagate(graph, y[:9]), ValueError, "inconsistent numbers of samples"),
        (lambda: r.propagate(graph, np.full(500, -1)), ValueError, "no item has a known label"),
        (lambda: r.propagate(graph, y, alpha=1), ValueError, "^alpha = 1: must be above 0 and below 1"),
        (lambda: r.propagate(graph, y, method="harmonic"), ValueError, "^method = 'harmonic'"),
        (lambda: r.propagate(graph, y, method="mixed"), ValueError, "needs negatives"),
        (lambda: r.propagate(graph, y, negatives=graph), ValueError, "takes no negatives"),
        (lambda: r.propagate(graph, y, method="mixed", negatives=away), ValueError, r"\(0, 499\) is no edge"),
        (lambda: r.propagate(graph, y, mass="much"), ValueError, "^mass = 'much'"),
        (lambda: r.propagate(graph, y, every=0), ValueError, "^every = 0"),
        (lambda: r.propagate(lone, y), ValueError, "not symmetric"),
        (lambda: r.propagate(x, y), TypeError, "sparse matrix of scipy"),
        (lambda: r.propagate(at("half.npz"), y), ValueError, "some are missing"),
        (lambda: r.search(x, x[:, :3]), ValueError, "3 columns, the shards 7"),
        (lambda: r.search(x, lame), ValueError, "^queries: row 123, column 2 is NaN"),
        (lambda: r.embed(at("nosuch"), at("x.npy"), at("e")), FileNotFoundError, "nosuch"),
    ]
    for make, kind, words in cases:
        with pytest.raises(kind, match=words) as raised:
            make()
        assert "--" not in str(raised.value), raised.value


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = blobs(n=400)
    names = {"X": x, "y": hidden(y)}
    for block in (ROOT / "docs/cluster.md").read_text().split("```python\n")[1:]:
        exec(compile(block.split("```")[0], "docs/cluster.md", "exec"), names)  # noqa: S102


def test_examples_of_docstrings_run():
    import doctest

    for name in ("graph", "neighbors", "search"):
        done = doctest.testmod(FILES[name], optionflags=doctest.NORMALIZE_WHITESPACE)
        assert done.attempted and done.failed == 0
    done = doctest.testmod(importlib.import_module("likewise.ray.propagate"))
    assert done.attempted and done.failed == 0
