"""What people have comes in, and what cannot be used is said in Python's words."""

import pickle
import warnings
from functools import partialmethod

import numpy as np
import pytest
from conftest import blobs, hidden
from scipy import sparse

import likewise
from likewise._arrays import matrix


def test_a_float32_matrix_is_not_copied():
    x, _ = blobs()
    assert matrix(x) is x or np.shares_memory(matrix(x), x)
    frozen = x.copy()
    frozen.flags.writeable = False
    assert np.shares_memory(matrix(frozen), frozen)
    likewise.Index(frozen).search(frozen[:2], 1)
    assert not np.shares_memory(matrix(x.T), x)
    assert np.array_equal(matrix(x[::2, ::3]), x[::2, ::3])
    assert matrix(np.asfortranarray(x)).flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8, ">f4", bool])
def test_other_types_are_converted(dtype):
    x = (blobs()[0] * 10).astype(dtype)
    ours = likewise.KNeighborsGraph(5).fit_transform(x)
    same = likewise.KNeighborsGraph(5).fit_transform(x.astype(np.float32))
    assert (ours != same).nnz == 0


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "torch", "list"])
def test_frames_tables_and_tensors(kind):
    x, y = blobs()
    shown = hidden(y)
    if kind == "list":
        theirs, labels = x.tolist(), shown.tolist()
    elif kind == "pandas":
        module = pytest.importorskip(kind)
        theirs, labels = module.DataFrame(x), module.Series(shown)
    elif kind == "polars":
        module = pytest.importorskip(kind)
        theirs, labels = module.DataFrame(x), module.Series(shown)
    elif kind == "pyarrow":
        module = pytest.importorskip(kind)
        theirs = module.table({str(i): x[:, i] for i in range(x.shape[1])})
        labels = module.array(shown)
    else:
        module = pytest.importorskip(kind)
        theirs, labels = module.tensor(x, requires_grad=True), module.tensor(shown)
    ours = likewise.LabelPropagation(n_neighbors=5).fit(theirs, labels)
    same = likewise.LabelPropagation(n_neighbors=5).fit(x, shown)
    assert np.array_equal(ours.scores_, same.scores_)


def test_a_column_of_vectors_of_arrow():
    arrow = pytest.importorskip("pyarrow")
    x, _ = blobs(n=20)
    column = arrow.FixedSizeListArray.from_arrays(arrow.array(x.ravel()), x.shape[1])
    assert np.array_equal(matrix(column), x)
    assert np.array_equal(matrix(arrow.table({"vector": column})), x)


@pytest.mark.parametrize("kind", ["list_", "large_list"])
def test_a_column_of_lists_of_arrow_is_a_matrix_where_all_are_of_one_length(kind):
    arrow = pytest.importorskip("pyarrow")
    x, y = blobs(n=20)
    column = arrow.array(x.tolist(), getattr(arrow, kind)(arrow.float32()))
    assert np.array_equal(matrix(column), x)
    halves = arrow.chunked_array([column[:7], column[7:]])
    assert np.array_equal(matrix(arrow.table({"vector": halves})), x)
    assert np.array_equal(matrix(column[5:]), x[5:])
    ragged = arrow.array([*x[:-1].tolist(), x[-1, :3].tolist()])
    lost = arrow.array([None, *x[1:].tolist()])
    words = arrow.array([["a"]] * 20)
    for rows, said in [
        (ragged, "^X: vectors of one length are needed, and these have 3 to 12 numbers"),
        (lost, "^X: 1 rows have no vector"),
        (words, "^X holds objects that are no numbers"),
    ]:
        for given in (rows, arrow.table({"vector": rows}), arrow.table({"vector": rows}).to_batches()[0]):
            with pytest.raises(ValueError, match=said):
                likewise.LabelPropagation(n_neighbors=5).fit(given, y)


class Elsewhere:
    """Rows in memory that the processor does not reach, as of a graphics card."""

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        raise BufferError("cannot export to the device asked for")


class Guarded:
    """As rows of cupy: they are not converted in silence."""

    def __array__(self, *_, **__):
        raise TypeError("implicit conversion is not allowed; call get()")


@pytest.mark.parametrize("given", [Elsewhere(), Guarded(), [[1.0], [1.0, 2.0]]])
def test_what_is_no_array_is_said_by_its_keyword(given):
    kind = ValueError if isinstance(given, list) else TypeError
    calls = {
        "X": lambda: likewise.KNeighborsGraph(1).fit(given),
        "Q": lambda: likewise.Index(np.eye(3)).search(given),
        "y": lambda: likewise.LabelPropagation(n_neighbors=1).fit(np.eye(3), given),
        "weight": lambda: likewise.losses.triplet(np.eye(3), [0, 1, 2], weight=given),
        "embeddings": lambda: likewise.losses.triplet(given, [0, 1, 2]),
    }
    for name, call in calls.items():
        with pytest.raises(kind, match=f"^{name} cannot be read as an array of numpy: "):
            call()


def test_brain_floats_of_torch_are_read():
    torch = pytest.importorskip("torch")
    x = torch.tensor(blobs(n=20)[0]).bfloat16()
    assert np.array_equal(matrix(x), x.float().numpy())


def test_labels_of_every_kind():
    x, y = blobs(classes=3)
    shown = hidden(y)
    words = np.array(["ant", "bee", "cat", ""])[shown]
    objects = words.astype(object)
    objects[shown < 0] = None
    floats = np.where(shown < 0, np.nan, shown)
    fits = {
        name: likewise.LabelPropagation(n_neighbors=5).fit(x, labels)
        for name, labels in [("int", shown), ("str", words), ("object", objects), ("float", floats)]
    }
    for name, fit in fits.items():
        assert np.array_equal(fit.scores_, fits["int"].scores_), name
    assert fits["str"].classes_.tolist() == ["ant", "bee", "cat"]
    assert np.array_equal(fits["str"].transduction_, np.array(["ant", "bee", "cat"])[fits["int"].transduction_])
    assert fits["object"].transduction_.dtype == object
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(pandas.Categorical(objects))
    categories = likewise.LabelPropagation(n_neighbors=5).fit(x, series)
    assert categories.transduction_.tolist() == fits["object"].transduction_.tolist()


def test_what_is_outside_is_no_class():
    x, y = blobs(classes=3)
    shown = hidden(y)
    outside = np.flatnonzero((y == 2) & (shown < 0))[:10]
    shown[shown == 2] = -1
    shown[outside] = -2
    fit = likewise.LabelPropagation(n_neighbors=5).fit(x, shown)
    assert fit.classes_.tolist() == [0, 1]
    assert (fit.confidence_[outside] == 0).all()


def test_where_no_label_reaches_nothing_is_made_up():
    x = np.array([[1, 0], [0.9, 0.1], [0.8, 0.1], [-1, 0], [-0.9, 0.1]], np.float32)
    fit = likewise.LabelPropagation(n_neighbors=1).fit(x, [3, -1, -1, -1, -1])
    assert fit.transduction_.tolist() == [3, 3, 3, -1, -1]
    assert not fit.label_distributions_[3:].any() and not fit.confidence_[3:].any()
    words = likewise.LabelPropagation(n_neighbors=1).fit(x, ["a", "", "", "", ""])
    assert words.transduction_.tolist() == ["a", "a", "a", "", ""]


