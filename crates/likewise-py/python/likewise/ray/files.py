"""Files on a path or fsspec URL that are whole or not there: written under another name, then renamed."""

from __future__ import annotations

import json
import os
import uuid
import zipfile
from collections.abc import Sequence
from typing import IO, Any, Callable, Optional

import numpy as np

#: What a folder was made of.
PLAN = "plan.json"


def system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        from fsspec import AbstractFileSystem
        from fsspec.core import url_to_fs
    except ImportError as e:
        raise ImportError("shards need fsspec: pip install likewise[ray]") from e
    found, path = url_to_fs(url)
    # Other processes write, too: what a folder held when it was last listed says nothing of now.
    layer = found
    while isinstance(layer, AbstractFileSystem):
        layer.invalidate_cache()
        layer = getattr(layer, "fs", None)
    return found, path


def address(path: Any, name: str) -> str:
    """A path or URL that was given as a keyword."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} = {path!r}: must be a path or a URL")
    path = os.fspath(path)
    # A worker may have another working directory.
    return path if "://" in path or "::" in path else os.path.abspath(path)


def join(folder: str, name: str) -> str:
    """The URL of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


def exists(url: str) -> bool:
    """Whether there is such a file, which is then whole."""
    files, path = system(url)
    return files.exists(path)


#: What file systems say of a file that is another one where it was written again.
_TAGS = (
    "ETag",
    "etag",
    "md5Hash",
    "mtime",
    "LastModified",
    "last_modified",
    "modificationTime",
    "updated",
    "created",
)


def tag(info: dict) -> str:
    """What changes where a file does, of what its file system says of it: its size, and its tag or time."""
    tags = (info.get(key) for key in _TAGS)
    return f"{info.get('size')} {next((of for of in tags if of is not None), '')}"


def stamp(url: str) -> str:
    """`tag` of a file."""
    files, path = system(url)
    return tag(files.info(path))


def cut(*folders: Optional[str]) -> Optional[int]:
    """Rows of the blocks of what lies in one of these folders, so that a call that goes on is cut as before; None
    where there is nothing."""
    for folder in folders:
        plan = None if folder is None else read_json(join(folder, PLAN))
        if plan is not None and plan.get("block_rows"):
            return max(plan["block_rows"])
    return None


def write(url: str, fill: Callable[[IO[bytes]], Any]) -> None:
    """A file that `fill` writes; nobody ever sees a part of it.

    Raises
    ------
    FileNotFoundError
        Where the bucket of the URL does not exist: none is made, since its name may be mistyped.
    """
    files, path = system(url)
    folder, _, name = path.rpartition("/")
    if not _in_bucket(files, path):
        files.makedirs(folder, exist_ok=True)
    part = f"{folder}/.{name}.{uuid.uuid4().hex}"
    try:
        with files.open(part, "wb") as file:
            fill(file)
        files.mv(part, path)
    except BaseException as e:
        _check_bucket(files, path, url, e)
        if files.exists(part):
            files.rm(part)
        raise


def _in_bucket(files: Any, path: str) -> bool:
    """Whether a path begins with a bucket, which has no folders to be made: other systems have a root before it."""
    names = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    return "file" not in names and not path.startswith("/")


def _check_bucket(files: Any, path: str, url: str, failed: BaseException) -> None:
    bucket = path.partition("/")[0]
    # What was read to fill the file may be missing as well.
    if isinstance(failed, FileNotFoundError) and _in_bucket(files, path) and not files.exists(bucket):
        raise FileNotFoundError(
            f"{url}: there is no bucket {bucket}; make it first, or mend its name"
        ) from failed


def remove(url: str) -> None:
    """Removes a file or folder; none is fine."""
    files, path = system(url)
    if files.exists(path):
        files.rm(path, recursive=True)


def write_arrays(url: str, **arrays: np.ndarray) -> None:
    """A ``.npz`` file."""
    write(url, lambda file: np.savez(file, **arrays))


def read_arrays(url: str) -> dict[str, np.ndarray]:
    """All arrays of a ``.npz`` file.

    Raises
    ------
    ValueError
        Where it cannot be read.
    """
    files, path = system(url)
    try:
        with files.open(path, "rb") as file, np.load(file) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as e:
        if isinstance(e, FileNotFoundError):
            raise
        raise ValueError(f"{url} cannot be read: {e}") from e


def write_json(url: str, value: Any) -> None:
    """A value as JSON."""
    text = json.dumps(value, indent=1).encode()
    write(url, lambda file: file.write(text))


def read_json(url: str) -> Any:
    """The value of a file of JSON; None where there is none."""
    files, path = system(url)
    if not files.exists(path):
        return None
    with files.open(path, "rb") as file:
        return json.load(file)


def check_there(paths: list[str]) -> None:
    """Fails where the machines of a cluster wrote what is not seen from here."""
    lost = [path for path in paths if not exists(path)]
    if lost:
        raise FileNotFoundError(f"{lost[0]}: a worker wrote it, and it is not there; name a folder that all machines see")


def claim(folder: str, plan: dict, paths: Sequence[str] = ()) -> None:
    """Makes a folder that of a plan, so that what lies there, at these paths, may be taken for what was asked for.

    Raises
    ------
    ValueError
        Where it is that of another plan, of none that is known, or a file.
    """
    files, path = system(folder)
    if files.isfile(path):
        raise ValueError(f"{folder} is a file; name a folder")
    url = join(folder, PLAN)
    there = read_json(url)
    if there is None:
        made = next((path for path in paths if exists(path)), None)
        # Another driver of the same call may have begun in between.
        there = read_json(url)
        if made and there is None:
            raise ValueError(f"{made} is there, and nothing tells what it was made of; give another folder or remove it")
    if there is None:
        write_json(url, plan)
        return
    asked = json.loads(json.dumps(plan))
    for key in [*asked, *there]:
        if asked.get(key) != there.get(key):
            held, wanted = _brief(there.get(key)), _brief(asked.get(key))
            raise ValueError(
                f"{folder} holds what was made with {key} = {held}, and {wanted} is asked for; give another folder or "
                "remove this one"
            )


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + " ..."
