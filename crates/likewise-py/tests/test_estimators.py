"""The conventions of scikit-learn."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from conftest import blobs, hidden
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import likewise

@parametrize_with_checks(
    [
        likewise.KNeighborsGraph(n_neighbors=3),
        likewise.LabelPropagation(n_neighbors=3),
        likewise.MetricLearner("rca", measure=False),
    ],
)
@pytest.mark.filterwarnings("ignore::likewise.LikewiseWarning")
def test_scikit_learn_says_yes(estimator, check):
    check(estimator)


def test_a_clone_has_the_parameters_and_nothing_learned():
    x, y = blobs()
    fit = likewise.LabelPropagation("lgc", n_neighbors=7, parameters={"mu": 0.1}).fit(x, hidden(y))
    again = clone(fit)
    assert again.get_params() == fit.get_params() and not hasattr(again, "transduction_")
    assert "method='lgc'" in repr(fit)


def test_what_was_fitted_survives_a_pickle():
    x, y = blobs()
    learner = likewise.MetricLearner("itml", measure=False).fit(x, hidden(y))
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.transform(x), learner.transform(x))
    spread = likewise.LabelPropagation(n_neighbors=5).fit(x, hidden(y))
    again = pickle.loads(pickle.dumps(spread))
    assert np.array_equal(again.predict(x[:9]), spread.predict(x[:9]))


def test_what_cannot_be_pickled_says_what_to_do(tmp_path):
    x, y = blobs()
    views = {"a": x, "b": x[:, :3]}
    across = likewise.CrossModalLearner("cca")
    assert pickle.loads(pickle.dumps(across)).recipe == "cca" and clone(across.fit(views)).recipe == "cca"
    study = likewise.Study(x, y, recipe="rca")
    assert pickle.loads(pickle.dumps(study)).recipe == "rca"
    study.run()
    for fitted, load in [(across, "CrossModalLearner"), (study, "MetricLearner")]:
        with pytest.raises(TypeError, match=rf"^a {type(fitted).__name__} that was fitted cannot .*save.path. writes it, and {load}.load"):
            pickle.dumps(fitted)
    assert copy.copy(study).verdict == study.verdict
    for copied in (copy.copy(across), copy.deepcopy(across)):
        assert np.array_equal(copied.transform(x, "a"), across.transform(x, "a"))
    loaded = likewise.CrossModalLearner.load(across.save(tmp_path / "run"))
    with pytest.raises(TypeError, match="CrossModalLearner.load opens its folder again$"):
        pickle.dumps(loaded)


def test_items_of_which_nothing_is_known_do_not_count_in_the_score():
    x, y = blobs(spread=2.5)
    fit = likewise.LabelPropagation(n_neighbors=5).fit(x, hidden(y))
    found = fit.predict(x)
    assert fit.score(x, y) == np.mean(found == y) < 1
    some = y.copy()
    some[::2], some[1::4] = -1, -2
    assert fit.score(x, some) == np.mean(found[some >= 0] == y[some >= 0])
    weights = np.arange(len(y))
    assert np.isclose(fit.score(x, y, weights), np.average(found == y, weights=weights))
    with pytest.raises(ValueError, match="no class is known"):
        fit.score(x, np.full(len(y), -1))
    for wrong in (weights[:5], 2.0, -weights, np.where(y == 0, np.nan, 1), 0 * weights):
        with pytest.raises(ValueError, match="^sample_weight"):
            fit.score(x, y, wrong)


def test_a_class_is_the_same_however_it_is_written():
    x, y = blobs()
    words = np.char.add(y.astype(str), np.where(np.arange(len(y)) % 2, ".0", ""))
    spaced = np.char.add(np.array(["a", "b", "c", "d"])[y], " ")
    for given, others in [(y, y.astype(str)), (words, [y, np.char.add(y.astype(str), ".0")]), (spaced, np.char.strip(spaced))]:
        fit = likewise.LabelPropagation(n_neighbors=5).fit(x, given)
        wanted = np.mean(fit.predict(x) == (fit.classes_[y]))
        for other in others if isinstance(others, list) else [others]:
            assert fit.score(x, other) == wanted > 0.9
    # One that the fit does not know is wrong.
    assert fit.score(x, np.where(y == 0, "z", spaced)) == np.mean((fit.predict(x) == spaced) & (y != 0))


def test_columns_of_an_embedding_have_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = blobs()
    learner = likewise.MetricLearner("lda", measure=False).set_output(transform="pandas").fit(x, y)
    rows = learner.transform(x)
    assert isinstance(rows, pandas.DataFrame) and list(rows.columns) == list(learner.get_feature_names_out())
    assert rows.columns[0] == "metriclearner0"


def test_a_pipeline_and_a_grid_search():
    x, y = blobs(spread=2.5)
    pipeline = make_pipeline(
        likewise.MetricLearner("lda", measure=False), KNeighborsClassifier(3, metric="cosine")
    )
    folds = StratifiedKFold(3)
    search = GridSearchCV(pipeline, {"metriclearner__recipe": ["rca", "lda"]}, cv=folds)
    search.fit(x, y)
    assert search.best_score_ > 0.7


@pytest.mark.parametrize("method", likewise.names("methods"))
def test_every_method_is_right_about_most(method):
    x, y = blobs(n=160, classes=2, spread=0.8)
    shown = hidden(y)
    fit = likewise.LabelPropagation(method, n_neighbors=8)
    if method == "negative-labels":
        fit.fit(x, shown, excluded=[[int(np.flatnonzero(shown < 0)[0]), 0]])
    else:
        fit.fit(x, shown)
    assert np.mean(fit.transduction_ == y) > 0.9
    assert fit.label_distributions_.shape == (160, 2)
    reached = fit.transduction_ >= 0
    assert np.allclose(fit.label_distributions_[reached].sum(axis=1), 1)
    assert (fit.confidence_[shown >= 0] == 1).all()
    finds = method in ("mixed", "control", "manifold")
    assert (fit.negatives_ is not None) == finds
    if finds:
        assert (abs(fit.negatives_ - fit.negatives_.T) > 0).nnz == 0


def test_a_graph_that_is_given_is_the_one_that_is_built():
    x, y = blobs()
    shown = hidden(y)
    graph = likewise.KNeighborsGraph(8).fit_transform(x)
    ours = likewise.LabelPropagation(affinity="precomputed").fit(graph, shown)
    built = likewise.LabelPropagation(n_neighbors=8).fit(x, shown)
    assert np.array_equal(ours.scores_, built.scores_)
    # The negative edges that were found are what is found of them when they are given.
    known = likewise.LabelPropagation(affinity="precomputed").fit(graph, shown, negatives=built.negatives_)
    assert np.array_equal(known.transduction_, ours.transduction_) and known.negatives_ is None


def test_a_method_has_the_parameters_of_the_library_unless_told_otherwise():
    x, y = blobs()
    shown = hidden(y)

    def scores(method, **given):
        return likewise.LabelPropagation(method, n_neighbors=8, **given).fit(x, shown).scores_

    # As printed: the paper has no class mass.
    assert np.array_equal(scores("lgc"), scores("lgc", parameters={"mass": "none"}))
    assert not np.allclose(scores("lgc"), scores("lgc", parameters={"mass": "uniform"}))
    assert np.array_equal(scores("dssml"), scores("dssml", symmetrize="mutual"))
    assert np.array_equal(scores("iscen"), scores("iscen", symmetrize=0.1))


def test_new_items_are_what_their_neighbours_are_believed_to_be():
    x, y = blobs(n=400)
    fit = likewise.LabelPropagation(n_neighbors=8).fit(x[:300], hidden(y[:300]))
    shares = fit.predict_proba(x[300:])
    assert np.mean(fit.predict(x[300:]) == y[300:]) > 0.9
    assert np.array_equal(fit.classes_[shares.argmax(1)], fit.predict(x[300:]))
    # By hand, for one of them.
    cosines = (x[:300] @ x[300]) / np.linalg.norm(x[:300], axis=1) / np.linalg.norm(x[300])
    near = np.argsort(-cosines)[:10]
    votes = np.zeros(4)
    for i in near:
        votes[fit.transduction_[i]] += max(cosines[i], 0) ** 3 * fit.confidence_[i]
    assert np.allclose(shares[0], votes / votes.sum(), atol=1e-5)


@pytest.mark.parametrize("recipe", likewise.names("learners"))
def test_every_learner_fits_and_embeds(recipe):
    x, y = blobs(n=120, classes=3, columns=6)
    learner = likewise.MetricLearner(recipe, measure=False).fit(x, y)
    rows = learner.transform(x)
    assert rows.dtype == np.float32 and np.isfinite(rows).all() and len(rows) == 120
    pairs = np.stack([x[:50], x[50:100]], axis=1)
    score = learner.pair_score(pairs)
    if learner.similarity_ == "cosine":
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        assert np.allclose(score, (unit[:50] * unit[50:100]).sum(1), atol=1e-4)
        assert np.allclose(learner.pair_distance(pairs), 1 - score, atol=1e-6)
    elif learner.similarity_ == "euclidean":
        squared = ((rows[:50].astype(float) - rows[50:100]) ** 2).sum(1)
        assert np.allclose(learner.pair_distance(pairs), np.sqrt(squared))
        m = learner.get_mahalanobis_matrix()
        reading = learner.settings_["start"]
        if isinstance(reading, str):
            reading = {"unit": reading != "raw"}
        if not reading.get("unit") and reading.get("power", 1) == 1:
            d = (x[:50] - x[50:100]).astype(float)
            assert np.allclose(np.einsum("ij,jk,ik->i", d, m, d), squared, rtol=1e-3, atol=1e-4)
    else:
        with pytest.raises(AttributeError, match="pair_score"):
            learner.pair_distance(pairs)
    if learner.similarity_ != "euclidean":
        with pytest.raises(AttributeError, match="Mahalanobis"):
            learner.get_mahalanobis_matrix()


#: Recipes beside the learners, which have a test of their own above.
RECIPES = [name for name in likewise.names("recipes") if name not in likewise.names("learners")]
#: Of what learns by gradients: one epoch of two small batches.
SHORT = {"rounds": {"epochs": 1}, "learner": {"train": {"batch": 32, "steps": 2}}}
#: Recipes that cannot be cut short, and why; one in closed form has nothing to cut.
WHOLE = {"mixed-lp-paper": "its first five epochs learn from labels alone"}
#: Recipes that rows of numbers are not enough for, and what they say.
NEEDS_MORE = {"rotnet": "reads images of 3 x 224 x 224 pixels"}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.filterwarnings("ignore::likewise.LikewiseWarning")
def test_every_recipe_fits_and_embeds(recipe):
    x, y = blobs(n=120, classes=3, columns=6)
    y = hidden(y)
    learner = likewise.MetricLearner(recipe, measure=False)
    if recipe in NEEDS_MORE:
        with pytest.raises(ValueError, match=NEEDS_MORE[recipe]):
            learner.fit(x, y)
        return
    if recipe not in WHOLE:
        learner.set_params(settings=SHORT)
    try:
        learner.fit(x, y)
    except ValueError as e:
        assert "learner.train: unknown field" in str(e)
        learner.set_params(settings=None).fit(x, y)
    rows = learner.transform(x)
    assert len(rows) == 120 and np.isfinite(rows).all() and learner.recipe_.startswith(recipe)


def test_scores_of_bilinear_and_kernel_models_tell_classes_apart():
    x, y = blobs(n=120, classes=3, columns=6)
    for recipe in ["oasis", "omks"]:
        learner = likewise.MetricLearner(recipe, measure=False).fit(x, y)
        a, b = np.random.default_rng(0).integers(0, 120, size=(2, 300))
        score = learner.pair_score(np.stack([x[a], x[b]], axis=1))
        assert score[y[a] == y[b]].mean() > score[y[a] != y[b]].mean()


def test_without_a_measurement_the_model_is_that_of_the_measured_fit():
    x, y = blobs()
    shown = hidden(y)
    for recipe in ["mixed-rca", "itml"]:
        measured = likewise.MetricLearner(recipe).fit(x, shown)
        quick = likewise.MetricLearner(recipe, measure=False).fit(x, shown)
        assert measured.results_["r_precision"] > 0.5 and quick.results_ is None
        if not any("start" in line.lower() for line in measured.verdict_):
            assert np.array_equal(quick.transform(x), measured.transform(x))
        assert np.array_equal(quick.pseudo_labels_, measured.pseudo_labels_)


def test_a_recipe_of_gradients_with_settings_of_its_own():
    x, y = blobs()
    settings = {"rounds": {"epochs": 2}, "learner": {"loss": {"name": "triplet", "margin": 0.3}}}
    learner = likewise.MetricLearner("triplet", settings=settings, measure=False).fit(x, y)
    assert learner.settings_["learner"]["loss"]["margin"] == 0.3
    assert learner.transform(x).shape[0] == len(x)
    with pytest.raises(ValueError, match="margin"):
        settings["learner"]["loss"]["margin"] = -1
        likewise.MetricLearner("triplet", settings=settings).fit(x, y)


def test_a_recipe_in_a_file(tmp_path):
    x, y = blobs()
    path = tmp_path / "mine.toml"
    path.write_text("base = 'label-rca'\nstart = { rank = 4 }\n")
    learner = likewise.MetricLearner(path, measure=False).fit(x, y)
    assert learner.recipe_ == "mine" and learner.transform(x).shape == (len(x), 4)


def test_any_number_of_threads_gives_the_same():
    x, y = blobs()
    shown = hidden(y)
    one, two, far_too_many = (
        likewise.MetricLearner("mixed-rca", measure=False, n_jobs=n).fit(x, shown).transform(x)
        for n in (1, 2, 10**9)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, far_too_many)


def test_seeds_of_every_kind():
    x, y = blobs()
    make = lambda seed: likewise.KNeighborsGraph(5, approx=True, random_state=seed).fit_transform(x)
    assert (make(3) != make(3)).nnz == 0
    for seed in (None, np.random.RandomState(0), np.random.default_rng(0), np.int64(4)):
        make(seed)
    with pytest.raises(TypeError, match="random_state"):
        make("three")


def test_a_fit_that_fails_changes_nothing():
    x, y = blobs(n=60)
    other, labels = blobs(n=90, columns=5, seed=9)
    for make, ask in [
        (likewise.LabelPropagation(n_neighbors=5), "predict"),
        (likewise.MetricLearner("rca", measure=False), "transform"),
        (likewise.KNeighborsGraph(5), None),
    ]:
        for _ in range(2):
            with pytest.raises(ValueError):
                make.fit(np.full_like(x, np.nan), y)
            if ask is not None and not hasattr(make, "n_features_in_"):
                with pytest.raises(ValueError, match="not fitted yet"):
                    getattr(make, ask)(x)
            make.fit(x, y)
        before = vars(make).copy()
        with pytest.raises(ValueError):
            make.fit(other, labels[:-1]) if ask is not None else make.fit(other[:3], None)
        assert all(vars(make)[name] is value for name, value in before.items())
        assert vars(make).keys() == before.keys()
        if ask is not None:
            assert len(getattr(make, ask)(x)) == len(x)


def test_pairs_that_differ_are_read_from_both_halves_of_a_matrix():
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    x, y = blobs(n=80, spread=2.0)
    shown = hidden(y, 3)
    graph = likewise.KNeighborsGraph(6).fit_transform(x)
    rows, columns = graph.nonzero()
    first = (rows < columns) & (y[rows] != y[columns])
    ends, weights = (rows[first], columns[first]), np.ones(first.sum())
    upper = sparse.csr_matrix((weights, ends), shape=graph.shape)
    make = likewise.LabelPropagation("mixed", affinity="precomputed")
    known = make.fit(graph, shown, negatives=upper).scores_
    assert abs(known - make.fit(graph, shown, negatives=upper.T).scores_).max() == 0
    assert abs(known - make.fit(graph, shown, negatives=upper + upper.T).scores_).max() == 0
    zeros = upper.tolil()
    zeros.setdiag(0)
    zeros = zeros.tocsr()
    zeros = sparse.csr_matrix((zeros.data, zeros.indices, zeros.indptr), shape=graph.shape)
    assert abs(known - make.fit(graph, shown, negatives=zeros).scores_).max() == 0
    with pytest.raises(ValueError, match="has the weight nan"):
        make.fit(graph, shown, negatives=upper * np.nan)
    with pytest.raises(ValueError, match="have different weights"):
        make.fit(graph, shown, negatives=upper + 0.5 * upper.T)
    with pytest.raises(ValueError, match="item 3 would differ from itself"):
        make.fit(graph, shown, negatives=sparse.csr_matrix(([1.0], ([3], [3])), shape=graph.shape))


def test_words_stay_as_they_are():
    x, y = blobs(n=40)
    words = np.array(["cat ", "dog", "  cow", "owl"])[y]
    found = likewise.LabelPropagation(n_neighbors=5).fit(x, words)
    assert (found.transduction_ == words).all() and found.score(x, words) > 0.9
    learned = likewise.MetricLearner("rca", measure=False).fit(x, words)
    assert (learned.pseudo_labels_ == words).all()
    with pytest.raises(ValueError, match="'a' and ' a', which differ in spaces alone|' a' and 'a', which"):
        likewise.LabelPropagation(n_neighbors=5).fit(x, np.where(y == 0, "a", " a"))


def test_labels_that_teach_nothing_are_a_warning():
    x, y = blobs(n=40)
    for labels, said in [(np.full(40, -1), "no class"), (np.where(y == 0, 0, -1), "one class")]:
        with pytest.warns(likewise.LikewiseWarning, match=f"labels of {said}, and itml learns from two"):
            likewise.MetricLearner("itml", measure=False).fit(x, labels)


def test_labels_of_one_class_are_told():
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.full(60, -1)
    y[:30] = 1
    with pytest.warns(likewise.LikewiseWarning, match="of one class"):
        likewise.LabelPropagation(n_neighbors=5).fit(X, y)
    y[59] = -2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        likewise.LabelPropagation(n_neighbors=5).fit(X, y)
