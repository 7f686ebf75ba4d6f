"""Several views of the same items: in one fit, and from one to another."""

import json
import pickle

import numpy as np
import pytest
from conftest import ROOT, blobs, hidden

import likewise


def digits(per_class=12, seed=0):
    """Some handwritten digits in two views, and their classes."""
    all_views = np.load(ROOT / "testdata/digits.npz")
    rng = np.random.default_rng(seed)
    label = all_views["label"]
    rows = np.concatenate([rng.permutation(np.flatnonzero(label == c))[:per_class] for c in range(10)])
    views = {name: all_views[name][rows].astype(np.float32) for name in ("fou", "zer")}
    return views, label[rows].astype(np.int64)


@pytest.fixture
def files(tmp_path):
    views, y = digits()
    shown = hidden(y, 3)
    np.savez(tmp_path / "all.npz", label=y, **views)
    np.savez(tmp_path / "some.npz", label=shown, **views)
    return tmp_path, views, y, shown


OF_VIEWS = "--view", "fou", "--view", "zer", "--seed", 3, "-o", "run", "--json"


@pytest.mark.parametrize("recipe", ["mixed-rca", "omks"])
def test_a_fit_of_several_views(files, likewise_command, recipe):
    folder, views, _, shown = files
    said = json.loads(likewise_command("fit", "some.npz", *OF_VIEWS, "--recipe", recipe, cwd=folder))
    ours = likewise.MetricLearner(recipe, random_state=3).fit(views, shown)
    assert ours.views_ == ["fou", "zer"] and ours.n_features_in_ == 76 + 47
    assert np.array_equal(ours.transform(views), np.load(folder / "run/embeddings.npy"))
    assert ours.results_["r_precision"] == said["r_precision"] and ours.verdict_ == said["verdict"]
    # The order of the dict is that of the fit; new items may have another.
    turned = dict(reversed(views.items()))
    assert np.array_equal(ours.transform(turned), ours.transform(views))
    again = likewise.MetricLearner.load(folder / "run")
    assert again.views_ == ["fou", "zer"]
    assert np.array_equal(again.transform(views), ours.transform(views))
    pairs = {name: np.stack([x[:20], x[20:40]], axis=1) for name, x in views.items()}
    assert np.array_equal(pickle.loads(pickle.dumps(ours)).pair_score(pairs), ours.pair_score(pairs))


def test_a_study_of_several_views_is_a_run_of_them(files, likewise_command):
    folder, views, _, shown = files
    study = likewise.Study(views, shown, recipe="label-rca")
    study.save(folder / "mine")
    words = "--view", "fou", "--view", "zer", "--recipe", "label-rca"
    likewise_command("fit", "some.npz", *words, "-o", "run", cwd=folder)
    for name in ["model.safetensors", "embeddings.npy", "metrics.json"]:
        assert (folder / "mine" / name).read_bytes() == (folder / "run" / name).read_bytes(), name
    assert study.model.views_ == ["fou", "zer"]
    answer = json.loads(likewise_command("search", "mine", "--id", 3, "-k", 4, "--json", cwd=folder))
    assert len(answer[0]["hits"]) == 4


@pytest.mark.parametrize("recipe", ["mixed+gsph", "cluster-cca", "cca"])
def test_a_fit_across_views(files, likewise_command, recipe):
    folder, views, y, _ = files
    words, given = [], {}
    if recipe != "cca":
        words, given = ["--label-fraction", 0.3, "--draws", 2], {"label_fraction": 0.3, "draws": 2}
    said = likewise_command("fit", "all.npz", *OF_VIEWS, "--recipe", recipe, *words, cwd=folder)
    ours = likewise.CrossModalLearner(recipe, random_state=3, **given).fit(views, y)
    assert ours.results_ == json.loads(said)
    bits = recipe == "mixed+gsph"
    theirs = np.load(folder / ("run/codes.npy" if bits else "run/embeddings.npy"))
    assert np.array_equal(np.concatenate(list(ours.embeddings_.values())), theirs)
    # A fitted item lies where it lay, and finds what the command finds.
    assert np.array_equal(ours.transform(views["zer"][:9], "zer"), ours.embeddings_["zer"][:9])
    ways = "--from", "zer", "--to", "fou"
    found = likewise_command("search", "run", "--id", 7, *ways, "-k", 5, "--json", cwd=folder)
    items, similarities = ours.search(views["zer"][7:8], "zer", k=5)
    hits = json.loads(found)[0]["hits"]
    assert [int(hit["id"]) for hit in hits] == items[0].tolist()
    assert np.allclose([hit["similarity"] for hit in hits], similarities[0], atol=1e-6)
    assert "MAP@50" in ours.text_


