"""Images as features."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _likewise
from ._work import count, folder, how, seed


class Images(NamedTuple):
    """Features of images, and what their places tell."""

    #: A matrix for each encoder by its name, a row an image: what `MetricLearner.fit` takes.
    X: dict[str, np.ndarray]
    #: The class of each image: the name of its folder, ``""`` where there is none; None where no image has one.
    y: Optional[np.ndarray]
    #: The path of each image below the folder.
    ids: list[str]
    #: The part of each image, where folders or a table say it: ``"train"``, ``"test"`` ...
    split: Optional[np.ndarray]


def describe(
    images: Any,
    encoder: Any = None,
    *,
    words: Optional[int] = None,
    side: Optional[int] = None,
    squeeze: bool = False,
    skip_bad: bool = False,
    random_state: Any = 0,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
) -> Images:
    """Features of the images of a folder, as ``likewise describe`` makes them.

    Rows are kept in the cache of the command, which ``likewise cache`` shows.

    Parameters
    ----------
    images : str or path-like
        A folder of images, in which folders are classes; ``metadata.csv`` may say more.
    encoder : str, path-like, list of those, or None
        Names of descriptors (``"hist"``, ``"gist"``, ``"sift"`` ...), or the weights of a network: ``"net:FILE"``, or its
        path alone. None: the pixels of a thumbnail.
    words : int or None
        Visual words that are learned of each descriptor of points; None: 200. Of images with parts they are learned from
        the training part.
    side : int or None
        Side of the square that a network reads; None: as it was trained.
    squeeze : bool, default=False
        Squeeze the whole image into that square, in place of cutting out the middle.
    skip_bad : bool, default=False
        Leave out images that cannot be read.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the words.
    n_jobs : int or None, default=None
        Threads; None: all cores.
    verbose : bool, default=False
        Tell of progress.

    Returns
    -------
    Images
        ``X``, ``y``, ``ids`` and ``split``.
    """
    if isinstance(encoder, (list, tuple)):
        encoder = ",".join(os.fspath(name) for name in encoder)
    if encoder is None and (side is not None or squeeze):
        keyword = "side" if side is not None else "squeeze"
        raise ValueError(f"{keyword} has no effect on pixels; name the network that it is for as the encoder")
    asked = {
        "encoder": None if encoder is None else os.fspath(encoder),
        "words": None if words is None else count(words, "words"),
        "side": None if side is None else count(side, "side"),
        "squeeze": bool(squeeze),
        "skip_bad": bool(skip_bad),
        "seed": seed(random_state),
    }
    try:
        found = _likewise.describe(folder(images, "images"), asked, how(n_jobs, verbose))
    except ValueError as e:
        # Of what the library says of a bad image, what to do here.
        raise ValueError(str(e).replace("leave such images out", "skip_bad=True leaves such images out")) from None
    y, split = (None if of is None else np.array(of) for of in (found["labels"], found["split"]))
    return Images(found["views"], y, found["ids"], split)