X, Y = blobs(n=40)
BAD_ROWS = {
    "nan": (lambda: np.where(np.arange(X.size).reshape(X.shape) == 17, np.nan, X), ValueError, "row 1, column 5 is NaN"),
    "infinity": (lambda: np.where(X > 3, np.inf, X), ValueError, "is inf"),
    "too large": (lambda: X.astype(np.float64) * 1e300, ValueError, "beyond what float32 holds"),
    "one dimension": (lambda: X[:, 0], ValueError, "Expected 2D array, got 1D array"),
    "three dimensions": (lambda: X[None], ValueError, "dim 3"),
    "no rows": (lambda: X[:0], ValueError, r"0 sample\(s\)"),
    "no columns": (lambda: X[:, :0], ValueError, r"0 feature\(s\)"),
    "words": (lambda: X.astype(str), ValueError, "give a matrix of numbers"),
    "objects": (lambda: np.array([[{}]] * 40), TypeError, "objects that are no numbers"),
    "complex": (lambda: X * 1j, ValueError, "Complex data not supported"),
    "sparse": (lambda: sparse.csr_matrix(X), TypeError, r"sparse matrix, but dense data is required"),
    "dates": (lambda: np.zeros((40, 2), "datetime64[s]"), ValueError, "datetime64"),
}


@pytest.mark.parametrize("make, kind, words", BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_that_cannot_be_used(make, kind, words):
    fits = [
        lambda x: likewise.KNeighborsGraph(5).fit(x),
        lambda x: likewise.LabelPropagation(n_neighbors=5).fit(x, Y),
        lambda x: likewise.MetricLearner("rca", measure=False).fit(x, Y),
        lambda x: likewise.Index(x),
        lambda x: likewise.Study(x, Y, recipe="rca").run(),
        lambda x: likewise.metrics.recall_at_k(x, Y),
    ]
    for fit in fits:
        with pytest.raises(kind, match=words):
            fit(make())


@pytest.mark.parametrize(
    "labels, words",
    [
        (Y[:-1], "inconsistent numbers of samples"),
        (None, "requires y"),
        (np.full(40, -1), "no item has a known label"),
        (Y + 0.5, "Unknown label type: continuous"),
        (np.array([{}] * 40), "Unknown label type"),
        (np.stack([Y, Y], 1), "one label an item"),
    ],
)
def test_labels_that_cannot_be_used(labels, words):
    with pytest.raises(ValueError, match=words):
        likewise.LabelPropagation(n_neighbors=5).fit(X, labels)


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda: likewise.KNeighborsGraph(40).fit(X), ValueError, "^n_neighbors = 40"),
        (lambda: likewise.KNeighborsGraph(0).fit(X), ValueError, "^n_neighbors = 0"),
        (lambda: likewise.KNeighborsGraph(2.5).fit(X), TypeError, "^n_neighbors = 2.5"),
        (lambda: likewise.KNeighborsGraph(5, gamma=-1).fit(X), ValueError, "gamma = -1"),
        (lambda: likewise.KNeighborsGraph(5, gamma="a").fit(X), TypeError, "^gamma = 'a': must be a number"),
        (lambda: likewise.KNeighborsGraph(5, gamma=None).fit(X), TypeError, "^gamma = None"),
        (lambda: likewise.KNeighborsGraph(5, symmetrize=None).fit(X), TypeError, "^symmetrize = None: must be a rule"),
        (lambda: likewise.KNeighborsGraph(5, symmetrize=[1]).fit(X), TypeError, r"^symmetrize = \[1\]"),
        (lambda: likewise.KNeighborsGraph(5, approx=True, recall="x").fit(X), TypeError, "^recall = 'x'"),
        (lambda: likewise.LabelPropagation(n_neighbors=5, gamma="a").fit(X, Y), TypeError, "^gamma = 'a'"),
        (lambda: likewise.KNeighborsGraph(5, symmetrize="no").fit(X), ValueError, "^symmetrize"),
        (lambda: likewise.KNeighborsGraph(5, symmetrize=2.0).fit(X), ValueError, "^symmetrize = 2"),
        (lambda: likewise.KNeighborsGraph(5, approx=True, recall=2).fit(X), ValueError, "recall"),
        (lambda: likewise.LabelPropagation("no", n_neighbors=5).fit(X, Y), ValueError, "^method = no: there are: lgc"),
        (lambda: likewise.LabelPropagation(n_neighbors=5, parameters={"bta": 1}).fit(X, Y), ValueError, "^bta: method=\"mixed\" has no such parameter; it has beta"),
        (lambda: likewise.LabelPropagation("manifold", n_neighbors=5, parameters={"lambda": 1}).fit(X, Y), ValueError, "lambda has no effect with method=\"manifold\": "),
        (lambda: likewise.LabelPropagation(affinity="rbf").fit(X, Y), ValueError, "^affinity"),
        (lambda: likewise.LabelPropagation(n_neighbors=5, n_jobs=0).fit(X, Y), ValueError, "^n_jobs = 0"),
        (lambda: likewise.LabelPropagation(n_neighbors=5, random_state=-1).fit(X, Y), ValueError, "^random_state = -1"),
        (lambda: likewise.MetricLearner("no").fit(X, Y), ValueError, "^recipe = no: there are: mixed-lp"),
        (lambda: likewise.MetricLearner(settings={"rounds": {"epochs": 3}}).fit(X, Y), ValueError, "name one of them"),
        (lambda: likewise.MetricLearner("rca", settings={"nosuch": 1}).fit(X, Y), ValueError, "nosuch"),
        (lambda: likewise.MetricLearner("rca", settings={"rounds": None}).fit(X, Y), ValueError, "settings"),
        (lambda: likewise.MetricLearner("rca").fit(X, pairs=[[0, 1, 2]]), ValueError, "1 .alike. or -1"),
        (lambda: likewise.MetricLearner("rca").fit(X, pairs=[[0, 99, 1]]), ValueError, "99"),
        (lambda: likewise.MetricLearner("gsph").fit(X, Y), ValueError, "which CrossModalLearner learns"),
        (lambda: likewise.Study(X, Y, split="no", recipe="rca").run(), ValueError, "^split"),
        (lambda: likewise.Study(X, Y, labels_per_class=0).run(), ValueError, "^labels_per_class = 0"),
        (lambda: likewise.Study(X, np.full(40, -1), split="item", recipe="rca").run(), ValueError, "label"),
        (lambda: likewise.Index(X, kind="tree"), ValueError, "^kind"),
        (lambda: likewise.Index(X, kind="hnsw", metric="euclidean"), ValueError, "^metric"),
        (lambda: likewise.Index(X).search(X, 0), ValueError, "^k = 0"),
        (lambda: likewise.Index(X).search(X[:, :3], 2), ValueError, "Q has 3 features, but X has "),
        (lambda: likewise.Index.load("no/such/folder"), FileNotFoundError, "no/such"),
        (lambda: likewise.Index(X).save("/proc/nosuch"), OSError, "proc"),
        (lambda: likewise.metrics.recall_at_k(X, np.arange(40)[::-1], k=0), ValueError, "^k = 0"),
        (lambda: likewise.metrics.map_at_r(X, np.arange(40)), ValueError, "no item has another"),
        (lambda: likewise.losses.loss("no", X, Y), ValueError, "^loss = no: no such loss"),
        (lambda: likewise.losses.triplet(X, Y, margin=-3), ValueError, "margin = -3"),
        (lambda: likewise.losses.proxy_anchor(X, Y), ValueError, "needs proxies"),
        (lambda: likewise.explain("nosuch"), ValueError, "nosuch"),
    ],
)
def test_settings_that_cannot_be_used(make, kind, words):
    with pytest.raises(kind, match=words) as raised:
        make()
    # Words of the command would be of no use here.
    assert "--" not in str(raised.value), raised.value


