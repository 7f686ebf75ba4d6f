"""Features of images."""

import numpy as np
import pytest

import likewise


@pytest.fixture
def photos(tmp_path):
    """Small pictures of two classes, as files that need no library to write."""
    rng = np.random.default_rng(0)
    for number in range(12):
        folder = tmp_path / "photos" / ("red", "blue")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 120, size=(32, 40, 3)).astype(np.uint8)
        pixels[:, :, 2 * (number % 2)] += 120
        head = b"P6 40 32 255\n"
        (folder / f"{number:02}.ppm").write_bytes(head + pixels.tobytes())
    return tmp_path


@pytest.mark.parametrize("encoder", ["hist", "hist,lbp,gist", "dsift"])
def test_the_features_are_those_of_the_command(photos, likewise_command, encoder):
    asked = {"words": 8} if encoder == "dsift" else {}
    words = [word for name, value in asked.items() for word in (f"--{name}", value)]
    likewise_command("describe", "photos", "--with", encoder, *words, "-o", "theirs.npz", cwd=photos)
    theirs = np.load(photos / "theirs.npz", allow_pickle=False)
    ours = likewise.describe(photos / "photos", encoder.split(","), **asked)
    assert list(ours.X) == encoder.split(",")
    for name, rows in ours.X.items():
        assert rows.dtype == np.float32 and np.array_equal(rows, theirs[name]), name
    assert ours.ids[0] == "blue/01.ppm" and ours.y.tolist() == ["blue"] * 6 + ["red"] * 6
    assert ours.split is None


def test_features_go_into_a_fit(photos):
    found = likewise.describe(photos / "photos", "hist,lbp")
    learner = likewise.MetricLearner("label-rca", measure=False).fit(found.X, found.y)
    assert learner.views_ == ["hist", "lbp"] and len(learner.transform(found.X)) == 12
    assert list(likewise.describe(photos / "photos").X) == ["pixels"]


def test_images_that_cannot_be_described(photos):
    with pytest.raises(ValueError, match='no descriptor "nosuch"; there are: '):
        likewise.describe(photos / "photos", "nosuch")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        likewise.describe(photos / "nosuch")
    (photos / "empty").mkdir()
    with pytest.raises(ValueError, match="no images in this folder"):
        likewise.describe(photos / "empty", "hist")
    (photos / "photos/red/00.ppm").write_bytes(b"P6 40 32 255\n")
    with pytest.raises(ValueError, match="00.ppm"):
        likewise.describe(photos / "photos", "hist")
    with pytest.warns(likewise.LikewiseWarning, match="00.ppm"):
        assert len(likewise.describe(photos / "photos", "hist", skip_bad=True).ids) == 11


def test_what_pixels_do_not_go_by_is_refused(tmp_path):
    for how, keyword in [({"side": 64}, "side"), ({"squeeze": True}, "squeeze")]:
        with pytest.raises(ValueError, match=f"{keyword} has no effect on pixels"):
            likewise.describe(tmp_path, **how)
