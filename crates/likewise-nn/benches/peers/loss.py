"""The work of the bench `loss` by pytorch-metric-learning on PyTorch, CPU, float32.

    RAYON_NUM_THREADS=2 cargo bench -p likewise-nn --bench loss -- save=FOLDER
    python3 loss.py FOLDER [threads, 2]

The same batches, proxies and parameters; the value of each loss must agree. Times are those of
the bench: median of wall time and mean of processor time, after 3 rounds. A loss that the
library lacks is left out. `ratio` is the peer's processor time over ours. With two threads on a
busy machine the peer's threads wait for one another and burn time: compare on one.
The peer leaves the negatives of the angular loss at their length, so it gets unit rows.
"""

import json
import math
import pathlib
import statistics
import sys
import time

import numpy as np
import pytorch_metric_learning
import torch
from pytorch_metric_learning import losses

folder = pathlib.Path(sys.argv[1])
threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
torch.set_num_threads(threads)
ours = json.loads((folder / "ours.json").read_text())
print(
    f"torch {torch.__version__}, pytorch-metric-learning {pytorch_metric_learning.__version__}, "
    f"{threads} threads"
)


def peers(classes, d):
    """Name, loss, and what of it holds the proxies."""
    yield "contrastive", losses.ContrastiveLoss(), None
    yield "triplet", losses.TripletMarginLoss(), None
    yield "angular", losses.AngularLoss(), None
    yield "nt-xent", losses.NTXentLoss(), None
    yield "multi-similarity", losses.MultiSimilarityLoss(), None
    yield "fast-ap", losses.FastAPLoss(), None
    yield "normalized-softmax", losses.NormalizedSoftmaxLoss(classes, d), "W"
    yield "proxy-nca", losses.ProxyNCALoss(classes, d), "proxies"
    nine = losses.ProxyNCALoss(classes, d, softmax_scale=9)
    yield "proxy-nca-plus-plus", nine, "proxies"
    yield "proxy-anchor", losses.ProxyAnchorLoss(classes, d), "proxies"
    yield "soft-triple", losses.SoftTripleLoss(classes, d), "fc"


def load(name, d):
    return torch.from_numpy(np.fromfile(folder / name, np.float32).reshape(-1, d).copy())


ratios = []
for n, d in [(512, 128), (128, 512)]:
    classes = n // 4
    x = load(f"{n}x{d}.f32", d)
    labels = torch.arange(n) % classes
    print(f"batch {n} x {d}")
    for name, loss, proxies in peers(classes, d):
        if proxies:
            held = getattr(loss, proxies)
            given = load(f"{n}x{d}.{name}.f32", d)
            held.data = given if held.shape == given.shape else given.T.contiguous()
        start_rows = torch.nn.functional.normalize(x) if name == "angular" else x
        times, value = [], None
        began = time.perf_counter()
        while (len(times) < 33 or time.perf_counter() - began < 1) and (
            time.perf_counter() - began < 60 or len(times) < 5
        ):
            if len(times) == 3:
                before = time.process_time()
            rows = start_rows.clone().requires_grad_()
            start = time.perf_counter()
            value = loss(rows, labels)
            value.backward()
            times.append(1e3 * (time.perf_counter() - start))
        used = 1e3 * (time.process_time() - before) / (len(times) - 3)
        median = statistics.median(times[3:])
        mine = ours[f"{n}x{d}.{name}"]
        same = math.isclose(value.item(), mine["value"], rel_tol=1e-3, abs_tol=1e-4)
        # The peer has no term that draws the centres of a class together.
        note = "" if same else f"  values differ: {value.item():.5f}, ours {mine['value']:.5f}"
        ratio = used / mine["core_ms"]
        ratios.append(ratio)
        print(
            f"  {name:<20} {median:9.2f} ms {used:9.2f} core-ms  "
            f"ours {mine['ms']:9.2f} {mine['core_ms']:9.2f}  ratio {ratio:7.2f}{note}"
        )
print(f"median ratio {statistics.median(ratios):.2f}, least {min(ratios):.2f}")
