"""Data of the tests, and the command that they are compared with."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def blobs(n=240, classes=4, columns=12, spread=1.0, seed=0):
    """Classes around centres of their own, in random order."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(classes, columns)) * 2.0
    y = rng.permutation(np.arange(n) % classes)
    x = (centers[y] + spread * rng.normal(size=(n, columns))).astype(np.float32)
    return x, y


def hidden(y, per_class=5, seed=1):
    """The labels with all but some of each class hidden."""
    rng = np.random.default_rng(seed)
    shown = np.full(len(y), -1)
    for c in np.unique(y):
        kept = rng.permutation(np.flatnonzero(y == c))[:per_class]
        shown[kept] = c
    return shown


@pytest.fixture
def data():
    return blobs()


@pytest.fixture(scope="session")
def likewise_command():
    """Runs the program that cargo built; skips where there is none."""
    program = os.environ.get("LIKEWISE_PROGRAM", ROOT / "target/debug/likewise")
    if not Path(program).exists():
        pytest.skip(f"no program at {program}: cargo build -p likewise-cli makes it")

    def command(*words, cwd):
        done = subprocess.run([program, *map(str, words)], cwd=cwd, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return command
