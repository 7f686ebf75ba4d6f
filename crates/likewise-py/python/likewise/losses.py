"""Losses with their gradients, for a loop of training in any framework.

Each takes embeddings `(n, d)` and a class for each (-1: the item is absent), and returns the value and the gradient
by the embeddings, in their precision; losses of classes take proxies too, `(C, d)`, and also return the gradient by
these. A weight counts an item that often, without the pair of an item with its own copy; 0 is the same as absence, as
is what is below 1e-9 (where some are above 1, below 1e-9 of the largest).

Examples
--------
>>> import numpy as np
>>> from likewise import losses
>>> X = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
>>> value, gradient = losses.nt_xent(X, [0, 0, 1])
>>> gradient.shape
(3, 2)

In a loop of torch, `torch_loss` makes a function of tensors::

    loss = losses.torch_loss("multi-similarity")
    loss(network(images), labels).backward()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from . import _likewise
from ._arrays import as_numpy, matrix, rows_of_items, to_json, weights
from ._work import how, word

#: What to do about embeddings that are no numbers.
_TOO_LONG = "the step before may have been too long"
#: What the largest weight may be: products of three weights, and sums of these, stay far from what float32 holds.
_LEAST_WEIGHT, _MOST_WEIGHT = float(np.float32(1e-9)), 1e5


def loss(
    name: str,
    embeddings: Any,
    y: Any,
    proxies: Any = None,
    *,
    weight: Any = None,
    triplets: Any = None,
    n_jobs: Any = None,
    **parameters: Any,
) -> tuple:
    """A loss by its name: ``likewise.names("losses")`` lists them.

    Parameters
    ----------
    name : str
    embeddings : array-like of shape (n, d)
        Arrays, tensors and frames of float64 stay float64, all else is float32.
    y : array-like of shape (n,)
        Class of each, whole numbers; -1: the item is absent. With proxies they count from 0.
    proxies : array-like of shape (C, d), or None
        For losses of classes; of ``soft-triple`` the centers of a class stand one after another.
    weight : array-like of shape (n,), or None
    triplets : array-like of shape (m, 3), or None
        Rows anchor, positive, negative in place of the classes; losses of pairs take their pairs.
    n_jobs : int or None, default=None
    **parameters
        Of the loss, such as ``margin=0.2``.

    Returns
    -------
    value : float
    gradient : ndarray of shape (n, d)
    gradient_of_proxies : ndarray of shape (C, d)
        Where there are proxies.
    """
    if not _likewise.HAS_NETWORKS:
        raise ValueError("losses need the cargo feature networks, without which this package was built")
    given = as_numpy(embeddings, "embeddings")
    # Numbers of a list say nothing of their precision.
    double = given.dtype == np.float64 and not isinstance(embeddings, (list, tuple))
    precision = np.float64 if double else np.float32
    rows = matrix(given, "embeddings", precision, _TOO_LONG)
    classes = as_numpy(y, "y")
    if classes.dtype.kind in "iu" and classes.size and classes.max() >= 2**32 - 1:
        raise ValueError(f"y has the class {classes.max()}, and losses count below {2**32 - 1}; number the classes 0, 1 and so on")
    if classes.dtype.kind == "i" and classes.size and classes.min() < -1:
        raise ValueError(f"y has the class {classes.min()}; losses know classes from 0 on, and -1 of an absent item")
    if classes.dtype.kind not in "iu" or classes.shape != (len(rows),):
        raise ValueError(
            f"y is of shape {classes.shape} and type {classes.dtype}; give {len(rows)} whole numbers"
        )
    # Nothing is asked of the weight of an item that is absent.
    weight = np.where(classes == -1, 0, weights(weight, len(rows), "weight"))
    largest = weight.max(initial=0)
    if np.isfinite(largest):
        if largest and not _LEAST_WEIGHT <= largest <= _MOST_WEIGHT:
            raise ValueError(
                f"weight is at most {largest!s} (item {weight.argmax()}): the largest must be from {_LEAST_WEIGHT:.0e} to "
                f"{_MOST_WEIGHT:.0e}; a weight of 2 counts an item twice"
            )
        weight = np.where((weight > 0) & (weight < _LEAST_WEIGHT * max(largest, 1)), 0, weight)
    found = _likewise.loss(
        word(name, "name"),
        to_json(parameters, "parameters"),
        rows,
        None if proxies is None else matrix(proxies, "proxies", precision, _TOO_LONG),
        (
            np.require(classes, np.int64, ["C"]),
            weight,
            None if triplets is None else rows_of_items(triplets, "triplets", 3),
        ),
        how(n_jobs),
    )
    answer = found["value"], found["embeddings"]
    return (*answer, found["proxies"]) if proxies is not None else answer


def torch_loss(name: str, **parameters: Any) -> Callable[..., Any]:
    """A loss as a function of torch tensors.

    Parameters
    ----------
    name : str
    **parameters
        `n_jobs` and those of the loss, such as ``margin=0.2``.

    Returns
    -------
    callable
        ``f(embeddings, y, proxies=None, *, weight=None, triplets=None)``, as of `loss`: a scalar whose gradient reaches
        embeddings and proxies, each in its own precision and on its own device, and can be taken once. Half precision,
        such as autocast gives, is computed as float32, and so is the scalar.
    """
    import torch
    from torch.autograd.function import once_differentiable

    class Loss(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, embeddings: Any, proxies: Any, of: Callable[..., tuple]) -> Any:
            value, *gradients = of(embeddings, proxies)
            # As they are: scaled by what is above, as against underflow, they fit half precision again.
            ctx.gradients = [torch.from_numpy(gradient) for gradient in gradients]
            ctx.like = [(t.dtype, t.device) for t in (embeddings, proxies) if t is not None]
            precision = torch.promote_types(embeddings.dtype, torch.float32)
            return embeddings.new_tensor(value, dtype=precision)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, above: Any) -> Any:
            above = above.cpu()
            rows, *proxies = (
                (above * gradient).to(device, dtype)
                for gradient, (dtype, device) in zip(ctx.gradients, ctx.like)
            )
            return rows, proxies[0] if proxies else None, None

    def function(
        embeddings: Any, y: Any, proxies: Any = None, *, weight: Any = None, triplets: Any = None
    ) -> Any:
        def of(embeddings: Any, proxies: Any) -> tuple:
            return loss(name, embeddings, y, proxies, weight=weight, triplets=triplets, **parameters)

        for what, given in (("embeddings", embeddings), ("proxies", proxies)):
            if given is not None and not isinstance(given, torch.Tensor):
                raise TypeError(f"{what} is a {type(given).__name__}: must be a tensor of torch")
        return Loss.apply(embeddings, proxies, of)

    return function


def _named(name: str) -> Callable[..., tuple]:
    def function(embeddings: Any, y: Any, *given: Any, **named: Any) -> tuple:
        return loss(name, embeddings, y, *given, **named)

    function.__name__ = function.__qualname__ = name.replace("-", "_")
    function.__doc__ = (
        f"The loss ``{name}``; parameters as of `loss`, what it is by ``likewise.explain({name!r})``."
    )
    return function


# A function for each loss of the list, by its name: `nt_xent` of "nt-xent".
globals().update((_name.replace("-", "_"), _named(_name)) for _name in _likewise.names("losses"))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., tuple]: ...