def test_a_fit_across_views_is_saved_as_a_run(files, likewise_command):
    folder, views, y, _ = files
    ours = likewise.CrossModalLearner("scm-seq").fit(views, y)
    assert ours.save(folder / "mine") == str(folder / "mine")
    likewise_command(
        "fit", "all.npz", "--view", "fou", "--view", "zer", "--recipe", "scm-seq", "-o", "run", cwd=folder
    )
    for name in ["model.safetensors", "codes.npy", "metrics.json"]:
        assert (folder / "mine" / name).read_bytes() == (folder / "run" / name).read_bytes(), name
    with pytest.raises(ValueError, match="overwrite=True"):
        ours.save(folder / "mine")
    assert (ours.pseudo_labels_ == y).mean() > 0.5 and ours.confidence_.shape == y.shape


def test_texts_are_a_view():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    words = np.array(["red shirt", "garden hose", "kitchen table"])
    X = {"rows": 3 * np.eye(3)[y] + rng.normal(size=(90, 3)), "title": [f"{words[c]} {i}" for i, c in enumerate(y)]}
    learner = likewise.CrossModalLearner("cluster-cca").fit(X, y)
    items, _ = learner.search(["a red shirt"], "title", "rows", k=5)
    assert (y[items] == 0).mean() > 0.7
    for none in (None, float("nan")):
        lost = {**X, "title": [none, *X["title"][1:]]}
        learner = likewise.CrossModalLearner("cluster-cca").fit(lost, y)
        assert len(learner.embeddings_["title"]) == 89
    with pytest.warns(likewise.LikewiseWarning, match="nothing of 1 of 2 texts is in the texts that were fitted"):
        learner.search(["red shirt", "zzz qqq"], "title", "rows")
    with pytest.raises(ValueError, match="title is a view of texts"):
        learner.transform(np.eye(3), "title")


@pytest.mark.parametrize("recipe", ["mixed+gsph", "cluster-cca"])
def test_a_run_across_views_is_opened(tmp_path, recipe):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    words = np.array(["red shirt", "garden hose", "kitchen table"])
    titles = [None, *(f"{words[c]} {i}" for i, c in enumerate(y))][:90]
    X = {"rows": 3 * np.eye(3)[y] + rng.normal(size=(90, 3)), "title": titles}
    fitted = likewise.CrossModalLearner(recipe).fit(X, y)
    fitted.save(tmp_path / "run")
    loaded = likewise.CrossModalLearner.load(tmp_path / "run")
    assert loaded.views_ == fitted.views_ and loaded.verdict_ == fitted.verdict_
    assert loaded.settings_ == fitted.settings_ and loaded.ids_ == [str(row) for row in range(90)]
    for name in X:
        assert np.array_equal(loaded.embeddings_[name], fitted.embeddings_[name])
    for asked, view in [(["a red shirt", "a table"], "title"), (X["rows"][:7], "rows")]:
        for ours, theirs in zip(loaded.search(asked, view, k=5), fitted.search(asked, view, k=5)):
            assert np.array_equal(ours, theirs)
    with pytest.raises(ValueError, match="X has 2 features, but 3 features were fitted"):
        loaded.transform(X["rows"][:, :2], "rows")
    with pytest.raises(ValueError, match="copy that folder"):
        loaded.save(tmp_path / "again")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        likewise.CrossModalLearner.load(tmp_path / "none")
    likewise.Study(X["rows"], y, recipe="rca").save(tmp_path / "one")
    with pytest.raises(ValueError, match="a run within one view"):
        likewise.CrossModalLearner.load(tmp_path / "one")
    with pytest.raises(ValueError, match="CrossModalLearner.load opens it"):
        likewise.MetricLearner.load(tmp_path / "run")


