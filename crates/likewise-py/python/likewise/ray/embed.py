"""Embeds shards, or a folder of images, by a fitted model."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, Optional

import numpy as np

from .. import _likewise
from .._table import reading_of, views_of
from .._work import count, flag, how
from . import files, images, shards
from .blocks import ROWS
from .crew import Crew
from .shards import Shard

# The column of a table that holds embeddings.
COLUMN = "embedding"
# The folder of what says of which shard each file is.
MADE_OF = "made-of"


class Work(NamedTuple):
    """A shard, and where its embeddings go."""

    shard: Shard
    path: str


def embed(
    run: Any,
    paths: Any,
    out: Any,
    *,
    batch_rows: Optional[int] = None,
    skip_bad: bool = False,
    workers: Optional[int] = None,
    threads: int = 1,
    max_retries: int = 3,
) -> list[str]:
    """Embed shards of rows by a fitted model, each into a shard of its own; or a folder of images, some to a shard.

    A shard that is there is whole, and not made again: after the driver was killed the same call goes on, and others may
    be added to the folder. One whose source was written again since is refused.

    **Not** for a folder that one machine embeds in the time that you have: `likewise embed` does it without Ray.

    Parameters
    ----------
    run : path, or MetricLearner
        Folder of a run, which holds its ``model.safetensors``, that file itself, or a fitted `likewise.MetricLearner`.
        For images the folder of a run that was fitted on images; an encoder that it names must be at the same path on
        every machine.
    paths : paths
        Shards, as of `neighbors`; several may not have the same name. Or one folder below which there are images.
    out : path or URL
        Folder of the embeddings. Of ``.npy`` shards they are ``.npy`` (n_rows, n_components) float32; of ``.parquet``
        shards ``.parquet`` of the columns ``id``, ``label`` and ``split``, where there are such, and ``embedding``. Of
        images ``embeddings-000000.parquet`` and so on of the columns ``id``, the path of the image in the folder, and
        ``vector``, as ``likewise embed`` writes them; classes and splits, which a part of a folder does not tell, are left out.
    batch_rows : int or None
        Rows that are read and embedded at a time, images of a shard; None: 65,536 rows, 1,024 images.
    skip_bad : bool, default=False
        Leave images out that cannot be read; False: such a one is an error.
    workers, threads, max_retries
        As of `neighbors`.

    Returns
    -------
    list of str
        The shards of the embeddings, in the order of `paths`.

    Notes
    -----
    Cost: one pass. A worker holds the model, and 8 bytes for each of the columns and the components of `batch_rows`
    rows; a row group of a parquet file is read as a whole. Images are copied to the disk of the worker, those of one
    shard at a time.

    Examples
    --------
    >>> likewise.ray.embed("run/", "s3://bucket/items/", "s3://bucket/embeddings/")  # doctest: +SKIP
    """
    flag(skip_bad, "skip_bad")
    folder, crew = files.address(out, "out"), Crew(workers, threads, max_retries)
    found = images.found(paths)
    if found is not None:
        return images.embed(_folder(run), found, folder, batch_rows, skip_bad, crew)
    if skip_bad:
        raise ValueError("skip_bad has no effect on shards of rows; leave it out")
    model, names = _model(run), _columns(run)
    batch_rows = count(ROWS if batch_rows is None else batch_rows, "batch_rows")
    columns = _likewise.Model.from_bytes(model).input_dim
    work = []
    for url in shards.listed(paths, "paths", shards.KINDS):
        work.append(Work(shards.look(url, names), files.join(folder, url.rsplit("/", 1)[-1])))
        if work[-1].shard.rows and work[-1].shard.columns != columns:
            raise ValueError(
                f"paths: {url} has {work[-1].shard.columns} columns, the model reads {columns}"
            )
    # Those that were fitted are in their order already.
    read = [of.shard for of in work]
    ordered = read if names else shards.in_order(read, "paths")
    work = [of._replace(shard=shard) for of, shard in zip(work, ordered)]
    made = [of.path for of in work]
    twice = [path for path in made if made.count(path) > 1]
    if twice:
        raise ValueError(f"paths: two shards would be written to {twice[0]}; give them other names")
    if any(files.system(of.shard.url)[1] == files.system(of.path)[1] for of in work):
        raise ValueError("out is the folder of the shards that are read; give another one")
    files.claim(folder, {"model": hashlib.sha256(model).hexdigest()}, made)
    _note(folder, work)
    model = crew.put(model)
    missing = (of for of in work if not files.exists(of.path))
    for _ in crew.each(
        lambda of: crew.submit(embed_shard, model, of, batch_rows, crew.threads), missing
    ):
        pass
    files.check_there(made)
    return made


def _folder(run: Any) -> str:
    """The folder of a run, which knows how images are read."""
    if hasattr(run, "to_bytes"):
        raise TypeError("run: images are embedded by the folder of a run, not by a MetricLearner")
    url = files.address(run, "run")
    if not files.exists(files.join(url, "config.json")):
        raise FileNotFoundError(f"run: there is no {files.join(url, 'config.json')}")
    return url


def _model(run: Any) -> bytes:
    """The bytes of a model."""
    if hasattr(run, "to_bytes"):
        return run.to_bytes()
    url = files.address(run, "run")
    system, path = files.system(url)
    if system.isdir(path):
        path = files.join(path, "model.safetensors")
    if not system.exists(path):
        raise FileNotFoundError(f"run: there is no {path}")
    with system.open(path, "rb") as file:
        return file.read()


def _columns(run: Any) -> tuple[str, ...]:
    """The columns of the table or frame that was fitted, in its order; none where they have no names.

    Raises
    ------
    ValueError
        Where shards cannot be read as what was fitted: several views, or more of a table than numbers as they stand.
    """
    if hasattr(run, "to_bytes"):
        views, reading = getattr(run, "views_", None) or [], getattr(run, "_reading", None)
        names = getattr(run, "feature_names_in_", None)
    else:
        url = files.address(run, "run")
        if url.endswith(".safetensors"):
            url = url.rpartition("/")[0]
        if (files.read_json(files.join(url, "run.json")) or {}).get("views"):
            raise ValueError(f"run: {url} is a run across views, which shards of one view are not; CrossModalLearner.load opens it")
        config = files.read_json(files.join(url, "config.json"))
        if not config:
            # A model by itself.
            return ()
        views = views_of(config)
        reading = reading_of(config, views[0])
        names = reading.names
    if len(views) > 1:
        raise ValueError(f"run: it was fitted on the views {', '.join(views)}, and shards are one; MetricLearner.transform embeds them")
    if reading is not None and (reading.made is not None or reading.scale is not None):
        raise ValueError(
            "run: it was fitted on a table whose columns it brings to one scale or makes of words, which shards are not; "
            "embed that table by the command `likewise embed`"
        )
    return () if names is None else tuple(names)


def _note(folder: str, work: list[Work]) -> None:
    """Notes which shard each file of embeddings is of, beside them.

    Raises
    ------
    ValueError
        Where some that lie there are of another shard, or of what this one held before.
    """
    for of in work:
        name, origin = of.path.rsplit("/", 1)[-1], [of.shard.url, of.shard.stamp, list(of.shard.names)]
        note = files.join(files.join(folder, MADE_OF), name + ".json")
        if not files.exists(of.path):
            files.write_json(note, origin)
        elif files.read_json(note) != origin:
            raise ValueError(
                f"{folder} holds {name} of another shard, or of what {origin[0]} held before; give another folder or remove "
                "this one"
            )


def embed_shard(model: bytes, of: Work, batch_rows: int, threads: int) -> int:
    """Embeds one shard, some rows at a time."""
    made = _likewise.Model.from_bytes(model)
    fill = _fill_npy if of.path.endswith(".npy") else _fill_parquet
    files.write(of.path, lambda file: fill(file, made, of.shard, batch_rows, threads))
    return of.shard.rows


def _fill_npy(file: Any, model: Any, shard: Shard, batch_rows: int, threads: int) -> None:
    head = {"descr": "<f4", "fortran_order": False, "shape": (shard.rows, model.output_dim)}
    np.lib.format.write_array_header_1_0(file, head)
    for start in range(0, shard.rows, batch_rows):
        rows = model.embed(shards.read(shard, start, start + batch_rows), how(threads))
        file.write(rows.astype("<f4", copy=False).tobytes())


def _fill_parquet(file: Any, model: Any, shard: Shard, batch_rows: int, threads: int) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    system, path = files.system(shard.url)
    writer = None
    with system.open(path, "rb") as source:
        for start in range(0, max(1, shard.rows), batch_rows):
            stop = min(start + batch_rows, shard.rows)
            table = shards.read_table(source, shard.url, start, stop)
            kept = table.select([n for n in table.column_names if shards.is_kept(n)])
            rows = np.empty((0, model.output_dim), np.float32)
            if stop > start:
                rows = model.embed(shards.read(shard, start, stop), how(threads))
            vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(rows.ravel()), rows.shape[1])
            table = kept.append_column(COLUMN, vectors) if kept.num_columns else arrow.table({COLUMN: vectors})
            writer = writer or parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
    if writer is not None:
        writer.close()