def test_a_warning_names_the_keyword():
    rng = np.random.default_rng(0)
    x = np.repeat(np.eye(2), 40, axis=0) + 0.01 * rng.normal(size=(80, 2))
    y = np.full(80, -1)
    y[[0, 1, 2, 3]] = 0, 0, 1, 1
    with pytest.warns(likewise.LikewiseWarning, match="no pseudo-label; raise n_neighbors or label one"):
        likewise.LabelPropagation("lgc", n_neighbors=3).fit(x, y)
    # In a recipe it is a setting.
    said = "raise pseudo_labels.graph.k in settings or label one"
    settings = {"pseudo_labels": {"graph": {"k": 3}}}
    with pytest.warns(likewise.LikewiseWarning, match=said):
        likewise.MetricLearner("mixed-rca", settings=settings, measure=False).fit(x, y)


def test_a_broken_graph_is_refused():
    lone = sparse.csr_matrix(([1.0], ([0], [1])), shape=(40, 40))
    propagation = likewise.LabelPropagation(affinity="precomputed")
    with pytest.raises(ValueError, match="mirror|symmetric"):
        propagation.fit(lone, Y)
    with pytest.raises(TypeError, match="sparse matrix of scipy"):
        propagation.fit(X, Y)
    with pytest.raises(ValueError, match="square"):
        propagation.fit(sparse.csr_matrix((3, 4)), Y)
    with pytest.raises(ValueError, match="inconsistent|labels"):
        propagation.fit(likewise.KNeighborsGraph(3).fit_transform(X[:20]), Y)


def test_what_pandas_calls_missing_is_missing():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = blobs(n=40)
    words = np.array(["cat", "dog", "cow", "owl"])[y].astype(object)
    words[5:] = None
    wanted = likewise.LabelPropagation(n_neighbors=5).fit(x, words).transduction_
    kinds = [pandas.Series(words, dtype="string"), pandas.Series(words).convert_dtypes()]
    for labels in [*kinds, np.where(words == None, pandas.NA, words)]:  # noqa: E711
        found = likewise.LabelPropagation(n_neighbors=5).fit(x, labels).transduction_
        assert (found == wanted).all()


def test_words_mean_what_the_command_reads():
    x, y = blobs(n=40)
    words = np.array(["cat", "dog", "cow", "owl"])[y].astype(object)
    words[5:] = None
    wanted = likewise.LabelPropagation(n_neighbors=5).fit(x, words).transduction_
    for lost in ("None", "NA", "nan", "<NA>", "null"):
        filled = np.where(words == None, lost, words)  # noqa: E711
        for given in (filled, filled.astype(str)):
            with pytest.warns(likewise.LikewiseWarning, match=rf'^y: 35 labels are written "{lost}" and read as unlabeled'):
                found = likewise.LabelPropagation(n_neighbors=5).fit(x, given).transduction_
            # What is unknown is called "" where labels are an array of words.
            assert (found == np.where(wanted == None, "" if given.dtype.kind == "U" else None, wanted)).all()  # noqa: E711
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="y: ")
        likewise.LabelPropagation(n_neighbors=5).fit(x, np.where(words == None, " Unlabeled", words))  # noqa: E711
        assert likewise.LabelPropagation(n_neighbors=5).fit(x, np.where(y == 0, "1.0", "2.0")).classes_.tolist() == ["1.0", "2.0"]
    with pytest.warns(likewise.LikewiseWarning, match='written "1.0" are of class "1"'):
        one = likewise.LabelPropagation(n_neighbors=5).fit(x, np.where(y == 0, "2", np.where(np.arange(40) % 2, "1.0", "1")))
    assert one.classes_.tolist() == ["1", "2"] and set(one.transduction_) == {"1", "2"}
    with pytest.warns(likewise.LikewiseWarning, match='"none" and read as a class'):
        assert "none" in likewise.LabelPropagation(n_neighbors=5).fit(x, np.where(y == 0, "none", "cat")).classes_
    with pytest.warns(likewise.LikewiseWarning, match="read them as several with `multi_label` of the command `likewise fit`"):
        likewise.LabelPropagation(n_neighbors=5).fit(x, np.where(y == 0, "cat|dog", "cat"))


def test_a_run_calls_classes_as_the_command_does(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    x, y = blobs(n=80)
    likewise.Study(x, np.char.add(y.astype(str), ".0"), recipe="rca").save(tmp_path / "run")
    assert set(parquet.read_table(tmp_path / "run/items.parquet")["label"].to_pylist()) == {"0", "1", "2", "3"}


def test_what_is_missing_in_a_frame_is_no_object():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X)
    frame[0] = frame[0].astype(object).where(frame[0] > 0, pandas.NA)
    with pytest.raises(ValueError, match="^X holds objects"):
        likewise.KNeighborsGraph(5).fit(frame)
    with pytest.raises(ValueError, match=r"^y holds 335544\d\d as a floating number"):
        likewise.LabelPropagation(n_neighbors=5).fit(X, (Y + 2**25).astype(np.float32))


def test_rows_that_say_the_opposite_are_refused():
    x = blobs(n=40)[0]
    learner = likewise.MetricLearner("itml", measure=False)
    with pytest.raises(ValueError, match="^pairs: row 2 says of items 1 and 0 the opposite of row 0; keep one of them$"):
        learner.fit(x, pairs=[[0, 1, 1], [2, 3, -1], [1, 0, -1]])
    learner = likewise.MetricLearner("oasis", measure=False)
    with pytest.raises(ValueError, match="^triplets: row 1 says that item 2 is nearer to item 0 than item 1 is, the opposite of row 0"):
        learner.fit(x, triplets=[[0, 1, 2], [0, 2, 1]])


def test_a_number_beyond_float32_is_no_infinity():
    x, y = blobs(n=40)
    x = x.astype(np.float64)
    x[3, 1] = 1e300
    with pytest.raises(ValueError, match=r"X: row 3, column 1 is 1e\+300, beyond what float32 holds"):
        likewise.MetricLearner("rca", measure=False).fit(x, y)