def shop(rng, lacking):
    """Lines of photos, sounds and two numbers of different units, of which one is `lacking` or not."""
    y = np.arange(90) % 3
    image, sound = (5 * np.eye(3, 10)[y] + rng.normal(size=(90, 10)) for _ in range(2))
    numbers = np.stack([1000 * (y + rng.normal(size=90)), rng.normal(size=90)], axis=1)
    lines = []
    for row in range(90):
        price, weight = numbers[row].tolist()
        of = {"image": image[row].tolist(), "sound": sound[row].tolist(), "price": price, "weight": weight, "label": f"class {y[row]}"}
        lines.append(of if row or not lacking else {**of, "weight": None})
    if lacking:
        numbers[0, 1] = np.median(numbers[1:, 1])
    return image, sound, numbers, "\n".join(map(json.dumps, lines))


@pytest.mark.parametrize("lacking", [True, False])
def test_a_table_among_views_is_read_as_the_run_reads_it(tmp_path, likewise_command, lacking):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    image, sound, numbers, lines = shop(np.random.default_rng(0), lacking)
    (tmp_path / "shop.jsonl").write_text(lines)
    frame = pandas.DataFrame(numbers, columns=["price", "weight"])
    of_table = "--view", "image", "--view", "features"
    likewise_command("fit", "shop.jsonl", *of_table, "--recipe", "rca", "-o", "one", cwd=tmp_path)
    likewise_command("fit", "shop.jsonl", *of_table, "--recipe", "cluster-cca", "-o", "two", cwd=tmp_path)
    others = "--view", "image", "--view", "sound", "--recipe", "cluster-cca"
    likewise_command("fit", "shop.jsonl", *others, "-o", "three", cwd=tmp_path)
    one = likewise.MetricLearner.load(tmp_path / "one")
    rows = np.load(tmp_path / "one/embeddings.npy")
    np.testing.assert_allclose(one.transform({"image": image, "features": frame}), rows, atol=2e-5)
    pairs = {"image": np.stack([image[:9], image[9:18]], axis=1), "features": np.stack([numbers[:9], numbers[9:18]], axis=1)}
    np.testing.assert_allclose(one.pair_score(pairs), -((rows[:9] - rows[9:18]) ** 2).sum(axis=1), rtol=1e-3, atol=1e-3)
    two = likewise.CrossModalLearner.load(tmp_path / "two")
    np.testing.assert_allclose(two.transform(frame, "features"), two.embeddings_["features"], atol=2e-5)
    for ask in (
        lambda: one.transform({"image": image, "features": frame[["weight", "price"]]}),
        lambda: two.transform(frame[["weight", "price"]], "features"),
    ):
        with pytest.raises(ValueError, match="must be in the same order"):
            ask()
    # The numbers beside its views are none of a run's business.
    three = likewise.CrossModalLearner.load(tmp_path / "three")
    np.testing.assert_allclose(three.transform(image, "image"), three.embeddings_["image"], atol=2e-5)
    # Views in another order are the same; one array is not both, unless `features` wrote it.
    def embedded(*words):
        likewise_command("embed", "one", *words, "-o", "e.npy", cwd=tmp_path)
        return np.load(tmp_path / "e.npy")

    turned = "--view", "features", "--view", "image"
    np.testing.assert_allclose(embedded("shop.jsonl", *turned), rows, atol=2e-5)
    likewise_command("features", "shop.jsonl", *of_table, "-o", "both.npy", cwd=tmp_path)
    np.testing.assert_allclose(embedded("both.npy"), rows, atol=2e-5)
    np.save(tmp_path / "x.npy", np.concatenate([image, numbers], axis=1))
    for words in (["x.npy"], ["x.npy", "--view", "features"]):
        with pytest.raises(AssertionError, match="which is image, features, each of rows of its own"):
            embedded(*words)


