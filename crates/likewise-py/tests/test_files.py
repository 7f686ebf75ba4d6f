"""Shards in a store that others write to, on a server of S3 that the tests start."""

import json

import numpy as np
import pytest
from conftest import blobs, hidden

import likewise

pytest.importorskip("s3fs", reason="s3fs is not installed: pip install s3fs")
boto3 = pytest.importorskip("boto3", reason="boto3 is not installed: pip install 'moto[server]'")
moto = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'moto[server]'")
fsspec = pytest.importorskip("fsspec")
from likewise.ray import files, shards  # noqa: E402


@pytest.fixture(scope="module")
def server():
    """A server of S3 that this process, and those that it starts, take for Amazon's."""
    store = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    store.start()
    where = {
        "AWS_ENDPOINT_URL": "http://{}:{}".format(*store.get_host_and_port()),
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in where.items():
            patch.setenv(name, value)
        yield boto3.client("s3")
        fsspec.get_filesystem_class("s3").clear_instance_cache()
    store.stop()


@pytest.fixture
def bucket(server):
    """A bucket of the test's own, and how another process puts a file there."""
    name = f"bucket-{len(server.list_buckets()['Buckets'])}"
    server.create_bucket(Bucket=name)

    def put(path, content=b"{}"):
        server.put_object(Bucket=name, Key=path, Body=content)

    return f"s3://{name}", put


def npy(rows):
    import io

    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


def test_a_shard_that_another_process_adds_is_seen(bucket):
    url, put = bucket
    put("items/a.npy", npy(np.eye(3)))
    assert len(shards.listed(f"{url}/items", "X", (".npy",))) == 1
    put("items/b.npy", npy(np.eye(3)))
    assert shards.listed(f"{url}/items", "X", (".npy",)) == [f"{url}/items/{n}.npy" for n in "ab"]
    assert len(shards.listed(f"{url}/items/*.npy", "X", (".npy",))) == 2


def test_a_file_that_was_written_after_a_listing_is_there(bucket):
    url, put = bucket
    put("run/first.json")
    # The user's own listing, which fsspec keeps for all of the process.
    system = fsspec.filesystem("s3")
    assert len(system.ls(f"{url}/run")) == 1
    put("run/plan.json", b'{"k": 3}')
    assert files.exists(f"{url}/run/plan.json")
    system.ls(f"{url}/run")
    put("run/last.json", b'{"iteration": 8}')
    assert files.read_json(f"{url}/run/last.json") == {"iteration": 8}
    system.ls(f"{url}/run")
    put("run/rows.npy", npy(np.eye(3)))
    assert shards.look(f"{url}/run/rows.npy").rows == 3
    with pytest.raises(ValueError, match="k = 3, and 4 is asked for"):
        files.claim(f"{url}/run", {"k": 4})
    put("other/lists-0.npz", b"of another")
    with pytest.raises(ValueError, match="lists-0.npz is there, and nothing tells what it was made of"):
        files.claim(f"{url}/other", {"k": 3}, [f"{url}/other/lists-1.npz", f"{url}/other/lists-0.npz"])
    assert not files.exists(f"{url}/other/plan.json")
    files.claim(f"{url}/other", {"k": 3}, [f"{url}/other/lists-1.npz"])


def test_a_listing_behind_a_url_is_not_remembered_either(bucket):
    url, put = bucket
    put("run/a.json")
    fsspec.filesystem("s3").ls(f"{url}/run")
    put("run/b.json", b"7")
    assert files.read_json(f"simplecache::{url}/run/b.json") == 7


def test_no_bucket_is_made(server, bucket):
    before = server.list_buckets()["Buckets"]
    with pytest.raises(FileNotFoundError, match="there is no bucket mistyped; make it first"):
        files.write_json("s3://mistyped/run/plan.json", {})
    assert server.list_buckets()["Buckets"] == before
    # Of what is missing to fill a file the bucket is not blamed.
    with pytest.raises(FileNotFoundError, match="^nosuch"):
        files.write(f"{bucket[0]}/x.json", lambda _: (_ for _ in ()).throw(FileNotFoundError("nosuch")))
    files.write_json(f"{bucket[0]}/deep/in/it.json", [1])
    assert files.read_json(f"{bucket[0]}/deep/in/it.json") == [1]
    files.remove(f"{bucket[0]}/deep")
    assert not files.exists(f"{bucket[0]}/deep/in/it.json")


@pytest.mark.parametrize("kind", ["path", "file", "memory"])
def test_folders_elsewhere_are_made(tmp_path, kind):
    folder = {"path": str(tmp_path), "file": f"file://{tmp_path}", "memory": "memory://test"}[kind]
    files.write_json(f"{folder}/a/b/c.json", {"x": 1})
    assert files.read_json(f"{folder}/a/b/c.json") == {"x": 1}


def test_a_graph_goes_from_bucket_to_bucket(bucket):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install likewise[ray]")
    sparse = pytest.importorskip("scipy.sparse")
    url, put = bucket
    x, y = blobs(n=120, columns=7)
    for number, part in enumerate(np.split(x, [70])):
        put(f"items/part-{number}.npy", npy(part))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        paths = likewise.ray.graph(f"{url}/items", 9, out=f"{url}/graph")
        found = likewise.ray.propagate(f"{url}/graph", hidden(y), checkpoint=f"{url}/state", every=20)
    finally:
        ray.shutdown()
    parts = []
    for path in paths:
        with fsspec.open(path, "rb") as file:
            parts.append(sparse.load_npz(file))
    theirs = likewise.KNeighborsGraph(9).fit_transform(x)
    ours = sparse.vstack(parts, format="csr")
    assert (ours.indices == theirs.indices).all() and np.allclose(ours.data, theirs.data, rtol=1e-6)
    fit = likewise.LabelPropagation("lgc", affinity="precomputed").fit(theirs, hidden(y))
    assert (found.transduction == fit.transduction_).all()
    assert json.loads(fsspec.filesystem("s3").cat(f"{url}/graph/plan.json"))["n_neighbors"] == 9
