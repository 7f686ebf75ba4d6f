"""Losses and their gradients, against finite differences and a loop of torch."""

import numpy as np
import pytest

import likewise
from likewise import losses

NAMES = likewise.names("losses")


def has_proxies(name):
    """Whether it is a loss of classes: without proxies it says that there is no class to learn."""
    try:
        losses.loss(name, np.eye(3), np.arange(3))
    except ValueError as e:
        assert "needs proxies" in str(e), f"{name}: {e}"
        return True
    return False


OF_CLASSES = [name for name in NAMES if has_proxies(name)]


def batch(name, n=12, d=4, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    parameters = {"centers": 2} if name == "soft-triple" else {}
    x, y = rng.normal(size=(n, d)), np.arange(n) % classes
    proxies = None
    if name in OF_CLASSES:
        proxies = rng.normal(size=(classes * parameters.get("centers", 1), d))
    return x, y, proxies, parameters


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_is_that_of_finite_differences(name):
    x, y, proxies, parameters = batch(name)
    found = losses.loss(name, x, y, proxies, **parameters)
    given = [x] if proxies is None else [x, proxies]
    assert len(found) == 1 + len(given) and np.isfinite(found[0])
    step = 1e-6
    moved = 0
    for which, gradient in enumerate(found[1:]):
        assert gradient.shape == given[which].shape and gradient.dtype == np.float64
        for at in np.ndindex(*gradient.shape):
            ends = []
            for sign in (1, -1):
                there = [rows.copy() for rows in given]
                there[which][at] += sign * step
                rows, *rest = there
                ends.append(losses.loss(name, rows, y, *rest, **parameters)[0])
            slope = (ends[0] - ends[1]) / (2 * step)
            # Losses by ranks and histograms replace some slopes by others on purpose.
            if name in ("contextual", "roadmap", "smooth-ap", "fast-ap"):
                moved += abs(gradient[at]) > 0
            else:
                assert gradient[at] == pytest.approx(slope, abs=1e-5, rel=1e-4), (at, which)
                moved += 1
    assert moved


@pytest.mark.parametrize("name", NAMES)
def test_every_loss_has_a_function_of_its_name(name):
    x, y, proxies, parameters = batch(name)
    function = getattr(losses, name.replace("-", "_"))
    given = [proxies] if proxies is not None else []
    ours, same = function(x, y, *given, **parameters), losses.loss(name, x, y, proxies, **parameters)
    assert all(np.array_equal(a, b) for a, b in zip(ours, same))
    assert name in function.__doc__ and function.__name__ == name.replace("-", "_")


@pytest.mark.parametrize("name", NAMES)
def test_a_tiny_weight_among_usual_ones_counts_nothing(name):
    x, y, proxies, parameters = batch(name)
    given = [proxies.astype(np.float32)] if proxies is not None else []
    with_tiny, without = (
        losses.loss(name, x.astype(np.float32), y, *given, weight=np.r_[least, np.ones(len(x) - 1)], **parameters)
        for least in (1e-25, 0)
    )
    assert all(np.isfinite(part).all() for part in with_tiny)
    assert all(np.array_equal(a, b) for a, b in zip(with_tiny, without))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weight", [1e-9, 1e5])
def test_the_least_and_the_largest_weight_leave_numbers(name, weight):
    x, y, proxies, parameters = batch(name)
    given = [proxies.astype(np.float32)] if proxies is not None else []
    found = losses.loss(name, x.astype(np.float32), y, *given, weight=np.full(len(x), weight), **parameters)
    assert all(np.isfinite(part).all() for part in found)


def test_losses_of_classes_take_proxies_and_those_of_pairs_do_not():
    assert {"proxy-anchor", "center"} <= set(OF_CLASSES)
    assert not {"triplet", "contrastive", "similarity-regularizer"} & set(OF_CLASSES)


def test_single_precision_stays_single():
    x, y, _, _ = batch("triplet")
    value, gradient = losses.triplet(x.astype(np.float32), y)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(losses.triplet(x, y)[0], rel=1e-5)


@pytest.mark.parametrize("weight", [1e5, 1e6, 1e30, 1e-25, np.nan, np.inf])
def test_nothing_is_asked_of_the_weight_of_an_absent_item(weight):
    x, y, _, _ = batch("contrastive")
    y = np.where(np.arange(12) < 10, y, -1)
    for small in (1, 5e-5):
        usual = np.full(12, small)
        known = losses.contrastive(x, y, weight=usual)
        value, gradient = losses.contrastive(x, y, weight=np.where(y < 0, weight, usual))
        assert known[0] > 0 and value == known[0] and (gradient == known[1]).all()
    with pytest.raises(ValueError, match="weight"):
        losses.contrastive(x, y, weight=np.where(y < 0, np.nan, 1e30))


def test_an_item_of_class_minus_one_or_weight_zero_is_absent():
    x, y, _, _ = batch("multi-similarity")
    without = losses.multi_similarity(x[:-2], y[:-2])
    unknown = np.where(np.arange(12) < 10, y, -1)
    weight = (np.arange(12) < 10).astype(float)
    for value, gradient in (losses.multi_similarity(x, unknown), losses.multi_similarity(x, y, weight=weight)):
        assert value == pytest.approx(without[0], rel=1e-12)
        assert np.allclose(gradient[:-2], without[1]) and not gradient[-2:].any()


def test_a_triplet_by_hand():
    # Unit rows: the negative is as near as the positive, so the margin alone is the loss.
    x = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    value, _ = losses.triplet(x, [0, 0, 1], triplets=[[0, 1, 2]], margin=0.25)
    assert value == pytest.approx(0.25)


def test_a_list_is_single_and_what_is_double_stays_double():
    x, y, _, _ = batch("triplet")
    assert losses.triplet(x.tolist(), y)[1].dtype == np.float32
    pandas = pytest.importorskip("pandas")
    value, gradient = losses.triplet(pandas.DataFrame(x), y)
    assert gradient.dtype == np.float64 and value == losses.triplet(x, y)[0]


def test_a_loop_of_torch_learns():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, y = torch.randn(64, 8), torch.arange(64) % 4
    layer = torch.nn.Linear(8, 4, bias=False)
    proxies = torch.nn.Parameter(torch.randn(4, 4))
    step = torch.optim.Adam([*layer.parameters(), proxies], lr=0.05)
    pairs, classes = losses.torch_loss("multi-similarity"), losses.torch_loss("proxy-anchor")
    seen = []
    for _ in range(60):
        step.zero_grad()
        rows = layer(x)
        loss = pairs(rows, y) + classes(rows, y, proxies)
        loss.backward()
        step.step()
        seen.append(loss.item())
    assert seen[-1] < 0.8 * seen[0]
    assert torch.autograd.gradcheck(
        losses.torch_loss("nt-xent"), (torch.randn(6, 3, dtype=torch.float64, requires_grad=True), torch.arange(6) % 2)
    )


def torch_batch(torch, dtype):
    torch.manual_seed(0)
    x, y = torch.randn(12, 4, dtype=torch.float64), torch.arange(12) % 3
    return x.to(dtype).requires_grad_(), y


def test_a_tensor_of_double_precision_stays_double():
    torch = pytest.importorskip("torch")
    x, y = torch_batch(torch, torch.float64)
    value, gradient = losses.triplet(x, y)
    same = losses.triplet(x.detach().numpy(), y.numpy())
    assert gradient.dtype == np.float64 and value == same[0] and (gradient == same[1]).all()
    loss = losses.torch_loss("triplet")(x, y)
    loss.backward()
    assert loss.dtype == x.grad.dtype == torch.float64
    assert loss.item() == value and (x.grad.numpy() == gradient).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_is_computed_as_single(name):
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, name)
    x, y = torch_batch(torch, dtype)
    proxies = torch.randn(3, 4, requires_grad=True)
    value, of_x, of_proxies = losses.proxy_anchor(x.detach().float().numpy(), y, proxies)
    assert losses.proxy_anchor(x, y, proxies)[0] == value
    loss = losses.torch_loss("proxy-anchor")(x, y, proxies)
    assert loss.dtype == torch.float32 and loss.item() == pytest.approx(value, rel=1e-6)
    loss.backward()
    assert x.grad.dtype == dtype and proxies.grad.dtype == torch.float32
    assert torch.equal(x.grad, torch.from_numpy(of_x).to(dtype))
    assert (proxies.grad.numpy() == of_proxies).all()


