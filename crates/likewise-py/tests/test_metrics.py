"""Metrics against a naive loop and scikit-learn."""

import numpy as np
import pytest
from conftest import blobs
from sklearn.metrics import normalized_mutual_info_score

from likewise import metrics


def naive(x, y, gallery=None):
    """Every metric by sorting the whole gallery for each query."""
    others, theirs = (x, y) if gallery is None else gallery
    unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit(x.astype(float)) @ unit(others.astype(float)).T
    found = {name: [] for name in ["recall", "precision", "map", "map_at_r", "r_precision"]}
    for q in range(len(x)):
        order = np.argsort(-cosines[q], kind="stable")
        if gallery is None:
            order = order[order != q]
        right = theirs[order] == y[q]
        r = right.sum()
        at = np.flatnonzero(right) + 1
        precisions = np.arange(1, r + 1) / at
        found["recall"].append(right[:3].any())
        found["precision"].append(right[:3].mean())
        if r:
            found["map"].append(precisions.mean())
            found["map_at_r"].append(precisions[at <= r].sum() / r)
            found["r_precision"].append(right[:r].mean())
    return {name: np.mean(values) for name, values in found.items()}


@pytest.mark.parametrize("apart", [False, True])
def test_metrics_are_those_of_a_naive_loop(apart):
    x, y = blobs(n=150, classes=5, spread=3.0)
    gallery = (x[100:], y[100:]) if apart else None
    if apart:
        x, y = x[:100], y[:100]
    expected = naive(x, y, gallery)
    assert metrics.recall_at_k(x, y, 3, gallery=gallery) == pytest.approx(expected["recall"])
    assert metrics.precision_at_k(x, y, 3, gallery=gallery) == pytest.approx(expected["precision"])
    assert metrics.mean_average_precision(x, y, gallery=gallery) == pytest.approx(expected["map"])
    assert metrics.map_at_r(x, y, gallery=gallery) == pytest.approx(expected["map_at_r"])
    assert metrics.r_precision(x, y, gallery=gallery) == pytest.approx(expected["r_precision"])


def test_values_of_queries_average_to_the_mean_and_unknown_items_stay_out():
    x, y = blobs(n=90, classes=3, spread=3.0)
    shown = np.where(np.arange(90) % 4 == 0, -1, y)
    found = metrics.ranking(x, shown, ks=[1, 5])
    assert set(found["queries"]) == set(np.flatnonzero(shown >= 0))
    for name, mean in found["means"].items():
        assert mean == pytest.approx(found["values"][name].mean())
    known = shown >= 0
    assert found["means"]["map_at_r"] == pytest.approx(metrics.map_at_r(x[known], y[known]))


def test_intervals_hold_the_value():
    x, y = blobs(spread=3.0)
    found = metrics.evaluate(x, y, ks=[1])
    low, high = found["ci"]["map_at_r"]
    assert low < found["map_at_r"] < high and 0 <= found["nmi"] <= 1


def test_nmi_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 200), rng.integers(0, 3, 200)
    assert metrics.nmi(a, b) == pytest.approx(normalized_mutual_info_score(a, b))
    assert metrics.nmi(["x", "y"], [3.5, 1.0]) == 1.0


def test_a_collapse_is_seen():
    x, _ = blobs()
    wide, point = metrics.collapse(x), metrics.collapse(np.ones_like(x) + 1e-4 * x)
    assert point["mean_cosine"] > 0.99 > 0.9 > wide["mean_cosine"]


def test_labels_of_queries_and_of_a_gallery_are_counted_apart():
    x, y = blobs(n=60)
    for queries, gallery in [(y[:21], y[20:59]), (y[:19], y[19:])]:
        with pytest.raises(ValueError, match="samples: .20, (21|19).: y must hold one label an item"):
            metrics.map_at_r(x[:20], queries, gallery=(x[20:], gallery))
    for bad, said in [
        (lambda: metrics.ranking(x, y, ks=5), "ks = 5: must be a sequence"),
        (lambda: metrics.map_at_r(x, y, metric=None), "metric = None: must be a word"),
    ]:
        with pytest.raises(TypeError, match=said):
            bad()
    for lost in (["a", None], [0.0, np.nan]):
        with pytest.raises(ValueError, match="classes has items without a part"):
            metrics.nmi(lost, [0, 1])
