"""What another allocator is worth: processor time and peak memory of a graph, a fit and the training of a network.

    python allocator.py LIKEWISE DATA OUT.md NAME=LIBRARY [...] [--rounds 3]

LIKEWISE is the program as released, which takes the system's allocator; DATA Fashion-MNIST as Debian has it. Each LIBRARY is put in its
place by LD_PRELOAD, such as jemalloc=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2. All take turns, so that other work on the machine
meets each alike. Ratios are of the medians; processor time is that of the program and of the kernel for it. Linux only.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RECIPE = """base = "mixed-lp"
pseudo_labels = { kind = "none" }
learner.model = { kind = "network", encoder = { name = "mnist", frozen_norm = false } }
learner.train.steps = 100
rounds = { epochs = 1, folds = 0 }
"""
# A child that is waited for adds to what its parent has used: each run has a parent of its own.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_stime, used.ru_maxrss)
sys.stderr.write(done.stderr.decode(errors="replace"))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("data", type=os.path.abspath)
    parser.add_argument("out", type=Path)
    parser.add_argument("libraries", nargs="+", metavar="NAME=LIBRARY")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    allocators = [("system", None)]
    for named in given.libraries:
        name, _, library = named.partition("=")
        if not Path(library).is_file():
            parser.error(f"{named}: no such library; give NAME=LIBRARY, the path of a .so")
        allocators.append((name, os.path.abspath(library)))
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given, allocators, Path(folder))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(page(found, allocators, given.rounds))


def measured(given, allocators, folder):
    """Of each work and allocator: processor seconds, those of the kernel among them, and peak kilobytes, of each round."""
    (folder / "network.toml").write_text(RECIPE)
    works = {
        "graph": ["graph", given.data, "-k", "20", "-o", folder / "graph.npz"],
        "fit": ["fit", given.data, "--recipe", "mixed-lp", "--labels-per-class", "10", "--draws", "1", "--overwrite", "-o", folder / "run"],
        "training": ["fit", given.data, "--recipe", folder / "network.toml", "--labels-per-class", "10", "--draws", "1", "--overwrite", "-o", folder / "run"],
    }
    found = {}
    for number in range(given.rounds):
        for work, words in works.items():
            for name, library in allocators:
                command = [given.program, *words, "--threads", "1", "--quiet"]
                took = run(command, library)
                (folder / "graph.npz").unlink(missing_ok=True)
                print(f"{number + 1}/{given.rounds} {work} {name}: {took[0]:.1f} s, {took[2] / 1024:.0f} MiB", file=sys.stderr)
                found.setdefault((work, name), []).append(took)
    return found


def run(command, library):
    environment = dict(os.environ) | ({"LD_PRELOAD": library} if library else {})
    measure = [sys.executable, "-c", MEASURE, *map(str, command)]
    said = subprocess.run(measure, env=environment, capture_output=True, text=True, check=True)
    code, seconds, kernel, peak = said.stdout.split()
    if code != "0":
        sys.exit(f"{' '.join(map(str, command))}: exit code {code}\n{said.stderr}")
    return float(seconds), float(kernel), float(peak)


def page(found, allocators, rounds):
    median = {key: [statistics.median(values) for values in zip(*runs)] for key, runs in found.items()}
    lines = [
        "# Another allocator",
        "",
        f"`python crates/likewise-cli/benches/allocator.py` on Fashion-MNIST, one thread, median of {rounds} rounds in turns: processor seconds (those",
        "of the kernel among them), peak memory, and both as a share of those of the system's allocator, which the program takes. *graph*: 20 exact",
        "neighbours of 70,000 images; *fit*: `mixed-lp` with ten labels a class; *training*: a hundred steps of 64 images of the network `mnist`, and",
        "what a fit does beside.",
        "",
        "| work | allocator | seconds | of the kernel | of system | peak, MiB | of system |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for work in dict.fromkeys(work for work, _ in found):
        base = median[work, "system"]
        for name, _ in allocators:
            seconds, kernel, peak = median[work, name]
            lines.append(f"| {work} | {name} | {seconds:.1f} | {kernel:.1f} | {seconds / base[0]:.2f} | {peak / 1024:.0f} | {peak / base[2]:.2f} |")
    lines += ["", f"{os.cpu_count()} cores, {os.uname().machine}; smallest and largest seconds of a row are at most {spread(found):.0%} from its median.", ""]
    return "\n".join(lines)


def spread(found):
    middle = {key: statistics.median(run[0] for run in runs) for key, runs in found.items()}
    return max(abs(run[0] / middle[key] - 1) for key, runs in found.items() for run in runs)


if __name__ == "__main__":
    main()
