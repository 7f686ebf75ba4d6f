"""Embeds a folder of images by a fitted run, some of them at a time."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from typing import Any, NamedTuple, Optional

from .._likewise import IMAGE_ENDINGS
from .._work import LikewiseWarning, count, outside
from . import files, shards
from .crew import Crew

#: What the command reads as images by their names.
KINDS = tuple(f".{ending}" for ending in IMAGE_ENDINGS)
#: How files of JPEG, PNG, GIF and TIFF begin.
BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"II*\x00", b"MM\x00*")
#: Images of a task: what is lost with a worker.
IMAGES = 1024
#: What is kept of what ``likewise embed`` writes: what folders say of classes and splits they say as a whole, and some
#: of the images would tell others.
COLUMNS = ["id", "vector"]
#: What of a run is not needed to embed by it, and may be large.
LEFT = ("embeddings.npy", "beliefs.npz", ".graph.npz", "models", "checkpoints")


class Batch(NamedTuple):
    """Some images of a folder, and where their embeddings go."""

    folder: str
    names: list[str]
    path: str
    skip_bad: bool


class Found(NamedTuple):
    """The images below a folder, by their paths in it, with what changes where one is written again."""

    folder: str
    stamps: dict[str, str]


def found(source: Any) -> Optional[Found]:
    """The images that the command would read there; None where this names no folder of images."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    url = files.address(source, "paths")
    system, path = files.system(url)
    if not system.isdir(path):
        return None
    stamps, others, lost = {}, {}, []
    for name, of in system.find(path, detail=True).items():
        # Below the root of an archive no name begins with a slash.
        inside = str(name)[len(path.rstrip("/")) :].lstrip("/")
        if any(part.startswith(".") for part in inside.split("/")):
            continue
        named = inside.lower().endswith(KINDS)
        if of.get("islink") or of.get("type") in ("link", "symlink"):
            # A link says of itself when it was made, not when the image was.
            try:
                of = system.info(name)
            except OSError:
                lost += [name] if named else []
                continue
        # Links may lead to folders, and pipes never end.
        if of.get("type") == "file":
            (stamps if named else others)[inside] = files.tag(of)
    if not stamps and any("/" not in inside and inside.endswith(shards.KINDS) for inside in others):
        return None
    for inside in _proven(system, path, list(others)):
        stamps[inside] = others[inside]
    if not stamps:
        return None
    for inside in stamps:
        try:
            inside.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{url}: the name {ascii(inside)} is not Unicode; rename it") from None
    for name in lost:
        warnings.warn(f"{name} leads to no file, and is left out", LikewiseWarning, stacklevel=outside())
    return Found(url, stamps)


def _proven(system: Any, folder: str, names: list[str]) -> list[str]:
    """Those whose first bytes prove an image, as the command believes them."""
    paths = [f"{folder.rstrip('/')}/{name}" for name in names]
    # All at once: each is a request where files are far away.
    heads = system.cat_ranges(paths, 0, 16, on_error="return") if paths else []
    # A file that cannot be read is no image, as to the command.
    proves = lambda head: head.startswith(BEGINNINGS) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")  # noqa: E731
    return [name for name, head in zip(names, heads) if isinstance(head, bytes) and proves(head)]


def embed(run: str, images: Found, folder: str, batch_rows: Optional[int], skip_bad: bool, crew: Crew) -> list[str]:
    """The images below a folder, in shards of `batch_rows`."""
    url, stamps = images
    (there, own), (here, given) = files.system(url), files.system(folder)
    if there == here and own.rstrip("/") == given.rstrip("/"):
        raise ValueError("out is the folder of the images; give another one, such as one in it")
    names = sorted(stamps)
    step = IMAGES if batch_rows is None else count(batch_rows, "batch_rows")
    batches = [
        Batch(url, names[at : at + step], files.join(folder, f"embeddings-{at // step:06}.parquet"), skip_bad)
        for at in range(0, len(names), step)
    ]
    digest = _digest(run)
    held = _words([f"{name} {stamps[name]}" for name in names])
    plan = {"run": digest, "images_of": url, "images": held, "batch_rows": step, "columns": COLUMNS, "skip_bad": skip_bad}
    files.claim(folder, plan, [batch.path for batch in batches])
    missing = (batch for batch in batches if not files.exists(batch.path))
    done = crew.each(lambda batch: crew.submit(embed_batch, run, digest, batch, crew.threads), missing)
    for _ in done:
        pass
    files.check_there([batch.path for batch in batches])
    bad = len(names) - sum(shards.look(batch.path).rows for batch in batches) if skip_bad else 0
    if bad:
        warnings.warn(f"{bad} images cannot be read, and are left out", LikewiseWarning, stacklevel=outside())
    return [batch.path for batch in batches]


def embed_batch(run: str, digest: str, batch: Batch, threads: int) -> None:
    """Embeds some images, which lie on the disk of this machine for so long.

    Raises
    ------
    ValueError
        With the words of the command, where it fails.
    """
    from pyarrow import parquet

    system, path = files.system(batch.folder)
    with tempfile.TemporaryDirectory() as own:
        images, out = os.path.join(own, "images"), os.path.join(own, "out.parquet")
        for name in batch.names:
            to = os.path.join(images, name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            system.get_file(f"{path.rstrip('/')}/{name}", to)
        words = ["embed", _here(run, digest), images, "-o", out, "--threads", str(threads), "--quiet"]
        words += ["--skip-bad"] if batch.skip_bad else []
        done = subprocess.run([sys.executable, "-m", "likewise", *words], capture_output=True, text=True)
        none_left = batch.skip_bad and "none of the images can be read" in done.stderr
        if done.returncode and not none_left:
            said = done.stderr.strip().removeprefix("error: ").replace(images, batch.folder)
            raise ValueError(said.replace("--skip-bad leaves", "skip_bad=True leaves") or f"ended with {done.returncode}")
        made = _nothing() if none_left else parquet.read_table(out).select(COLUMNS)
    files.write(batch.path, lambda file: parquet.write_table(made, file, use_dictionary=False))


def _nothing() -> Any:
    """The embeddings of no image."""
    import pyarrow as arrow

    numbers = arrow.list_(arrow.field("element", arrow.float32(), nullable=False))
    return arrow.schema([("id", arrow.string()), arrow.field("vector", numbers, nullable=False)]).empty_table()


@functools.lru_cache(maxsize=1)
def _here(run: str, digest: str) -> str:
    """The folder of the run on this machine; of a URL it is fetched once a worker and model (`digest`)."""
    system, path = files.system(run)
    if "file" in ((system.protocol,) if isinstance(system.protocol, str) else system.protocol):
        return path
    own = tempfile.mkdtemp(prefix="likewise-run-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    root = path.rstrip("/") + "/"
    for found in map(str, system.find(path)):
        name = found[len(root) :]
        if name.split("/", 1)[0] in LEFT:
            continue
        to = os.path.join(own, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        system.get_file(found, to)
    return own


def _digest(run: str) -> str:
    """What tells the model of a run from others."""
    import hashlib

    system, path = files.system(run)
    whole = hashlib.sha256()
    for name in ("config.json", "model.safetensors"):
        with system.open(f"{path.rstrip('/')}/{name}", "rb") as file:
            whole.update(file.read())
    return whole.hexdigest()


def _words(names: list[str]) -> str:
    import hashlib

    return hashlib.sha256("\n".join(names).encode()).hexdigest()