def test_an_index_saves_what_it_was_made_of(tmp_path):
    import copy
    import pickle

    x = blobs(n=60)[0].astype(np.float32)
    queries = x[:7].copy()
    for kind in ("flat", "hnsw"):
        index = likewise.Index(x, kind)
        for again in (pickle.loads(pickle.dumps(index)), copy.deepcopy(index)):
            assert again.kind == kind and (again.search(queries, 3)[0] == index.search(queries, 3)[0]).all()
    x -= 3
    with pytest.raises(ValueError, match="X has changed since the index was made of it"):
        index.save(tmp_path / "index")
    with pytest.raises(ValueError, match="X has changed since"):
        copy.copy(index)
    assert not (tmp_path / "index").exists()


def test_numbers_that_no_machine_counts_are_refused():
    x, y = blobs(n=40)
    with pytest.raises(ValueError, match="must be below"):
        likewise.Index(x).search(x, 10**20)
    with pytest.raises(ValueError, match="draws = 100000000000000000000: must be below"):
        likewise.Study(x, y, draws=10**20).run()
    with pytest.raises(TypeError, match="method = 3: must be a word"):
        likewise.LabelPropagation(3, n_neighbors=5).fit(x, y)


def test_columns_go_by_their_names_wherever_a_frame_was_fitted(tmp_path, likewise_command):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = blobs(n=80, columns=4)
    frame = pandas.DataFrame(x, columns=list("abcd"))
    turned = frame[list("dcba")]
    study = likewise.Study(frame, y, recipe="rca")
    study.save(tmp_path / "run")
    loaded = likewise.MetricLearner.load(tmp_path / "run")
    assert np.array_equal(study.model.transform(frame), loaded.transform(frame))
    # As pandas reads names after "a, b": with their spaces, which files are read without.
    spaced = likewise.Study(frame.rename(columns=lambda name: f" {name} "), y, recipe="rca")
    spaced.save(tmp_path / "spaced")
    frame.assign(kind=[f"class {of}" for of in y]).to_csv(tmp_path / "new.csv", index=False)
    for run in ("run", "spaced"):
        likewise_command("embed", run, "new.csv", "--label-column", "kind", "-o", f"{run}.npy", cwd=tmp_path)
        np.testing.assert_allclose(np.load(tmp_path / f"{run}.npy"), study.model.transform(frame), atol=1e-6)
        likewise_command("search", run, "--query", "new.csv", "--label-column", "kind", "-k", 3, cwd=tmp_path)
    for learner in (study.model, loaded):
        with pytest.raises(ValueError, match="must be in the same order"):
            learner.transform(turned)
    for make, X in [
        (likewise.MetricLearner("rca", measure=False), {"p": frame, "q": x}),
        (likewise.CrossModalLearner("cluster-cca"), {"p": frame, "q": x}),
    ]:
        made = make.fit(X, y)
        with pytest.raises(ValueError, match="must be in the same order"):
            made.transform({**X, "p": turned}) if make.views_ and hasattr(made, "pair_score") else made.transform(turned, "p")
    # What a run brings to one scale is brought to it here as well; what it makes of words is not.
    frame["label"], frame["a"] = [f"class {of}" for of in y], 1000 * frame["a"]
    # One number is missing, so that the table is brought to one scale.
    frame.loc[3, "b"] = np.nan
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame["b"] = frame["b"].fillna(frame["b"].median())
    likewise_command("fit", "x.csv", "--recipe", "rca", "-o", "scaled", cwd=tmp_path)
    scaled = likewise.MetricLearner.load(tmp_path / "scaled")
    theirs = np.load(tmp_path / "scaled/embeddings.npy")
    np.testing.assert_allclose(scaled.transform(frame[list("abcd")]), theirs, atol=1e-5)
    pairs = np.stack([frame[list("abcd")][:9], frame[list("abcd")][9:18]], axis=1)
    by_rows = -((theirs[:9] - theirs[9:18]) ** 2).sum(axis=1)
    assert scaled.similarity_ == "euclidean"
    np.testing.assert_allclose(scaled.pair_score(pairs), by_rows, rtol=1e-3, atol=1e-4)
    assert scaled._reading.scale is not None
    difference = (pairs[:, 0] - pairs[:, 1]).astype(np.float64)
    by_matrix = -np.einsum("pi,ij,pj->p", difference, scaled.get_mahalanobis_matrix(), difference)
    np.testing.assert_allclose(by_matrix, by_rows, rtol=1e-3, atol=1e-4)
    frame["kind"] = ["u", "v"] * 40
    frame.to_csv(tmp_path / "w.csv", index=False)
    likewise_command("fit", "w.csv", "--recipe", "rca", "-o", "words", cwd=tmp_path)
    with pytest.raises(ValueError, match="of whose column 'kind' it makes features"):
        likewise.MetricLearner.load(tmp_path / "words").transform(frame[list("abcd")])


def test_tables_of_pyarrow_have_names_too(tmp_path, likewise_command):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    x, y = blobs(n=80, columns=4)
    table = arrow.table({name: x[:, place] for place, name in enumerate("abcd")})
    turned = table.select(list("dcba"))
    for made, ask in [
        (likewise.MetricLearner("rca", measure=False).fit(table, y), "transform"),
        (likewise.LabelPropagation(n_neighbors=5).fit(table, y), "predict"),
    ]:
        assert made.feature_names_in_.tolist() == list("abcd")
        with pytest.raises(ValueError, match="must be in the same order"):
            getattr(made, ask)(turned)
    vectors = arrow.table({"vector": list(x)})
    made = likewise.MetricLearner("rca", measure=False).fit(vectors, y)
    assert not hasattr(made, "feature_names_in_") and made.n_features_in_ == 4
    assert np.array_equal(made.transform(vectors.rename_columns(["embedding"])), made.transform(x))
    likewise.Study(table, y, recipe="rca").save(tmp_path / "run")
    np.savetxt(tmp_path / "new.csv", x[:, ::-1], delimiter=",", fmt="%.9g", header="d,c,b,a", comments="")
    likewise_command("embed", "run", "new.csv", "-o", "e.npy", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), np.load(tmp_path / "run/embeddings.npy"), atol=1e-5)


def test_frames_that_are_compared_have_the_same_columns():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = blobs(n=40, columns=4)
    frame = pandas.DataFrame(x, columns=list("abcd"))
    turned, index = frame[list("dcba")], likewise.Index(frame)
    assert index.search(frame[:3], k=1)[0].ravel().tolist() == [0, 1, 2]
    for ask in (
        lambda: index.search(turned[:3]),
        lambda: pickle.loads(pickle.dumps(index)).search(turned[:3]),
        lambda: likewise.metrics.recall_at_k(frame, y, gallery=(turned, y)),
    ):
        with pytest.raises(ValueError, match="must be in the same order"):
            ask()


