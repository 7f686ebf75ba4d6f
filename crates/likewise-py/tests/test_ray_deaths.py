"""Workers and drivers that die at random moments: what one process finds, all the same.

Five workers die while a graph is made and five while labels spread, and a driver dies three times. LIKEWISE_DEATHS=n does
all that n times, each at other moments.
"""

import importlib
import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import blobs, hidden

import likewise

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install likewise[ray]")
from test_ray import cluster, killed, loaded, one_process, same_graph, same_scores  # noqa: E402, F401

SEEDS = range(int(os.environ.get("LIKEWISE_DEATHS", 1)))
K, BLOCK, EVERY = 10, 250, 6
# While other workers start, the same task may be hit again and again.
RETRIES = 10


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Rows and labels, the graph and the beliefs of one process, and the beliefs of a cluster where nobody dies."""
    x, y = blobs(n=1500, columns=16, spread=2.0, seed=5)
    y = hidden(y, 6)
    graph = likewise.KNeighborsGraph(K).fit_transform(x)
    whole = likewise.ray.propagate(graph, y, block_rows=BLOCK, every=EVERY)
    return x, y, graph, one_process(graph, y), whole


def make_graph(x, out, **how):
    return likewise.ray.graph(x, K, block_rows=BLOCK, out=out, **how)


def spread(graph, y, **how):
    return likewise.ray.propagate(graph, y, block_rows=BLOCK, every=EVERY, **how)


def same_bits(ours, whole):
    assert (ours.scores == whole.scores).all() and (ours.transduction == whole.transduction).all()
    assert (ours.confidence == whole.confidence).all() and ours.n_iter == whole.n_iter


@pytest.mark.parametrize("workers", [2, 4])
def test_two_and_four_workers_find_what_one_process_finds(known, tmp_path, workers):
    x, y, graph, theirs, whole = known
    same_graph(loaded(make_graph(x, tmp_path / "graph", workers=workers)), graph)
    ours = spread(graph, y, workers=workers)
    same_bits(ours, whole)
    same_scores(ours, theirs)


# Who dies.


def busy():
    """Workers of this process's cluster that are at a task, and its name."""
    parents, names = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            pid, status = int(process.name), (process / "stat").read_text()
            parents[pid] = int(status.rpartition(")")[2].split()[1])
            names[pid] = (process / "cmdline").read_text().split("\0")[0]
        except OSError:
            continue  # It has just ended.
    ours = {pid for pid, parent in parents.items() if parent == os.getpid()}
    tasks = {pid: names[pid].removeprefix("ray::") for pid in names if parents[pid] in ours}
    return {
        pid: name
        for pid, name in tasks.items()
        if names[pid] != name and name != "IDLE" and not name.endswith("Agent")
    }


class Deaths(threading.Thread):
    """Kills workers at random moments, until there were as many deaths as asked for."""

    def __init__(self, count, seed):
        super().__init__(daemon=True)
        self.tasks, self.over, self._dead = [], threading.Event(), set()
        self._count, self._random = count, np.random.default_rng(seed)

    def run(self):
        while len(self.tasks) < self._count:
            self.over.wait(self._random.uniform(0.02, 0.5))
            # One that was killed is still there for a moment.
            while not (alive := {pid: task for pid, task in busy().items() if pid not in self._dead}):
                if self.over.wait(0.001):
                    return
            pid = self._random.choice(sorted(alive))
            os.kill(pid, signal.SIGKILL)
            self._dead.add(pid)
            self.tasks.append(alive[pid])

    def during(self, work):
        """Works again and again until all are dead; what each time was found."""
        self.start()
        while len(self.tasks) < self._count and self.is_alive():
            yield work()
        self.over.set()
        self.join()
        assert len(self.tasks) == self._count


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")


@needs_proc
@pytest.mark.parametrize("seed", SEEDS)
def test_five_workers_die_while_a_graph_is_made(known, tmp_path, seed):
    x, _, graph, _, _ = known
    deaths = Deaths(5, seed)
    folders = (tmp_path / str(number) for number in range(1000))
    for paths in deaths.during(lambda: make_graph(x, next(folders), max_retries=RETRIES)):
        same_graph(loaded(paths), graph)
    assert set(deaths.tasks) <= {"sweep", "join", "finish", "outgoing", "block"}, deaths.tasks


@needs_proc
@pytest.mark.parametrize("seed", SEEDS)
def test_five_workers_die_while_labels_spread(known, tmp_path, seed):
    _, y, graph, theirs, whole = known
    deaths = Deaths(5, seed + 1000)
    folders = (tmp_path / str(number) for number in range(1000))
    for ours in deaths.during(lambda: spread(graph, y, checkpoint=next(folders), max_retries=RETRIES)):
        same_bits(ours, whole)
        same_scores(ours, theirs)


def test_a_task_that_dies_too_often_is_told(known, monkeypatch):
    x = known[0][:100]
    module = importlib.import_module("likewise.ray.neighbors")
    monkeypatch.setattr(module, "sweep", lambda *_: os._exit(1))
    with pytest.raises(RuntimeError, match="^the worker of a task died 2 times; raise max_retries"):
        likewise.ray.neighbors(x, 3, block_rows=len(x), workers=1, max_retries=1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_driver_dies_three_times(known, cluster, tmp_path, seed):  # noqa: F811
    x, y, graph, theirs, whole = known
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    out, state, last = tmp_path / "graph", tmp_path / "state", tmp_path / "state/classes-000000/last.json"

    def written():
        """Lists and rows of the graph that are there, and checkpoints that were."""
        done = len(list(out.glob("neighbors/neighbors-*.npz"))) + len(list(out.glob("graph-*.npz")))
        return done + (json.loads(last.read_text())["iteration"] // EVERY if last.exists() else 0)

    code = f"""
        likewise.ray.graph({str(tmp_path / "x.npy")!r}, {K}, block_rows={BLOCK}, out={str(out)!r}, workers=2)
        likewise.ray.propagate({str(out)!r}, np.load({str(tmp_path / "y.npy")!r}), checkpoint={str(state)!r}, every={EVERY})
    """
    blocks = -(-len(x) // BLOCK)
    moments = np.random.default_rng(seed).choice(
        2 * blocks + (whole.n_iter - 1) // EVERY, 3, replace=False
    )
    for moment in sorted(moments):
        killed(code, cluster, lambda: written() > moment)
    same_graph(loaded(make_graph(tmp_path / "x.npy", out)), graph)
    ours = likewise.ray.propagate(out, y, checkpoint=state, every=EVERY)
    same_bits(ours, whole)
    same_scores(ours, theirs)
