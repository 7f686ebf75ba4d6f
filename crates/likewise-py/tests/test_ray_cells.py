"""Approximate neighbours by cells, and folders of images, on Ray."""

import importlib
import os
import struct
import zlib

import numpy as np
import pytest
from conftest import blobs

import likewise
from likewise._likewise import IMAGE_ENDINGS

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install likewise[ray]")
sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed: pip install likewise[ray]")
arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install likewise[ray]")
pytest.importorskip("fsspec", reason="fsspec is not installed: pip install likewise[ray]")
parquet = importlib.import_module("pyarrow.parquet")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def data():
    """Rows in clouds that overlap, one of zeros, some of them equal."""
    x, _ = blobs(n=2000, classes=40, columns=12, spread=1.2, seed=2)
    x[7] = 0
    x[100:120] = x[3]
    return x


@pytest.fixture(scope="module")
def exact(data):
    return likewise.ray.neighbors(data, 10)


def found(ids, true):
    return np.mean([len(np.intersect1d(a, b)) for a, b in zip(ids, true)]) / true.shape[1]


@pytest.mark.parametrize("recall", [0.8, 0.95, 1.0])
def test_cells_hold_the_share_that_is_wanted(data, exact, recall):
    ids, similarities = likewise.ray.neighbors(data, 10, approx=True, recall=recall, block_rows=450)
    assert ids.shape == exact[0].shape and similarities.dtype == np.float32
    there = similarities > -np.inf
    assert there.mean() > 0.99
    # 400 items were asked, ten neighbours each: the share of all is within some hundredths.
    share = found(ids, exact[0])
    assert recall - 0.03 < share, share
    if recall < 1:
        assert share < 1
    assert (np.diff(np.where(there, similarities, -2), axis=1) <= 0).all()
    for row in range(len(data)):
        own = ids[row][there[row]]
        assert row not in own and len(set(own)) == len(own)
    # What is found has the cosine that exact lists have.
    unit = importlib.import_module("likewise.ray.blocks").unit(data).astype(np.float64)
    rows = np.repeat(np.arange(len(data)), 10)[there.ravel()]
    cosine = np.einsum("ij,ij->i", unit[rows], unit[ids[there]])
    assert abs(cosine - similarities[there]).max() < 1e-6


def test_lists_do_not_depend_on_the_cut_or_the_workers(data):
    whole = likewise.ray.neighbors(data, 10, approx=True, block_rows=len(data), workers=1)
    for workers, block_rows in [(2, 310), (4, 700)]:
        again = likewise.ray.neighbors(data, 10, approx=True, block_rows=block_rows, workers=workers)
        # Sums of parts round differently, which puts a row between two cells into the other one.
        assert (again[0] == whole[0]).mean() > 0.999


def test_far_fewer_pairs_are_compared(data, monkeypatch):
    """By the sizes of the products that tiles make, here in one process."""
    cells = importlib.import_module("likewise.ray.cells")
    blocks = importlib.import_module("likewise.ray.blocks")
    crew = importlib.import_module("likewise.ray.crew").Crew(None, 1, 3)
    rows = blocks.collection(data, "X", 500, 4)
    refs = rows.unit_rows(crew)
    dealt = cells.cells(crew, rows, refs, 10, 0.9)
    compared = [0]
    near = cells._near

    def counted(queries, items, k):
        compared[0] += len(queries) * len(items)
        return near(queries, items, k)

    monkeypatch.setattr(cells, "_near", counted)
    columns = [(block.first, ref, own) for block, ref, own in zip(rows.blocks, refs, dealt.own)]
    for block, ref in zip(rows.blocks, refs):
        cells.sweep_cells(ray.get(ref), block.first, columns, 10, dealt.centres, dealt.asked)
    assert dealt.recall >= 0.9
    assert compared[0] < 0.5 * len(data) ** 2, (compared[0], dealt.asked, len(dealt.centres))


def test_a_graph_of_cells_is_symmetric_and_is_not_made_again(tmp_path, data):
    out = tmp_path / "graph"
    paths = likewise.ray.graph(data, 10, approx=True, recall=0.9, out=out, block_rows=700)
    graph = sparse.vstack([sparse.load_npz(path) for path in paths], format="csr")
    assert graph.shape == (len(data), len(data)) and abs(graph - graph.T).max() == 0
    before = [os.stat(path).st_mtime_ns for path in paths]
    likewise.ray.graph(data, 10, approx=True, recall=0.9, out=out, block_rows=700)
    assert [os.stat(path).st_mtime_ns for path in paths] == before
    for asked in ({}, {"approx": True, "recall": 0.8}):
        with pytest.raises(ValueError, match="recall"):
            likewise.ray.graph(data, 10, out=out, block_rows=700, **asked)


def test_few_items_have_few_cells():
    x = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], np.float32)
    ids, _ = likewise.ray.neighbors(x, 1, approx=True, recall=1.0)
    assert ids.ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize("asked, words", [({"approx": 1}, "approx"), ({"approx": True, "recall": 0}, "recall"), ({"approx": True, "recall": 1.5}, "recall")])
def test_what_no_search_can_have_is_refused(data, asked, words):
    with pytest.raises((TypeError, ValueError), match=words):
        likewise.ray.neighbors(data, 10, **asked)


