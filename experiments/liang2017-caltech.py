"""Lays out the images and the features of liang2017-caltech.toml.

    python liang2017-caltech.py LIKEWISE DATA [--classes 10 20 50]

Takes DATA/caltech101/images_cap60_short128.tar (at most 60 images a class, CLASS/IMAGE.jpg) and
DATA/weights/efficientnet_lite0.safetensors. For each number N it writes DATA/liang2017/caltechN.npz:
`likewise describe` of the N classes that have the most images (of equals the first by name, capitals first), each cut to the
size of the smallest of them, by the nine descriptors of the paper and a network; and caltechN-50.npz: of every view of more
columns the 50 principal directions of its training items. Needs numpy.

Of each class half of the images are `train`, a tenth `validation`, a tenth `query`, the others `gallery`, in the order of a
digest of their names, so that the parts are the same everywhere.
"""

import argparse
import hashlib
import subprocess
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

DESCRIPTORS = "hist,glcm,lbp,gist,phog,sift,dsift,surf,gb"
DIRECTIONS = 50


def largest(members, n):
    """The classes with the most images, and how many images each is cut to."""
    counts = Counter(name.split("/")[0] for name in members)
    classes = sorted(counts, key=lambda label: (-counts[label], label))[:n]
    return classes, min(counts[label] for label in classes)


def parts(names):
    """The part of every image of a class."""
    order = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    train, tenth = len(order) // 2, len(order) // 10
    ends = [("train", train), ("validation", train + tenth), ("query", train + 2 * tenth), ("gallery", len(order))]
    return {name: next(part for part, end in ends if at < end) for at, name in enumerate(order)}


def lay_out(archive, folder, n):
    """Writes PART/CLASS/IMAGE below `folder`."""
    with tarfile.open(archive) as tar:
        members = {m.name: m for m in tar.getmembers() if m.isfile()}
        classes, size = largest(members, n)
        print(f"{n} classes of {size} images: {', '.join(classes)}")
        for label in classes:
            own = [name for name in members if name.split("/")[0] == label]
            by_digest = sorted(own, key=lambda name: hashlib.sha256(f"cut {name}".encode()).hexdigest())
            for name, part in parts(by_digest[:size]).items():
                to = folder / part / name
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(tar.extractfile(members[name]).read())


def directions(rows, train):
    """The principal directions of the training rows, of all rows; as they are where there are few columns."""
    if rows.shape[1] <= DIRECTIONS:
        return rows
    rows = rows.astype(np.float64)
    centre = rows[train].mean(axis=0)
    _, _, axes = np.linalg.svd(rows[train] - centre, full_matrices=False)
    axes = axes[:DIRECTIONS]
    largest = np.abs(axes).argmax(axis=1)
    axes *= np.sign(axes[np.arange(len(axes)), largest])[:, None]
    return ((rows - centre) @ axes.T).astype(np.float32)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("likewise", type=Path)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--out", type=Path, help="where liang2017/ goes, if not into DATA")
    arguments.add_argument("--classes", type=int, nargs="+", default=[10, 20, 50])
    asked = arguments.parse_args()
    out = (asked.out or asked.data) / "liang2017"
    out.mkdir(parents=True, exist_ok=True)
    weights = (asked.data / "weights/efficientnet_lite0.safetensors").resolve()
    for n in asked.classes:
        with tempfile.TemporaryDirectory() as scratch:
            photos = Path(scratch) / "photos"
            lay_out(asked.data / "caltech101/images_cap60_short128.tar", photos, n)
            views = out / f"caltech{n}.npz"
            line = [asked.likewise, "describe", photos, "--with", f"{DESCRIPTORS},net:{weights}", "-o", views]
            subprocess.run([*line, "--squeeze"], check=True)
        arrays = dict(np.load(views))
        train = arrays["split"] == "train"
        few = {
            name: directions(rows, train) if rows.ndim == 2 and rows.dtype.kind == "f" else rows
            for name, rows in arrays.items()
        }
        np.savez(out / f"caltech{n}-50.npz", **few)


if __name__ == "__main__":
    main()