def test_tuples_of_frames_go_by_their_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = blobs(n=80, columns=4)
    rng = np.random.default_rng(0)
    rows = [[rng.choice(np.setdiff1d(np.flatnonzero(y == y[a]), [a])), rng.choice(np.flatnonzero(y != y[a]))] for a in range(80)]
    of = {"anchor": np.arange(80), "positive": np.array(rows)[:, 0], "negative": np.array(rows)[:, 1], "weight": rng.random(80) + 0.1}
    frame = pandas.DataFrame(of)
    turned = frame[["weight", "negative", "anchor", "positive"]]
    learner = likewise.MetricLearner("oasis", measure=False)
    wanted = learner.fit(x, triplets=frame.to_numpy()).pair_score(x.reshape(40, 2, 4))
    for given in (frame, turned, turned.convert_dtypes(), turned.rename(columns=lambda name: f" {name.title()} ")):
        assert np.array_equal(learner.fit(x, triplets=given).pair_score(x.reshape(40, 2, 4)), wanted)
    with pytest.raises(ValueError, match="none is called 'negative'"):
        learner.fit(x, triplets=turned.rename(columns={"negative": "other"}))
    for strange in (turned.rename(columns={"weight": "w"}), frame.assign(score=1.0)):
        with pytest.raises(ValueError, match="is none of anchor, positive, negative and weight"):
            learner.fit(x, triplets=strange)
    with pytest.raises(ValueError, match="^triplets has the columns pos, anchor, neg, w: none is called 'positive'"):
        learner.fit(x, triplets=frame.set_axis(["pos", "anchor", "neg", "w"], axis=1))
    # By their places where names say nothing.
    bare = frame.set_axis(["p", "q", "r", "s"], axis=1)
    assert np.array_equal(learner.fit(x, triplets=bare).pair_score(x.reshape(40, 2, 4)), wanted)
    pairs = pandas.DataFrame({"y": [1, -1] * 40, "b": np.where(np.arange(80) % 2, of["negative"], of["positive"]), "a": np.arange(80)})
    itml = likewise.MetricLearner("itml", measure=False)
    by_place = itml.fit(x, pairs=pairs[["a", "b", "y"]].to_numpy()).get_mahalanobis_matrix()
    assert np.array_equal(itml.fit(x, pairs=pairs).get_mahalanobis_matrix(), by_place)


@pytest.mark.parametrize("of", ["pandas", "pyarrow", "object"])
def test_whole_numbers_beside_what_is_missing_are_classes_to_the_last_digit(of):
    x, y = blobs(n=40)
    large = [None if row % 5 == 0 else 2**60 + int(of) for row, of in enumerate(y)]
    given = large
    if of == "pandas":
        given = pytest.importorskip("pandas").Series(large, dtype="Int64")
    elif of == "pyarrow":
        given = pytest.importorskip("pyarrow").array(large)
    found = likewise.LabelPropagation(n_neighbors=5).fit(x, given)
    assert found.classes_.tolist() == sorted({2**60 + int(of) for of in y}) and found.transduction_.dtype == np.int64
    with pytest.raises(ValueError, match="as a floating number, which does not tell it from its neighbours"):
        likewise.LabelPropagation(n_neighbors=5).fit(x, np.array([np.nan if one is None else one for one in large]))


def test_names_that_differ_by_spaces_alone_are_two():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = blobs(n=80, columns=2)
    learner = likewise.MetricLearner("rca", measure=False).fit(pandas.DataFrame(x, columns=["a", " a"]), y)
    with pytest.raises(ValueError, match="must be in the same order"):
        learner.transform(pandas.DataFrame(x, columns=[" a", "a"]))
    with pytest.raises(FileNotFoundError, match="no such folder"):
        likewise.MetricLearner.load("no-such-run")


def test_large_numbers_are_classes_to_the_last_digit():
    x, y = blobs(n=40)
    large = 9_007_199_254_740_992 + y.astype(np.int64)
    wanted = [int(of) for of in np.unique(large)]
    shown = [None if row % 5 == 0 else int(of) for row, of in enumerate(large)]
    found = likewise.LabelPropagation(n_neighbors=5).fit(x, shown)
    assert found.classes_.tolist() == wanted
    ranks = likewise.metrics.ranking(x, large, gallery=(x, large))
    assert ranks["relevant"].tolist() == [(large == of).sum() for of in large]
    with pytest.raises(ValueError, match="takes 64 bits without a sign"):
        likewise.LabelPropagation(n_neighbors=5).fit(x, y.astype(np.uint64) + np.uint64(2**63))
    with pytest.raises(ValueError, match="beyond 64 bits"):
        likewise.LabelPropagation(n_neighbors=5).fit(x, [2**70, *[1] * 39])


def test_flags_are_true_or_false():
    x, y = blobs(n=40)
    for fit in (
        lambda: likewise.KNeighborsGraph(5, center="no").fit(x),
        lambda: likewise.LabelPropagation(n_neighbors=5, approx="no").fit(x, y),
        lambda: likewise.MetricLearner("rca", measure="no").fit(x, y),
    ):
        with pytest.raises(TypeError, match="= 'no': must be True or False"):
            fit()


def test_flags_beside_what_is_missing_are_flags(tmp_path):
    x, y = blobs(n=40, classes=2)
    flags = y == 1
    whole = likewise.LabelPropagation(n_neighbors=5).fit(x, flags)
    gaps = np.where(np.arange(40) % 5 == 0, None, flags)
    for given in (gaps, gaps.tolist(), [float("nan") if one is None else one for one in gaps]):
        some = likewise.LabelPropagation(n_neighbors=5).fit(x, given)
        assert some.classes_.dtype == bool and some.transduction_.tolist() == flags.tolist()
        # As numbers, which the command reads of a column of flags, and as what they are.
        for truth in (flags, gaps, y):
            assert some.score(x, truth) == whole.score(x, truth) == 1
    mixed = np.array([None, *flags[1:20], *y[20:].astype(np.int64)], dtype=object)
    assert likewise.LabelPropagation(n_neighbors=5).fit(x, mixed).classes_.tolist() == [0, 1]
    words = likewise.LabelPropagation(n_neighbors=5).fit(x, flags.astype(str))
    assert words.score(x, flags) == whole.score(x, flags.astype(str)) == 1
    with pytest.warns(likewise.LikewiseWarning, match="^y: none of its classes .'0' ....* is one that was fitted .'False'"):
        assert words.score(x, y) == 0
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    some = likewise.LabelPropagation(n_neighbors=5).fit(x, pandas.Series(gaps, dtype="boolean"))
    assert some.classes_.tolist() == [False, True]
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    likewise.Study(x, flags, recipe="rca").save(tmp_path / "run")
    assert set(parquet.read_table(tmp_path / "run/items.parquet")["label"].to_pylist()) == {"0", "1"}


