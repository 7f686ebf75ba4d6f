"""Table II of Liang et al. 2017: how many of the voted classes and neighbours are right, all and the selected ones.

    python experiments/liang2017-table2.py LIKEWISE DATA OUT

LIKEWISE is the program; DATA holds liang2017/caltech10-50.npz and caltech20-50.npz, which liang2017-caltech.py makes;
OUT becomes a folder with README.md and results.json. Needs numpy and pyarrow.
"""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from draws import DRAWS, asked, cell

VIEWS = ["hist", "glcm", "lbp", "gist", "phog", "sift", "dsift", "surf", "gb"]
SETS = [("Caltech10, nine descriptors", "caltech10-50.npz", VIEWS), ("Caltech20, nine descriptors", "caltech20-50.npz", VIEWS)]
# The share of the winner's votes in the confidence.
WAYS = [("margin", 0.0), ("max", 1.0), ("max+margin", 0.5)]
# 6 labels of 30 fitted items a class: the paper's training ratio of 20 %.
LABELS = 6


def one(program, file, views, share, seed, folder):
    """Shares of right votes of one fit: {role: (all, selected, how many)}."""
    command = [program, "fit", file, "--view", "+".join(views), "--recipe", "multi-kernel", "--split", "given"]
    command += ["--labels-per-class", str(LABELS), "--draws", "1", "--seed", str(seed)]
    command += ["--set", f"pseudo_labels.votes.share={share}", "-o", folder]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    votes = pq.read_table(Path(folder) / "votes.parquet").to_pydict()
    items = pq.read_table(Path(folder) / "items.parquet").to_pydict()
    label = dict(zip(items["id"], items["label"]))
    own = [label[item] for item in votes["id"]]
    said = {
        "ULL": ([c == o for c, o in zip(votes["class"], own)], votes["reliable"]),
        "UUU": ([label[n] == o for n, o in zip(votes["nearest"], own)], votes["nearest_reliable"]),
    }
    found = {}
    for role, (right, taken) in said.items():
        right, taken = np.array(right), np.array(taken, dtype=bool)
        found[role] = (float(right.mean()), float(right[taken].mean()), int(taken.sum()))
    return found


def main():
    given = asked()
    results, lines = {}, []
    for name, file, views in SETS:
        by_way = {}
        for way, share in WAYS:
            with tempfile.TemporaryDirectory() as folder:
                run = lambda seed: one(given.program, given.data / "liang2017" / file, views, share, seed, Path(folder) / str(seed))
                by_way[way] = [run(seed) for seed in range(DRAWS)]
            print(name, way, by_way[way], flush=True)
        results[name] = by_way
        for role in ("ULL", "UUU"):
            every = [draw[role][0] for draw in by_way["max+margin"]]
            cells = [cell(every)] + [cell([draw[role][1] for draw in by_way[way]]) for way, _ in WAYS]
            taken = np.mean([draw[role][2] for draw in by_way["max+margin"]])
            lines.append(f"| {name} | {role} | " + " | ".join(cells) + f" | {taken:.0f} |")
    text = Path(__file__).with_suffix(".md").read_text().replace("TABLE\n", "\n".join(lines) + "\n")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (given.out / "README.md").write_text(text)


main()