def test_numbers_beside_vectors_go_by_their_names_in_parquet_too(tmp_path, likewise_command):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    image, sound, numbers, lines = shop(np.random.default_rng(0), False)
    of = [json.loads(line) for line in lines.splitlines()]
    kinds = arrow.array([line["label"] for line in of])
    columns = {"price": numbers[:, 0], "image": list(image), "weight": numbers[:, 1], "species": kinds, "sku": [f"s{row}" for row in range(90)]}
    parquet.write_table(arrow.table(columns), tmp_path / "shop.parquet")
    beside = "--view", "image", "--view", "features", "--label-column", "species", "--id-column", "sku"
    likewise_command("fit", "shop.parquet", *beside, "--recipe", "rca", "-o", "run", cwd=tmp_path)
    rows = np.load(tmp_path / "run/embeddings.npy")
    # In another order, beside another number and other vectors.
    other = {"sku": columns["sku"], "other": numbers[:, 0], "weight": numbers[:, 1], " price ": numbers[:, 0], "sound": list(sound), "image": list(image), "species": kinds}
    parquet.write_table(arrow.table(other), tmp_path / "turned.parquet")
    likewise_command("embed", "run", "turned.parquet", "-o", "e.parquet", cwd=tmp_path)
    made = parquet.read_table(tmp_path / "e.parquet").to_pydict()
    np.testing.assert_allclose(np.stack(made["vector"]), rows, atol=2e-5)
    assert made["id"] == columns["sku"] and made["label"] == kinds.to_pylist()
    with pytest.raises(AssertionError, match='"weight" is a feature of the fitted table'):
        likewise_command("embed", "run", "turned.parquet", "--id-column", "WEIGHT", "-o", "e.npy", cwd=tmp_path)
    frame = pandas.DataFrame(numbers, columns=["price", "weight"])
    loaded = likewise.MetricLearner.load(tmp_path / "run")
    np.testing.assert_allclose(loaded.transform({"image": image, "features": frame}), rows, atol=2e-5)
    with pytest.raises(ValueError, match="must be in the same order"):
        loaded.transform({"image": image, "features": frame[["weight", "price"]]})
    parquet.write_table(arrow.table(columns).drop_columns(["price"]), tmp_path / "less.parquet")
    with pytest.raises(AssertionError, match='no column "price", which the fitted table had'):
        likewise_command("embed", "run", "less.parquet", "-o", "e.npy", cwd=tmp_path)
    # Where the vectors alone ask, numbers may lack; a run of the numbers alone reads them beside vectors.
    parquet.write_table(arrow.table({**columns, "sound": list(sound)}), tmp_path / "two.parquet")
    likewise_command("fit", "two.parquet", *beside, "--recipe", "cluster-cca", "-o", "across", cwd=tmp_path)
    likewise_command("search", "across", "--query", "less.parquet", "--from", "image", "-k", 1, cwd=tmp_path)
    likewise_command("search", "across", "--query", "turned.parquet", "--from", "features", "-k", 1, cwd=tmp_path)
    (tmp_path / "shop.jsonl").write_text(shop(np.random.default_rng(0), True)[3])
    likewise_command("fit", "shop.jsonl", "--view", "features", "--recipe", "rca", "-o", "numbers", cwd=tmp_path)
    likewise_command("embed", "numbers", "turned.parquet", "-o", "e.npy", cwd=tmp_path)
    theirs = np.load(tmp_path / "numbers/embeddings.npy")
    np.testing.assert_allclose(np.load(tmp_path / "e.npy")[1:], theirs[1:], atol=2e-5)
    np.savetxt(tmp_path / "image.csv", image, delimiter=",", fmt="%.9g", header=",".join(f"c{c}" for c in range(10)), comments="")
    likewise_command("search", "across", "--query", "image.csv", "--from", "image", "-k", 1, cwd=tmp_path)
    likewise_command("features", "shop.parquet", *beside[:4], "-o", "both.npy", cwd=tmp_path)
    likewise_command("embed", "run", "both.npy", "-o", "e.npy", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), rows, atol=2e-5)
    # A feature may be called what elsewhere means labels.
    named = {"price": numbers[:, 0], "class": numbers[:, 1], "image": list(image), "species": kinds}
    parquet.write_table(arrow.table(named), tmp_path / "class.parquet")
    words = *beside[:4], "--columns", "price,class,image", "--label-column", "species", "--recipe", "rca"
    likewise_command("fit", "class.parquet", *words, "-o", "named", cwd=tmp_path)
    likewise_command("embed", "named", "class.parquet", "-o", "e.npy", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), np.load(tmp_path / "named/embeddings.npy"), atol=2e-5)
    # Names of a frame in a study of views are those of a file, too.
    likewise.Study({"image": image, "features": frame}, kinds.to_pylist(), recipe="rca").save(tmp_path / "study")
    likewise_command("embed", "study", "turned.parquet", "-o", "e.npy", cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), np.load(tmp_path / "study/embeddings.npy"), atol=2e-5)
    # What sees views apart reads them as they are.
    likewise_command("fit", "shop.parquet", *beside, "--recipe", "explicit-omks", "-o", "apart", cwd=tmp_path)
    with pytest.raises(AssertionError, match="which is image, features, each of rows of its own"):
        likewise_command("embed", "apart", "both.npy", "-o", "e.npy", cwd=tmp_path)