@pytest.mark.parametrize("kind, most", [(np.float16, 2**11), (np.float32, 2**24), (np.float64, 2**53), (np.longdouble, 2**53)])
def test_floating_numbers_are_classes_while_they_tell_whole_ones_apart(kind, most):
    x, y = blobs(n=40, classes=2)
    for first, sound in [(most - 2, True), (most, False)]:
        given = np.array([first + one for one in y.tolist()], kind)
        gallery = lambda y: likewise.metrics.map_at_r(x, y, gallery=(x, y))  # noqa: E731
        for ask in (lambda y: likewise.metrics.map_at_r(x, y), gallery):
            for labels in (given, given.astype(object) if kind is np.longdouble else np.array(list(given), object)):
                if sound:
                    assert ask(labels) > 0.9
                else:
                    with pytest.raises(ValueError, match="does not tell it from its neighbours"):
                        ask(labels)


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "file").touch()
    for load in (likewise.MetricLearner.load, likewise.CrossModalLearner.load, likewise.Index.load, likewise.describe):
        with pytest.raises(ValueError, match="file: a file; give the folder of "):
            load(tmp_path / "file")
        with pytest.raises(FileNotFoundError, match="nothing: no such folder"):
            load(tmp_path / "nothing")


def test_labels_of_queries_and_gallery_go_by_the_names_of_classes():
    x, y = blobs(n=40, classes=2)
    find = lambda first, second: likewise.metrics.map_at_r(x, first, gallery=(x, second))  # noqa: E731
    wanted = likewise.metrics.map_at_r(x, y, gallery=(x, y))
    for given in (y == 1, y.astype(str), y * 1.0, [f" {one} " for one in y], y[:, None].ravel().astype(object)):
        assert find(given, y.astype(str)) == find(y, given) == wanted
    assert find(y == 1, (y == 1).astype(str)) == find((y == 1).astype(str), y == 1) == wanted
    with pytest.warns(likewise.LikewiseWarning, match="^y and the gallery have no class in common .'0' ..., '100'"):
        likewise.metrics.recall_at_k(x, y, gallery=(x, y + 100))


@pytest.mark.parametrize(
    ("y", "given"),
    [
        (None, {"recipe": "rca"}),
        (np.full(40, -1), {"recipe": "rca"}),
        (np.where(np.arange(40) == 3, 0, -1), {"recipe": "rca"}),
        (None, {"recipe": "oasis", "triplets": [(0, 2, 1), (1, 3, 2)]}),
    ],
)
def test_a_study_that_measures_nothing_says_so(y, given):
    study = likewise.Study(X, y, **given)
    with pytest.warns(likewise.LikewiseWarning, match="Not measured: "):
        study.run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Not measured: " in study.verdict
        with pytest.raises(ValueError, match="label"):
            likewise.Study(X, y, recipe="rca", split="item", labels_per_class=3).run()


@pytest.mark.parametrize(
    ("of", "kind", "said"),
    [
        (lambda: likewise.metrics.evaluate(X, Y, nmi="no"), TypeError, "^nmi = 'no': must be True or False"),
        (lambda: likewise.metrics.map_at_r(X, Y, all_queries="a"), TypeError, "^all_queries = 'a'"),
        (lambda: likewise.metrics.recall_at_k(X, Y, metrik="cosine"), TypeError, "^metrik is no argument .* metric, "),
        (lambda: likewise.CrossModalLearner("cluster-cca").fit({"image": X}, Y), ValueError, "has 1 view; give two or more$"),
        (lambda: likewise.Study(X, Y, recipe="rca").save(""), ValueError, "^path is empty"),
        (lambda: likewise.Index(X).save(""), ValueError, "^path is empty"),
        (lambda: likewise.Study(X, Y, recipe="rca").save("no", overwrite="yes"), TypeError, "^overwrite = 'yes'"),
    ],
)
def test_keywords_are_what_they_are_named_for(of, kind, said):
    with pytest.raises(kind, match=said):
        of()


def test_losses_refuse_classes_that_they_cannot_count():
    x, y = blobs(n=40)
    assert np.isfinite(likewise.losses.multi_similarity(x, y + 2**32 - 6)[0])
    for first in (2**32 - 4, 2**53):
        with pytest.raises(ValueError, match="^y has the class .*; number the classes 0, 1 and so on"):
            likewise.losses.multi_similarity(x, y + first)
    with pytest.raises(ValueError, match="^y has the class -2; .*-1 of an absent item"):
        likewise.losses.multi_similarity(x, y - 2)


def test_labels_mean_the_same_in_every_container():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    x, y = blobs(n=40, classes=2)
    fit = lambda given: likewise.LabelPropagation(n_neighbors=5).fit(x, given)  # noqa: E731
    large = [None, *(2**53 + 1 + int(one) for one in y[1:])]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A column-vector y was passed|.* are of class")
        for given in (
            [float("nan"), *large[1:]],
            pandas.DataFrame({"y": pandas.Series(large, dtype="Int64")}),
            pandas.Series(large, dtype="Int64").astype("category"),
            pandas.Categorical(large),
            pandas.array(large, dtype="Int64"),
            polars.DataFrame({"y": large}),
            arrow.table({"y": large}),
        ):
            assert fit(given).classes_.tolist() == [2**53 + 1, 2**53 + 2]
        mixed = ["1", 2.0, 1.0, None] * 10
        for given in (mixed, np.array(mixed, object), pandas.Series(mixed)):
            assert set(map(str, fit(given).classes_)) == {"1", "2"}
        assert fit([True, "", False, None] * 10).classes_.dtype == bool
        with pytest.raises(ValueError, match=r"^y is of shape|inconsistent"):
            fit(polars.DataFrame({"y": [[0, 1]] * 20}, schema={"y": polars.Array(polars.Int64, 2)}))


def test_what_is_no_run_is_a_value_error(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"a")
    for config, metrics in [("{}", "{}"), ("[1]", "{}"), ("{", "{}"), ("1", "{}")]:
        (tmp_path / "config.json").write_text(config)
        (tmp_path / "metrics.json").write_text(metrics)
        with pytest.raises(ValueError, match="is no run of `likewise fit`"):
            likewise.MetricLearner.load(tmp_path)


