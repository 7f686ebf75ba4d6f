"""An export of a large run to PostgreSQL with pgvector, killed halfway and resumed.

    python export.py LIKEWISE RUN OUT.md

LIKEWISE is the program as released, with its feature `export`; RUN a run whose ids are its rows, such as
../../likewise-serve/benches/serving.py leaves, or one of its first items to which `likewise add` has added the rest. The export is killed (SIGKILL) once half of the items are in
the table, and the same command is given again. Counted by SQL: the rows, and how many ids they have. 200 rows of the run then ask
the table by its index, and 20 without it; recall is against all items compared by numpy. Needs numpy, pgserver and psycopg.
"""

import argparse
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pgserver
import psycopg

K = 10
ASKED = 200


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    embeddings = np.load(given.run / "embeddings.npy", mmap_mode="r")
    n, columns = embeddings.shape
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="pg") as folder:
        server = pgserver.get_server(folder)
        with psycopg.connect(server.get_uri(), autocommit=True) as db:
            db.execute("ALTER SYSTEM SET shared_buffers = '4GB'")
            db.execute("ALTER SYSTEM SET maintenance_work_mem = '4GB'")
        server.cleanup()
        server = pgserver.get_server(folder)
        export = [given.program, "export", given.run, "--to", "pgvector", "--url", server.get_uri(), "--table", "items", "--json"]
        with psycopg.connect(server.get_uri(), autocommit=True) as db:
            said = exported(db, export, n)
            said |= asked(db, embeddings)
        server.cleanup()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    (given.out.parent / "export.json").write_text(json.dumps(said, indent=1) + "\n")
    given.out.write_text(page(said, n, columns))


def exported(db, export, n):
    """Kills an export halfway, and gives it again."""
    begun = time.time()
    errors = tempfile.TemporaryFile()
    first = subprocess.Popen(export, stdout=subprocess.DEVNULL, stderr=errors)
    held = 0
    while 2 * held < n:
        if first.poll() is not None:
            errors.seek(0)
            raise SystemExit(f"the export ended before it was killed: {errors.read().decode(errors='replace')}")
        time.sleep(0.2)
        # Before the table is there, there is nothing to count.
        if db.execute("SELECT to_regclass('items')").fetchone()[0]:
            held = rows(db)
    first.send_signal(signal.SIGKILL)
    first.wait()
    until_killed = time.time() - begun
    time.sleep(1)
    held, begun = rows(db), time.time()
    done = subprocess.run(export, check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    count, ids = db.execute("SELECT count(*), count(DISTINCT id) FROM items").fetchone()
    return {
        "until_killed": round(until_killed), "held": held, "then": round(time.time() - begun), "written": report["written"],
        "counted": report["counted"], "rows": count, "ids": ids, "recall": report["recall"]["value"],
    }


def rows(db):
    return db.execute("SELECT count(*) FROM items").fetchone()[0]


def asked(db, embeddings):
    """How many of the true neighbours the table gives, by its index and without."""
    places = np.random.default_rng(1).choice(len(embeddings), ASKED, replace=False)
    vectors = np.asarray(embeddings[places], dtype=np.float32)
    texts = ["[" + ",".join(f"{v:.9g}" for v in vector) + "]" for vector in vectors]
    query = f"SELECT id FROM items ORDER BY embedding <=> %s::vector LIMIT {K}"
    found = {}
    for name, setting in {"index": "SET hnsw.ef_search = 100", "all": "SET enable_indexscan = off"}.items():
        db.execute(setting)
        # A plan that was kept would be the one of the other setting.
        asking = texts if name == "index" else texts[:20]
        begun = time.time()
        found[name] = [[row[0] for row in db.execute(query, (text,), prepare=False).fetchall()] for text in asking]
        found[f"{name}_ms"] = round(1000 * (time.time() - begun) / len(asking), 1)
    norms = np.linalg.norm(embeddings, axis=1)
    truth = []
    for vector in vectors:
        cosines = (embeddings @ vector) / np.maximum(norms, 1e-12)
        truth.append(set(np.argpartition(-cosines, K)[:K].astype(str)))
    share = lambda name: round(float(np.mean([len(set(a) & t) / K for a, t in zip(found[name], truth)])), 3)
    return {
        "asked": ASKED, "by_index": share("index"), "by_index_ms": found["index_ms"], "by_all": share("all"), "by_all_ms": found["all_ms"],
    }


def page(said, n, columns):
    return f"""# {n:,} items to PostgreSQL

Measured by `crates/likewise-cli/benches/export.py`, whose first lines say how: a run of {n:,} items of {columns} columns, exported to PostgreSQL with pgvector on
the same 2 cores, killed when half of it was there, and the same command given again.

| | |
|---|---:|
| seconds until it was killed | {said['until_killed']} |
| rows in the table then | {said['held']:,} |
| rows that the second wrote | {said['written']:,} |
| its seconds, most of them for the index | {said['then']} |
| rows in the table at the end | {said['rows']:,} |
| ids of these | {said['ids']:,} |
| recall@10 that the export says, of 100 items | {said['recall']:.3f} |
| recall@10 of {said['asked']} others by the index (`ef_search` 100) | {said['by_index']:.3f} |
| milliseconds a search | {said['by_index_ms']} |
| the same without the index, of 20 | {said['by_all']:.3f} |
| milliseconds a search | {said['by_all_ms']} |
"""


if __name__ == "__main__":
    main()