def test_what_is_scaled_does_not_underflow():
    torch = pytest.importorskip("torch")
    x, y = torch_batch(torch, torch.float16)
    small = losses.torch_loss("triplet")(x, y) * 1e-7
    (small * 2.0**20).backward()
    _, gradient = losses.triplet(x, y)
    torch.testing.assert_close(x.grad, torch.from_numpy(gradient * 1e-7 * 2**20).half())
    assert x.grad.any() and not torch.from_numpy(gradient * 1e-7).half().ge(1e-4).any()


def test_under_autocast_a_network_learns():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layer, loss_of = torch.nn.Linear(8, 4), losses.torch_loss("nt-xent")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rows = layer(torch.randn(16, 8))
        loss = loss_of(rows, torch.arange(16) % 4)
    assert rows.dtype == torch.bfloat16 and loss.dtype == torch.float32
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32 and layer.weight.grad.any()


def test_a_call_has_its_own_weights_and_triplets():
    torch = pytest.importorskip("torch")
    x, y = torch_batch(torch, torch.float64)
    weight, triplets = torch.arange(12) % 2, torch.tensor([[0, 3, 1], [1, 4, 2]])
    loss_of = losses.torch_loss("triplet", margin=0.3)
    for given in ({"weight": weight}, {"triplets": triplets}):
        x.grad = None
        loss_of(x, y, **given).backward()
        known = losses.triplet(x, y, margin=0.3, **given)
        assert (x.grad.numpy() == known[1]).all() and known[1].any()
    assert losses.triplet(x, y, weight=weight)[0] != losses.triplet(x, y)[0]