def test_what_a_run_across_views_makes_of_words_is_asked_by_the_command(tmp_path, likewise_command):
    image, _, _, lines = shop(np.random.default_rng(0), False)
    kinds = [{**json.loads(line), "kind": "uv"[row % 2]} for row, line in enumerate(lines.splitlines())]
    (tmp_path / "shop.jsonl").write_text("\n".join(map(json.dumps, kinds)))
    words = "--view", "image", "--view", "features", "--recipe", "cluster-cca", "-o", "run"
    likewise_command("fit", "shop.jsonl", *words, cwd=tmp_path)
    run = likewise.CrossModalLearner.load(tmp_path / "run")
    with pytest.raises(ValueError, match="of whose column 'kind' it makes features; ask it by the command `likewise search`"):
        run.search(np.zeros((1, 4)), "features")
    assert run.search(image[:2], "image", k=3)[0].shape == (2, 3)


def test_columns_of_views_keep_their_names_in_a_run(tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(VIEWS["zer"], columns=[f"z{of}" for of in range(47)])
    X, turned = {"fou": VIEWS["fou"], "zer": frame}, frame[frame.columns[::-1]]
    likewise.Study(X, Y, recipe="rca", split="folds", labels_per_class=None).save(tmp_path / "study")
    likewise.CrossModalLearner("cluster-cca").fit(X, Y).save(tmp_path / "across")
    study, across = likewise.MetricLearner.load(tmp_path / "study"), likewise.CrossModalLearner.load(tmp_path / "across")
    assert study.transform(X).shape[0] == across.transform(frame, "zer").shape[0] == len(Y)
    for ask in (lambda: study.transform({**X, "zer": turned}), lambda: across.transform(turned, "zer")):
        with pytest.raises(ValueError, match="must be in the same order"):
            ask()


def test_one_view_may_have_its_name():
    rows, y = VIEWS["zer"], Y
    named = likewise.MetricLearner("rca", measure=False).fit({"zer": rows}, y)
    bare = likewise.MetricLearner("rca", measure=False).fit(rows, y)
    assert np.array_equal(named.transform({"zer": rows}), bare.transform(rows))
    assert np.array_equal(named.transform(rows), bare.transform(rows)) and named.views_ is None
    pairs = np.stack([rows[:9], rows[9:18]], axis=1)
    assert np.array_equal(named.pair_score({"zer": pairs}), bare.pair_score(pairs))
    with pytest.raises(TypeError, match="dict of the views fou, but one view was fitted"):
        named.transform({"fou": rows})
    two = likewise.MetricLearner("rca", measure=False).fit(VIEWS, y)
    with pytest.raises(TypeError, match="pairs must be a dict of the views fou, zer"):
        two.pair_score(np.zeros((3, 2, two.n_features_in_)))


VIEWS, Y = digits(per_class=6)
NAN = {"fou": VIEWS["fou"], "zer": np.where(np.arange(47) == 7, np.nan, VIEWS["zer"])}


@pytest.mark.parametrize("make", [likewise.MetricLearner, likewise.CrossModalLearner])
@pytest.mark.parametrize(
    "X, kind, said",
    [
        (NAN, ValueError, r"X\['zer'\]: row 0, column 7 is NaN"),
        ({**VIEWS, "zer": VIEWS["zer"][1:]}, ValueError, "numbers of samples: X: fou has 60, zer has 59"),
        ({}, ValueError, "X has 0 views"),
        ({"a+b": VIEWS["zer"], "fou": VIEWS["fou"]}, ValueError, r"words without \+"),
        ({3: VIEWS["zer"], "fou": VIEWS["fou"]}, ValueError, "words without \\+, and 3 is none"),
        ({"zer": VIEWS["zer"], "fou": VIEWS["fou"][0]}, ValueError, r"1D array instead for X\['fou'\]"),
    ],
)
def test_views_that_cannot_be_used(make, X, kind, said):
    recipe = "rca" if make is likewise.MetricLearner else "cluster-cca"
    with pytest.raises(kind, match=said):
        make(recipe).fit(X, Y)


@pytest.mark.parametrize(
    "make, kind, said",
    [
        (lambda: likewise.CrossModalLearner().fit(VIEWS["zer"], Y), TypeError, "X must be a dict"),
        (lambda: likewise.CrossModalLearner("rca").fit(VIEWS, Y), ValueError, "^recipe = rca: learns within one view"),
        (lambda: likewise.CrossModalLearner("nosuch").fit(VIEWS, Y), ValueError, "^recipe = nosuch: there are"),
        (lambda: likewise.CrossModalLearner("gsph").fit(VIEWS, Y[1:]), ValueError, "inconsistent numbers"),
        (lambda: likewise.CrossModalLearner("gsph").fit(VIEWS), ValueError, "label"),
        (lambda: likewise.CrossModalLearner("gsph", label_fraction=2).fit(VIEWS, Y), ValueError, "^label_fraction = 2"),
        (lambda: likewise.CrossModalLearner("gsph", label_fraction="a").fit(VIEWS, Y), TypeError, "^label_fraction"),
        (lambda: likewise.CrossModalLearner().transform(VIEWS["zer"], "zer"), ValueError, "not fitted"),
    ],
)
def test_fits_across_views_that_cannot_be(make, kind, said):
    with pytest.raises(kind, match=said) as raised:
        make()
    assert "--" not in str(raised.value)


def test_other_items_have_the_same_views():
    fit = likewise.MetricLearner("rca", measure=False).fit(VIEWS, Y)
    with pytest.raises(ValueError, match="X has the views zer, but these were fitted: fou, zer"):
        fit.transform({"zer": VIEWS["zer"]})
    with pytest.raises(ValueError, match=r"X\['fou'\] has 47 features, but 76"):
        fit.transform({"zer": VIEWS["fou"], "fou": VIEWS["zer"]})
    with pytest.raises(TypeError, match="X must be a dict of the views fou, zer"):
        fit.transform(VIEWS["zer"])
    one = likewise.MetricLearner("rca", measure=False).fit(VIEWS["zer"], Y)
    with pytest.raises(TypeError, match="X is a dict of the views"):
        one.transform(VIEWS)
    across = likewise.CrossModalLearner("cluster-cca").fit(VIEWS, Y)
    for call, said in [
        (lambda: across.transform(VIEWS["zer"], "sound"), "^view = 'sound': the views are fou, zer"),
        (lambda: across.search(VIEWS["zer"], "zer", "sound"), "^to = 'sound': the views are fou, zer"),
        (lambda: across.search(VIEWS["fou"], "zer"), "X has 76 features, but 47"),
        (lambda: across.search(VIEWS["zer"], "zer", k=0), "^k = 0"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


def test_a_loaded_learner_knows_how_wide_its_views_are(tmp_path, likewise_command):
    x, y = blobs(n=60, columns=6)
    views = {"a": x, "b": x[:, :3]}
    likewise.Study(views, y, recipe="label-rca").save(tmp_path / "run")
    loaded = likewise.MetricLearner.load(tmp_path / "run")
    assert loaded.transform(views).shape[0] == 60
    turned = {"a": views["b"], "b": views["a"]}
    with pytest.raises(ValueError, match=r"^X\['a'\] has 3 features, but 6 features were fitted"):
        loaded.transform(turned)
    np.savez(tmp_path / "turned.npz", **turned)
    with pytest.raises(AssertionError, match="the view a has 3 columns, and the run was fitted on 6 of a"):
        likewise_command("embed", "run", "turned.npz", "-o", "e.npy", cwd=tmp_path)
    # Views of other names take their places.
    np.savez(tmp_path / "views.npz", **views, label=y)
    np.savez(tmp_path / "other.npz", c=x, d=views["b"])
    likewise_command("embed", "run", "other.npz", "--view", "c", "--view", "d", "-o", "other.npy", cwd=tmp_path)
    assert np.load(tmp_path / "other.npy") == pytest.approx(loaded.transform(views), abs=1e-6)
    for names, widths, words in [
        ("cd", (3, 6), "the view c, in the place of a, has 3 columns, and the run was fitted on 6 of a"),
        ("az", (6, 2), "error: cut.npz: the view z, in the place of b, has 2 columns, and the run was fitted on 3 of b"),
        ("bz", (6, 2), "error: cut.npz: the view b is named in the place of a, and the run was fitted on both; name b in its own place: a, b"),
        ("cde", (3, 3, 3), r"the run was fitted on 2 views \(a, b\), and 3 are given \(c, d, e\)"),
    ]:
        np.savez(tmp_path / "cut.npz", **{name: x[:, :width] for name, width in zip(names, widths)})
        asked = [word for name in names for word in ("--view", name)]
        with pytest.raises(AssertionError, match=words):
            likewise_command("embed", "run", "cut.npz", *asked, "-o", "e.npy", cwd=tmp_path)
    # One that sees views apart takes them by other names too.
    likewise_command("fit", "views.npz", "--view", "a", "--view", "b", "--recipe", "omks", "-o", "apart", cwd=tmp_path)
    for data, names in {"views": "ab", "other": "cd"}.items():
        asked = [word for name in names for word in ("--view", name)]
        likewise_command("embed", "apart", f"{data}.npz", *asked, "-o", f"by-{data}.npy", cwd=tmp_path)
    assert (np.load(tmp_path / "by-views.npy") == np.load(tmp_path / "by-other.npy")).all()
    # An array by the name of both is in nobody's place, and alone it must be what both are side by side.
    np.savez(tmp_path / "more.npz", **{"a+b": np.c_[x, 9 * views["b"]]}, **views)
    for asked in ([], ["--view", "a", "--view", "b"]):
        for run in ("run", "apart"):
            likewise_command("embed", run, "more.npz", *asked, "-o", "more.npy", cwd=tmp_path)
            likewise_command("embed", run, "views.npz", "-o", "by.npy", cwd=tmp_path)
            assert (np.load(tmp_path / "more.npy") == np.load(tmp_path / "by.npy")).all()
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in views.values()]
    np.savez(tmp_path / "unit.npz", **{"a+b": np.hstack(unit) / np.sqrt(2)})
    np.savez(tmp_path / "raw.npz", **{"a+b": np.c_[x, views["b"]]})
    likewise_command("embed", "run", "unit.npz", "-o", "unit.npy", cwd=tmp_path)
    assert np.load(tmp_path / "unit.npy") == pytest.approx(loaded.transform(views), abs=1e-5)
    with pytest.raises(AssertionError, match=r"raw.npz: its view a\+b is not what the run was fitted on, which is a, b"):
        likewise_command("embed", "run", "raw.npz", "-o", "raw.npy", cwd=tmp_path)
    # What was fitted as one array stays one, whatever its name.
    for name in ("x", "a+b"):
        np.savez(tmp_path / "one.npz", **{name: np.c_[x, views["b"]]}, label=y)
        likewise_command("fit", "one.npz", "--recipe", "label-rca", "-o", f"one-{name}", cwd=tmp_path)
        likewise_command("embed", f"one-{name}", "one.npz", "-o", "one.npy", cwd=tmp_path)
        assert np.load(tmp_path / "one.npy").shape[0] == 60
    with pytest.raises(AssertionError, match=r"views.npz: the run was fitted on one view \(x\), and 2 are given \(a, b\)"):
        likewise_command("embed", "one-x", "views.npz", "--view", "a", "--view", "b", "-o", "e.npy", cwd=tmp_path)
    # A folder of an older version does not say how wide its views are.
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config.pop("widths") == {"a": 6, "b": 3}
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    del record["parts"]["config.json"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    likewise_command("embed", "run", "other.npz", "--view", "c", "--view", "d", "-o", "older.npy", cwd=tmp_path)
    assert np.load(tmp_path / "older.npy") == pytest.approx(loaded.transform(views), abs=1e-6)
