"""The work of net.rs by PyTorch: THREADS ROUNDS [DEVICE]."""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

STAGES = [(3, 1, 16, 1), (3, 2, 24, 2), (5, 2, 40, 2), (3, 2, 80, 3), (5, 1, 112, 3), (5, 2, 192, 4), (3, 1, 320, 1)]


class Same(nn.Conv2d):
    """A convolution with TensorFlow's border."""

    def forward(self, x):
        k, s = self.kernel_size[0], self.stride[0]
        pads = []
        for size in (x.shape[3], x.shape[2]):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            pads += [total // 2, total - total // 2]
        if pads[0] == pads[1] == pads[2] == pads[3]:
            return F.conv2d(x, self.weight, self.bias, s, pads[0], 1, self.groups)
        return F.conv2d(F.pad(x, pads), self.weight, self.bias, s, 0, 1, self.groups)


class Block(nn.Module):
    def __init__(self, inner, kernel, stride, out, expand):
        super().__init__()
        wide = 6 * inner if expand else inner
        self.expand = Same(inner, wide, 1) if expand else None
        self.dw = Same(wide, wide, kernel, stride, groups=wide)
        self.project = Same(wide, out, 1)
        self.residual = stride == 1 and inner == out

    def forward(self, x):
        y = F.relu6(self.expand(x)) if self.expand else x
        y = self.project(F.relu6(self.dw(y)))
        return x + y if self.residual else y


class Lite0(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Same(3, 32, 3, 2)
        blocks, inner = [], 32
        for stage, (kernel, first, out, count) in enumerate(STAGES):
            for i in range(count):
                blocks.append(Block(inner, kernel, first if i == 0 else 1, out, stage > 0))
                inner = out
        self.blocks = nn.Sequential(*blocks)
        self.head = Same(320, 1280, 1)

    def forward(self, x):
        return F.relu6(self.head(self.blocks(F.relu6(self.stem(x))))).mean((2, 3))


def mnist():
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2),
        nn.Conv2d(50, 500, 4), nn.ReLU(), nn.Flatten(), nn.Linear(500, 128),
    )


def median(name, work):
    work()
    times = []
    for _ in range(rounds):
        start, before = time.perf_counter(), time.process_time()
        work()
        times.append((1000 * (time.perf_counter() - start), 1000 * (time.process_time() - before)))
    wall, used = (statistics.median(t) for t in zip(*times))
    print(f"{name:<24} {wall:9.1f} ms {used:9.1f} core-ms")


def training(name, net, x):
    optimizer = torch.optim.SGD(net.parameters(), 1e-4)

    def step():
        optimizer.zero_grad()
        loss = net(x.to(device)).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()

    median(name, step)


threads, rounds = int(sys.argv[1]), int(sys.argv[2])
device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
torch.set_num_threads(threads)
torch.manual_seed(1)
print(f"torch {torch.__version__} on {device}, {threads} threads, median of {rounds}")


def inference(n):
    images, frozen = torch.rand(n, 3, 224, 224), Lite0().eval().to(device)
    with torch.inference_mode():
        median(f"lite0 inference {n}", lambda: frozen(images.to(device)).cpu())


inference(16)
training("mnist step 300", mnist().to(device), torch.rand(300, 1, 28, 28))
training("lite0 step 16", Lite0().to(device), torch.rand(16, 3, 224, 224))
if device != "cpu":
    inference(128)
    training("lite0 step 128", Lite0().to(device), torch.rand(128, 3, 224, 224))