def test_a_loaded_run_is_fitted_again(tmp_path):
    x, y = blobs(n=80)
    study = likewise.Study(x, y, recipe="label-rca", random_state=9)
    loaded = likewise.MetricLearner.load(study.save(tmp_path / "run"))
    before = loaded.transform(x)
    assert np.array_equal(loaded.fit(x, y).transform(x), before) and loaded.random_state == 9
    changed = likewise.Study(x, y, recipe="label-rca", settings={"learner": {"shrinkage": 0.01}})
    loaded = likewise.MetricLearner.load(changed.save(tmp_path / "changed"))
    with pytest.raises(ValueError, match="^recipe = label-rca .changed.: that is what a fit with other settings is called"):
        loaded.fit(x, y)
    file = tmp_path / "label-rca.toml"
    file.write_text('base = "label-rca"\n[learner]\nshrinkage = 0.9\n')
    loaded = likewise.MetricLearner.load(likewise.Study(x, y, recipe=file).save(tmp_path / "file"))
    with pytest.warns(likewise.LikewiseWarning, match="^the run that was loaded had other settings than label-rca has by itself"):
        loaded.fit(x, y)
    for number, asked in enumerate([{"split": "item"}, {"labels_per_class": 5}, {"split": ["train", "test"] * 40}]):
        study = likewise.Study(x, y, recipe="label-rca", **asked)
        loaded = likewise.MetricLearner.load(study.save(tmp_path / f"part{number}"))
        with pytest.warns(likewise.LikewiseWarning, match="^the run that was loaded learned from a part of its labels"):
            loaded.fit(x, y)
    with pytest.warns(likewise.LikewiseWarning, match="^20 neighbours are many for 80 items"):
        few = likewise.Study(x, y, recipe="mixed-rca").save(tmp_path / "few")
    with warnings.catch_warnings():
        warnings.simplefilter("error", likewise.LikewiseWarning)
        loaded.fit(x, y)
        likewise.MetricLearner.load(few).fit(*blobs(n=300))


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"split": "item"},
        {"labels_per_class": 5, "draws": 2},
        {"label_fraction": 0.2},
        {"split": "item", "labels_per_class": 3},
        {"split": "given"},
        {"recipe": "cca"},
    ],
)
def test_a_loaded_run_across_views_is_fitted_again(tmp_path, asked):
    x, y = blobs(n=80, classes=4)
    views, recipe = {"a": x, "b": x[:, ::-1].copy()}, asked.pop("recipe", "cluster-cca")
    if recipe == "cca":
        y = None
    if asked.get("split") == "given":
        asked["split"] = ["train", "test"] * 40
    across = likewise.CrossModalLearner(recipe, random_state=9, **asked).fit(views, y)
    again = likewise.CrossModalLearner.load(across.save(tmp_path / "run"))
    if isinstance(asked.get("split"), list):
        with pytest.raises(ValueError, match="^split = 'given': give the part of each item"):
            again.fit(views, y)
        again.split = asked["split"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", likewise.LikewiseWarning)
        again.fit(views, y)
    assert again.verdict_ == across.verdict_ and (again.pseudo_labels_ == across.pseudo_labels_).all()
    assert np.array_equal(again.transform(x, "a"), across.transform(x, "a"))


def test_a_missing_number_is_told_by_its_keyword():
    x, y = blobs(n=60)
    x = x.astype(np.float32)
    broken = x.copy()
    broken[3, 2] = np.nan
    fitted = likewise.MetricLearner("rca", measure=False).fit(x, y)
    graph = likewise.LabelPropagation(n_neighbors=5).fit(x, y)
    pairs = np.stack([x[:5], broken[:5]], 1)
    calls = {
        "X": [
            lambda: likewise.MetricLearner("rca", measure=False).fit(broken, y),
            lambda: likewise.Study(broken, y).run(),
            lambda: fitted.transform(broken),
            lambda: likewise.KNeighborsGraph(5).fit(broken),
            lambda: likewise.LabelPropagation(n_neighbors=5).fit(broken, y),
            lambda: graph.predict(broken),
            lambda: likewise.Index(broken),
            lambda: likewise.Index(broken, "hnsw"),
            lambda: likewise.metrics.recall_at_k(broken, y, 1),
            lambda: likewise.metrics.collapse(broken),
        ],
        "Q": [lambda: likewise.Index(x).search(broken), lambda: likewise.Index(x, "hnsw").search(broken)],
        "X['a']": [lambda: likewise.MetricLearner("rca", measure=False).fit({"a": broken, "b": x}, y)],
        "pairs": [lambda: fitted.pair_score(pairs)],
        "embeddings": [lambda: likewise.losses.nt_xent(broken, y)],
    }
    for name, each in calls.items():
        for call in each:
            with pytest.raises(ValueError) as e:
                call()
            assert str(e.value).startswith(f"{name}: row 3, column 2 is NaN; ")


def test_settings_are_told_without_types_of_the_program():
    x, y = blobs(n=60)
    said = {
        "settings: learner = None stands for nothing here; leave it out": {"learner": None},
        "settings: pseudo_labels.graph.k = None stands for nothing here; leave it out": {"pseudo_labels": {"graph": {"k": None}}},
        "settings: learner has no kind: there are: gradient, ": {"learner": {"name": "rca"}},
        "settings: invalid type: integer `3`, expected a dict: in `rounds`": {"rounds": 3},
        "settings: invalid type: integer `3`, expected a dict: in `pseudo_labels`": {"pseudo_labels": 3},
        "settings: pseudo_labels.graph: unknown field; `none` has no settings": {"pseudo_labels": {"graph": {"k": 3}}},
        'settings: learner.sweeps: invalid type: string "x", expected a whole number of 0 or more: in `learner`': {"learner": {"kind": "itml", "sweeps": "x"}},
    }
    for words, settings in said.items():
        with pytest.raises(ValueError) as e:
            likewise.MetricLearner("label-rca", settings=settings).fit(x, y)
        assert str(e.value).startswith(words)


def test_keywords_that_exclude_each_other_are_named():
    x, y = blobs(n=60)
    views = {"a": x, "b": x[:, :2]}

    def across(**asked):
        return likewise.CrossModalLearner("gsph", **asked).fit(views, y)

    said = {
        "draws go with `labels_per_class` and a test part": lambda: likewise.Study(x, y, draws=2).run(),
        "draws go with `labels_per_class` or `label_fraction`": lambda: across(draws=2),
        "`labels_per_class` and `label_fraction` are two ways": lambda: across(labels_per_class=2, label_fraction=0.5),
        "label_fraction = 1.5: must be above 0 and below 1": lambda: across(label_fraction=1.5),
        'split = "zero-shot": must be "item", or the part of each item': lambda: across(split="zero-shot"),
        'split = "x": must be "item", "zero-shot", "folds", or the part of each item': lambda: likewise.Study(x, y, split="x").run(),
        "there are no labels; give some in y, with -1": lambda: likewise.Study(x, split="item", labels_per_class=2).run(),
        'metric = "euclidean": an approximate index compares by the cosine': lambda: likewise.Index(x, "hnsw", metric="euclidean"),
        "symmetrize = NaN: must be from 0 to 1": lambda: likewise.KNeighborsGraph(5, symmetrize=float("nan")).fit(x),
        'symmetrize = "x": must be "sum", "mutual", "max", "mean" or a share of 0 to 1': lambda: likewise.KNeighborsGraph(5, symmetrize="x").fit(x),
        "X: its keys name the views, as words without +, and 1 is none": lambda: likewise.MetricLearner("rca").fit({1: x, "b": x}, y),
        "parameters of the loss nt-xent: unknown field `weights`, expected `temperature`; every loss takes `weight`": lambda: likewise.losses.nt_xent(x, y, weights=y),
        "temperature of the loss nt-xent: None is not a number": lambda: likewise.losses.nt_xent(x, y, temperature=None),
        "path = 'a\\x00b': has a NUL character": lambda: likewise.Index(x).save("a\0b"),
    }
    for words, call in said.items():
        with pytest.raises(ValueError) as e:
            call()
        assert str(e.value).startswith(words)


def test_weights_and_graphs_of_other_types_are_named():
    from scipy import sparse

    x, y = blobs(n=60)
    graph = likewise.KNeighborsGraph(5).fit_transform(x)
    with pytest.raises(ValueError, match="^weight is of type <U1; give real numbers"):
        likewise.losses.nt_xent(x, y, weight=["a"] * 60)
    with pytest.raises(ValueError, match="is of type complex128; give weights that are real numbers"):
        likewise.LabelPropagation(affinity="precomputed").fit(sparse.csr_matrix(graph, dtype=complex), y)
    with pytest.raises(ValueError, match="^margin = -1: "):
        likewise.losses.triplet(x, y, margin=-1.0)


def test_parameters_are_told_as_keywords():
    x, y = blobs(n=60)
    said = {
        'method="mixed": mass = "x": unknown variant `x`': ("mixed", {"mass": "x"}),
        'method="lgc": max_iterations = -1: invalid value: integer `-1`, expected a whole number of 0 or more': ("lgc", {"max_iterations": -1}),
    }
    for words, (method, parameters) in said.items():
        with pytest.raises(ValueError) as e:
            likewise.LabelPropagation(method, n_neighbors=5, parameters=parameters).fit(x, y)
        assert str(e.value).startswith(words)


def test_what_float32_does_not_tell_apart_is_a_warning():
    seconds = np.c_[1.7e9 + np.arange(100) % 2 * 10.0, np.arange(100)]
    with pytest.warns(likewise.LikewiseWarning, match="X: column 0 varies by 10 about 1700000000, and float32 rounds its values by up to"):
        likewise.Index(seconds, metric="euclidean")
    for kind in (np.int64, np.int32):
        with pytest.warns(likewise.LikewiseWarning, match="X: column 0"):
            likewise.Index(seconds.astype(kind), metric="euclidean")
    # Whole numbers that float64 does not tell apart either.
    for start in (2**54, 2**60):
        with pytest.warns(likewise.LikewiseWarning, match="X: column 0 varies by 99 about"):
            likewise.Index(np.c_[start + np.arange(100), np.arange(100)], metric="euclidean")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        likewise.Index(seconds[:2])
        likewise.Index(np.c_[seconds[:, 1], np.exp(-seconds[:, 1] - 200)])
        likewise.Index(np.c_[seconds[:, 1], np.where(seconds[:, 1] > 9, 0.1 + 0.2, 0.3)])
        likewise.Index(blobs(n=60)[0] + 100)


def test_what_has_no_effect_on_a_given_graph_is_refused():
    x, y = blobs(n=60)
    graph = likewise.KNeighborsGraph(5).fit_transform(x)
    for name, value in {"n_neighbors": "x", "gamma": 9, "symmetrize": "max", "approx": True, "center": True, "standardize": True}.items():
        fit = likewise.LabelPropagation(affinity="precomputed", **{name: value})
        with pytest.raises(ValueError, match=f"^{name} = {value!r} has no effect with affinity='precomputed'"):
            fit.fit(graph, y)

    class Five(likewise.LabelPropagation):
        def __init__(self, affinity="precomputed", n_neighbors=5):
            super().__init__(affinity=affinity, n_neighbors=n_neighbors)

    class Graph(Five):
        def __init__(self, affinity="precomputed"):
            super().__init__(affinity=affinity)

    class Asked(likewise.LabelPropagation):
        def __init__(self, n_neighbors):
            super().__init__(affinity="precomputed", n_neighbors=n_neighbors)

    class Partial(likewise.LabelPropagation):
        __init__ = partialmethod(likewise.LabelPropagation.__init__, affinity="precomputed")

    assert all(fit.fit(graph, y).transduction_.shape == (60,) for fit in (Five(), Graph(), Asked(20), Partial()))
    with pytest.raises(ValueError, match="^n_neighbors = 20 has no effect"):
        Five(n_neighbors=20).fit(graph, y)


def test_more_of_what_is_named():
    x, y = blobs(n=60)
    itself = {}
    itself["a"] = itself
    words = np.array(x, dtype=object)
    words[4, 1], words[0, 0] = "x", None
    said = {
        "settings has a number that is NaN or infinite, or holds itself": lambda: likewise.MetricLearner("rca", settings=itself).fit(x, y),
        "X holds objects that are no numbers (row 4, column 1: 'x')": lambda: likewise.Index(words),
        "weight is at most 1e+30 (item 0): the largest must be from 1e-09 to 1e+05": lambda: likewise.losses.triplet(x, y, weight=np.full(60, 1e30)),
        "weight is at most 1e-12 (item 0): the largest must be from 1e-09 to 1e+05": lambda: likewise.losses.triplet(x, y, weight=np.full(60, 1e-12)),
        "recall = 1.0: must be above 0 and below 1, which approx=False finds": lambda: likewise.KNeighborsGraph(5, approx=True, recall=1.0).fit(x),
        "recall = 1.5: must be above 0 and at most 1": lambda: likewise.KNeighborsGraph(5, recall=1.5).fit(x),
        'settings: invalid type: string "a.toml", expected a dict: in `rounds`': lambda: likewise.MetricLearner("rca", settings={"rounds": "a.toml"}).fit(x, y),
        "settings: rounds.a.0 = None": lambda: likewise.MetricLearner("rca", settings={"rounds": {"a": np.array([None])}}).fit(x, y),
        "settings: rounds.0 = None stands for nothing here": lambda: likewise.MetricLearner("rca", settings={"rounds": [None]}).fit(x, y),
        "settings: unknown field `my key`, expected one of `base`": lambda: likewise.MetricLearner("rca", settings={"my key": 3}).fit(x, y),
        "weight is of type complex128; give real numbers": lambda: likewise.losses.triplet(x, y, weight=np.ones(60, complex)),
        'margin of the loss triplet: invalid type: string "a", expected a number': lambda: likewise.losses.triplet(x, y, margin="a"),
        "cca searches from one view to another, which CrossModalLearner learns": lambda: likewise.MetricLearner("cca").fit({"a": x, "b": x}, y),
        "path is empty; name a folder": lambda: likewise.MetricLearner.load(""),
        "recall = 17: must be above 0 and at most 1": lambda: likewise.KNeighborsGraph(5, recall=17).fit(x),
        "pairs: y must be 1 (alike) or -1 (unlike): could not convert": lambda: likewise.MetricLearner("itml").fit(
            x, pairs=np.array([[0, 1, "x"]], dtype=object)
        ),
    }
    for message, call in said.items():
        with pytest.raises(ValueError) as e:
            call()
        assert str(e.value).startswith(message)
    for message, call in {
        "path = None: must be a path": lambda: likewise.Index(x).save(None),
        "verbose = 'x': must be True or False": lambda: likewise.KNeighborsGraph(5, verbose="x").fit(x),
    }.items():
        with pytest.raises(TypeError) as e:
            call()
        assert str(e.value).startswith(message)