def test_a_gradient_is_taken_once():
    torch = pytest.importorskip("torch")
    x, y = torch_batch(torch, torch.float64)
    loss = losses.torch_loss("nt-xent")(x, y).square()
    (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
    # Its own gradient would be a wrong one in silence.
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.square().sum().backward()
    with pytest.raises(TypeError, match="^embeddings is a ndarray: must be a tensor of torch"):
        losses.torch_loss("nt-xent")(np.eye(3), y)


def test_what_a_loss_does_not_look_at_is_refused():
    x, y = np.eye(4), np.arange(4) % 2
    with pytest.raises(ValueError, match="proxies have no effect on triplet"):
        losses.triplet(x, y, np.eye(2, 4))
    with pytest.raises(ValueError, match="triplets have no effect on proxy-anchor"):
        losses.proxy_anchor(x, y, np.eye(2, 4), triplets=[[0, 2, 1]])
    with pytest.raises(ValueError, match="proxy-anchor needs proxies, an array of one row a class"):
        losses.proxy_anchor(x, y)
    with pytest.raises(ValueError, match="soft-triple needs proxies, an array of .* rows a class"):
        losses.soft_triple(x, y, np.ones((3, 4)))
    with pytest.raises(TypeError, match="name = 3: must be a word"):
        losses.loss(3, x, y)
    with pytest.raises(ValueError, match="embeddings: row 1, column 0 is NaN"):
        losses.triplet(np.where(np.arange(len(x))[:, None] == 1, np.nan, x), y)
    with pytest.raises(ValueError, match="parameters has a number that is NaN or infinite"):
        losses.triplet(x, y, margin=float("nan"))
