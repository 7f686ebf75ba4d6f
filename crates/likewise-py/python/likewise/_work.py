"""How work is done: threads, seeds, and who is told of its progress."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, Optional

import numpy as np


#: What no count reaches.
MOST = 2**63


class LikewiseWarning(UserWarning):
    """Something that should be known, though the work goes on."""


class Listener:
    """Hears of the work: warnings always, progress where `verbose`."""

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self._bar: Any = None

    def __call__(self, kind: str, text: Optional[str], number: Optional[int]) -> None:
        if kind == "warning":
            warnings.warn(str(text), LikewiseWarning, stacklevel=outside())
        elif kind == "start":
            self._close()
            self._bar = _bar(str(text), number)
        elif kind == "step" and self._bar is not None and number is not None:
            self._bar.update(number - self._bar.n)
        elif kind == "end":
            self._close()
        elif kind == "note":
            print(text, file=sys.stderr)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def outside() -> int:
    """How many frames up the caller of this package is."""
    here, level = os.path.dirname(__file__) + os.sep, 2
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    return level


def folder(path: Any, what: str) -> str:
    """The path of a folder, which holds `what`.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    ValueError
        Where it is a file.
    """
    name = _path(path)
    if os.path.isdir(name):
        return name
    if os.path.exists(name):
        raise ValueError(f"{name}: a file; give the folder of {what}")
    raise FileNotFoundError(f"{name}: no such folder")


def new_folder(path: Any) -> str:
    """The path of a folder to write.

    Raises
    ------
    ValueError
        Where it is empty, or leads to a file.
    """
    name = _path(path)
    if os.path.exists(name) and not os.path.isdir(name):
        raise ValueError(f"{name} is a file; name a folder")
    return name


def _path(path: Any) -> str:
    try:
        name = os.fsdecode(path)
    except TypeError as e:
        raise TypeError(f"path = {path!r}: must be a path") from e
    if not name:
        raise ValueError("path is empty; name a folder")
    if "\0" in name:
        raise ValueError(f"path = {name!r}: has a NUL character, which no path can have")
    return name


class _Lines:
    """Stands in for a bar where there is no tqdm: the name of each stage."""

    def __init__(self, stage: str) -> None:
        self.n = 0
        print(f"{stage} ...", file=sys.stderr)

    def update(self, _: int) -> None:
        """Nothing: one line a stage is enough."""

    def close(self) -> None:
        """Nothing to close."""


def _bar(stage: str, total: Optional[int]) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines(stage)
    return tqdm(total=total, desc=stage, leave=False)


def how(n_jobs: Optional[int] = None, verbose: bool = False) -> tuple[Optional[int], bool, Listener]:
    """What every call of the extension ends in.

    `n_jobs` is as in joblib, but None means all cores: no result depends on the number of threads. Of
    more than a machine takes, four a core or 64, that many are started.
    """
    if verbose is not None and not isinstance(verbose, (bool, int, np.bool_, np.integer)):
        raise TypeError(f"verbose = {verbose!r}: must be True or False")
    verbose = bool(verbose)
    if n_jobs is None:
        return None, verbose, Listener(verbose)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs = {n_jobs!r}: must be an int or None")
    n_jobs = int(n_jobs)
    if n_jobs == 0:
        raise ValueError("n_jobs = 0: must be at least 1, or -1 for all cores")
    if n_jobs < 0:
        n_jobs = max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return min(n_jobs, MOST), verbose, Listener(verbose)


def seed(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state."""
    if random_state is None:
        return int(np.random.randint(0, 2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state = {random_state}: must be at least 0 and below 2**64")
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63 - 1))
    raise TypeError(
        f"random_state = {random_state!r}: must be an int, None, a RandomState or a Generator"
    )


def count(value: Any, name: str, least: int = 1) -> int:
    """A whole number that was given as a keyword."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} = {value!r}: must be an int")
    if value < least:
        raise ValueError(f"{name} = {value}: must be at least {least}")
    if value >= MOST:
        raise ValueError(f"{name} = {value}: must be below {MOST}")
    return int(value)


def flag(value: Any, name: str) -> bool:
    """True or False, given as a keyword."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} = {value!r}: must be True or False")
    return bool(value)


def word(value: Any, name: str) -> str:
    """A word that was given as a keyword."""
    if not isinstance(value, str):
        raise TypeError(f"{name} = {value!r}: must be a word")
    return value


def number(value: Any, name: str, what: str = "a number") -> float:
    """A number that was given as a keyword."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise TypeError(f"{name} = {value!r}: must be {what}")
    return float(value)
