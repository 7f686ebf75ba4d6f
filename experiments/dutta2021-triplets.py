"""Affinity triplets of Dutta et al. 2021: how many of both ends are of the anchor's class, before anything is learned.

    python experiments/dutta2021-triplets.py LIKEWISE DATA OUT

LIKEWISE is the program; DATA holds mnist, fashion-mnist and cifar10; OUT becomes a folder with README.md and results.json. Needs numpy,
pandas and pyarrow. Nothing is learned: the program mines, and hidden labels count.
"""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from draws import DRAWS, asked, cell

# Name, folder, network, labels a class: as in Table 1. For CIFAR-10 the paper begins with a network that labels have trained.
SETS = [("MNIST", "mnist", "mnist", 10), ("Fashion-MNIST", "fashion-mnist", "mnist", 10), ("CIFAR-10", "cifar10", None, 100)]
UNLABELED = 9000
K = 10
RECIPE = """base = "mixed-lp"
pseudo_labels = {{ kind = "none" }}
learner.model = {{ kind = "network", encoder = {{ name = "{network}", frozen_norm = false }} }}
rounds = {{ epochs = 0, folds = 0 }}
"""


def rows_of(program, data, network, seed, folder):
    """Rows of a network with random weights, and the labels, of the images to fit on."""
    recipe = Path(folder) / "recipe.toml"
    recipe.write_text(RECIPE.format(network=network))
    command = [program, "fit", data, "--recipe", recipe, "--split", "given", "--labels-per-class", 10, "--draws", 1]
    run = Path(folder) / "run"
    call(*command, "--seed", seed, "--overwrite", "-o", run)
    items = pd.read_parquet(run / "items.parquet")
    kept = (items["split"] == "train").to_numpy()
    return np.load(run / "embeddings.npy")[kept], items["label"].astype(int).to_numpy()[kept]


def pixels_of(data):
    """Pixels and labels of the images to fit on."""
    import gzip

    found = []
    for part in ("images", "labels"):
        (path,) = Path(data).glob(f"train-{part}-*")
        held = (gzip.open if path.suffix == ".gz" else open)(path, "rb").read()
        sizes = np.frombuffer(held, ">i4", held[3], 4)
        found.append(np.frombuffer(held, np.uint8, offset=4 + 4 * len(sizes)).reshape(sizes[0], -1))
    return found[0].astype(np.float32), found[1].ravel().astype(int)


def call(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def mined(program, rows, truth, labels_per_class, seed, folder):
    """Of the triplets of one partition: the share of positives, and of negatives, of the anchor's class, and of triplets that have
    one of both: in the right order, and in the wrong one."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(truth))
    labeled = np.concatenate([order[truth[order] == of][:labels_per_class] for of in np.unique(truth)])
    others = np.setdiff1d(order, labeled, assume_unique=True)[:UNLABELED]
    taken, own = np.concatenate([labeled, others]), np.full(len(labeled) + UNLABELED, -1)
    own[: len(labeled)] = truth[labeled]
    file, out = Path(folder) / "part.npz", Path(folder) / "triplets.csv"
    np.savez(file, x=rows[taken], label=own)
    call(program, "mine", file, "--from", "affinity", "--kind", "triplets", "-k", K, "-o", out)
    table = pd.read_csv(out)
    anchor, positive, negative = (truth[taken][table[of]] for of in ("anchor", "positive", "negative"))
    near, far = anchor == positive, anchor == negative
    return [float(share.mean()) for share in (near, far, near & ~far, ~near & far)]


def main():
    given = asked()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, data, network, labels in SETS:
            pixels, truth = pixels_of(given.data / data)
            of_pixels = [mined(given.program, pixels, truth, labels, seed, folder) for seed in range(DRAWS)]
            found.append({"data": name, "neighbours": "of pixels", "draws": of_pixels})
            if network is None:
                continue
            of_network = []
            for seed in range(DRAWS):
                rows, truth = rows_of(given.program, given.data / data, network, seed, folder)
                of_network.append(mined(given.program, rows, truth, labels, seed, folder))
            found.append({"data": name, "neighbours": "of the network, untrained", "draws": of_network})
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    (given.out / "README.md").write_text("\n".join(page(found)) + "\n")


def page(found):
    yield "# What affinity triplets learn from"
    yield ""
    yield "`python experiments/dutta2021-triplets.py LIKEWISE DATA OUT`: triplets of Dutta, Harandi and Sekhar (AAAI 2021) of one partition, the labeled images and"
    yield f"{UNLABELED:,} others, from the {K} nearest neighbours of each, sorted by propagated affinity: the first half are positives, the second negatives. In percent of the"
    yield "triplets, by hidden labels: positives and negatives of the anchor's class, and triplets that tell classes apart, in the right order (positive of its class,"
    yield f"negative of another) and in the wrong one. Means of {DRAWS} draws of labels, images and weights; ± is half of the 95 % interval."
    yield ""
    yield "| images | neighbours | positives of its class | negatives of its class | right order | wrong order |"
    yield "|---|---|---:|---:|---:|---:|"
    for row in found:
        cells = " | ".join(cell(share) for share in zip(*row["draws"]))
        yield f"| {row['data']} | {row['neighbours']} | {cells} |"


if __name__ == "__main__":
    main()