def bmp(pixels):
    """A file of pixels (24 x 24 x 3)."""
    head = b"BM" + struct.pack("<IHHI", 54 + pixels.size, 0, 0, 54)
    return head + struct.pack("<IiiHHIIiiII", 40, 24, 24, 1, 24, 0, pixels.size, 0, 0, 0, 0) + pixels.tobytes()


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Small pictures of two colours in folders."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for name, colour in [("red", (200, 40, 40)), ("blue", (40, 60, 200))]:
        (folder / "images" / name).mkdir(parents=True)
        for number in range(12):
            pixels = np.clip(rng.normal(colour, 40, size=(24, 24, 3)), 0, 255).astype(np.uint8)
            # Whatever an image is called: what it holds says how it is read.
            ending = (IMAGE_ENDINGS + ["BMP"])[number + 2 * (name == "blue")]
            (folder / "images" / name / f"{number:02}.{ending}").write_bytes(bmp(pixels))
    (folder / "images/.thumbnails").mkdir()
    (folder / "images/.thumbnails/00.bmp").write_bytes(bmp(pixels))
    return folder


def test_images_are_embedded_as_by_the_command(photos, likewise_command):
    png = zlib.compress(b"".join(b"\0" + bytes(24 * 3) for _ in range(24)))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 24, 24, 8, 2, 0, 0, 0)), (b"IDAT", png), (b"IEND", b"")]
    parts = [struct.pack(">I", len(of)) + name + of + struct.pack(">I", zlib.crc32(name + of)) for name, of in chunks]
    # Without an ending its first bytes say what it is.
    (photos / "images/blue/black").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    (photos / "images/blue/notes").write_text("none")
    (photos / "images/blue/lost.png").symlink_to(photos / "nothing")
    # None of these is an image, as to the command.
    (photos / "images/blue/lost").symlink_to(photos / "nothing")
    (photos / "images/blue/latest").symlink_to(photos / "images/red")
    (photos / "images/blue/_SUCCESS").touch()
    os.mkfifo(photos / "images/blue/pipe")
    likewise_command("fit", "images", "--encoder", "hist", "--recipe", "label-rca", "-o", "run", "-q", cwd=photos)
    likewise_command("embed", "run", "images", "-o", "whole.parquet", cwd=photos)
    with pytest.warns(likewise.LikewiseWarning, match="lost.png leads to no file") as told:
        paths = likewise.ray.embed(photos / "run", photos / "images", photos / "out", batch_rows=7)
    assert [of.filename for of in told if of.category is likewise.LikewiseWarning] == [__file__]
    (photos / "images/blue/lost.png").unlink()
    assert [os.path.basename(path) for path in paths] == [f"embeddings-{i:06}.parquet" for i in range(4)]
    made = arrow.concat_tables([parquet.read_table(path) for path in paths])
    whole = parquet.read_table(photos / "whole.parquet")
    assert made["id"].to_pylist() == whole["id"].to_pylist()
    # Seven images, which may all be red ones, do not tell the classes of the folder.
    assert made.column_names == ["id", "vector"] and "label" in whole.column_names
    as_rows = lambda table: np.array(table["vector"].to_pylist(), np.float32)  # noqa: E731
    np.testing.assert_allclose(as_rows(made), as_rows(whole), atol=1e-6)
    # What is there is not made again; what is not, is.
    before = [os.stat(path).st_mtime_ns for path in paths]
    os.remove(paths[1])
    likewise.ray.embed(photos / "run", photos / "images", photos / "out", batch_rows=7)
    assert [os.stat(path).st_mtime_ns == time for path, time in zip(paths, before)] == [True, False, True, True]
    # Where no image has an ending.
    (photos / "bare").mkdir()
    (photos / "bare/black").write_bytes((photos / "images/blue/black").read_bytes())
    for _ in range(2):
        # What was made does not make the folder one of shards.
        (only,) = likewise.ray.embed(photos / "run", photos / "bare", photos / "bare/out")
    assert parquet.read_table(only)["id"].to_pylist() == ["black"]
    (photos / "images/red/broken.bmp").write_bytes(b"no picture")
    with pytest.raises(ValueError, match="^[^:]*broken.bmp: .* skip_bad=True leaves such files out"):
        likewise.ray.embed(photos / "run", photos / "images", photos / "other")
    with pytest.warns(likewise.LikewiseWarning, match="1 images cannot be read, and are left out"):
        sound = likewise.ray.embed(photos / "run", photos / "images", photos / "without", batch_rows=1, skip_bad=True)
    assert arrow.concat_tables([parquet.read_table(path) for path in sound]).num_rows == sum(parquet.read_table(path).num_rows for path in sound) == 25
    # One of them has no rows, and therefore says nothing of columns.
    assert len(likewise.ray.neighbors(photos / "without", 3)[0]) == 25
    with pytest.raises(ValueError, match="out is the folder of the images"):
        likewise.ray.embed(photos / "run", photos / "images", photos / "images")
    with open(os.fsencode(photos) + b"/bare/caf\xe9.png", "wb"):
        pass
    with pytest.raises(ValueError, match="caf.* is not Unicode; rename it"):
        likewise.ray.embed(photos / "run", photos / "bare", photos / "other")
    with pytest.raises(FileNotFoundError, match="config.json"):
        likewise.ray.embed(photos, photos / "images", photos / "other")
