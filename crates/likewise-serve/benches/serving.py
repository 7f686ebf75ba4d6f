"""What a served run answers, how soon, and beside PostgreSQL with pgvector on the same vectors.

    python serving.py LIKEWISE OUT.md --case "2,688 x 512" [--minutes 10]
    python serving.py LIKEWISE OUT.md --case "200,000 x 128" --peer [--runs FOLDER] [--browser FOLDER]

LIKEWISE is the program as released. Generated rows of as many classes as the case says; five labels a class are known.
Searches ask by vectors that are not in the run, for ten answers each; labels are true ones of items drawn at random, so each
changes beliefs. Fits take minutes where there are many items: `--runs` names a folder where they stay, and are served from next
time. A label counts from the request to the answer, which comes when it is on the disk and all that follows from
it is known. Recall is against all items compared by numpy. `--browser` also measures the page in Chromium, from a key to
what is then painted, and its map beside that of regl-scatterplot: the first lines of tests/browser/pace.js say how, and what
FOLDER is. With `--minutes`, 100
requests a second (`--rate`) go on for so long, of which one in twenty is a label, while every ten seconds (`--swap`) another model takes over: of more
than 200,000 items, which are not fitted again, a copy of the same.
`--method` measures the labels of another method than the default alone, each in a server of its own. Memory of PostgreSQL is that of all its
processes after the searches of 64 clients, what they share counted once. What was measured is kept beside OUT.md, in cases.json, a case at a time. Needs numpy, and for the peer pgserver and psycopg.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

SEED = 1
FITTED = 200_000
K = 10
CLASSES = {"2,688 x 512": 8, "200,000 x 128": 100, "1,000,000 x 128": 100}
CLIENTS = [1, 8, 64]
ASKED = 2_000
LABELS = 200
METHODS = ["lgc", "poisson", "mixed"]


def generated(items, columns, classes, rng):
    """Unequal clouds: rows of a class around three centres of it."""
    centres = rng.normal(size=(classes, 3, columns))
    y = rng.integers(classes, size=items)
    x = centres[y, rng.integers(3, size=items)] + rng.normal(size=(items, columns)) * 1.2
    return x.astype(np.float32), y


class Server:
    """A served run, until the end of the block."""

    def __init__(self, program, run, *more):
        self.process = subprocess.Popen(
            [program, "serve", run, "--port", "0", *more], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for line in self.process.stdout:
            if "http://" in line:
                self.port = int(line.split("http://", 1)[1].split("/")[0].split(":")[1])
                break
        else:
            raise SystemExit(self.process.stderr.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def memory(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


class Client:
    """One connection that stays open, and how often it was lost and opened again."""

    def __init__(self, port):
        self.port, self.open, self.lost = port, None, 0

    def ask(self, method, path, body=None):
        """The status, what was answered, and the seconds that it took."""
        text = None if body is None else json.dumps(body)
        begun = time.perf_counter()
        for again in (False, True):
            try:
                if self.open is not None and self.open.sock and select.select([self.open.sock], [], [], 0)[0]:
                    # Nobody asked for a while, and the server has closed it: no request was on its way.
                    self.open.close()
                    self.open = None
                if self.open is None:
                    self.open = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
                self.open.request(method, path, text, {"Content-Type": "application/json"})
                answer = self.open.getresponse()
                read = answer.read()
                return answer.status, read, time.perf_counter() - begun
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.open = None
                self.lost += 1
                if again:
                    raise


def percentiles(seconds):
    p50, p99 = np.percentile(np.array(seconds) * 1000, [50, 99])
    return [round(float(p50), 1), round(float(p99), 1)]


def at_once(clients, tasks, make, ask):
    """Seconds of each task, by so many clients at once, and tasks a second. Each client has asked once before the clock
    begins, so that no time of a connection is counted."""
    waiting, lock = list(range(tasks)), threading.Lock()
    ready = [make() for _ in range(clients)]
    for client in ready:
        ask(client, 0)

    def work(client):
        spent = []
        while True:
            with lock:
                if not waiting:
                    return spent
                task = waiting.pop()
            spent.append(ask(client, task))

    begun = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        spent = [seconds for part in pool.map(work, ready) for seconds in part]
    return percentiles(spent), round(tasks / (time.perf_counter() - begun))


def recall(x, queries, found):
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    hits = 0
    for query, ids in zip(queries, found):
        truth = np.argpartition(-(unit @ query), K)[:K]
        hits += len(set(truth.tolist()) & set(ids))
    return round(hits / (K * len(found)), 3)


def search(server, vectors):
    body = [{"vector": vector.tolist(), "k": K} for vector in vectors]

    def ask(client, task):
        status, _, seconds = client.ask("POST", "/search", body[task % len(body)])
        assert status == 200, status
        return seconds

    at_once(1, 50, lambda: Client(server.port), ask)
    return {
        str(clients): at_once(clients, ASKED, lambda: Client(server.port), ask) for clients in CLIENTS
    }


def label(server, truth, rng):
    client, spent, changed = Client(server.port), [], []
    for item in rng.permutation(len(truth))[:LABELS]:
        body = {"id": str(item), "label": str(truth[item]), "who": "bench"}
        status, answer, seconds = client.ask("POST", "/label", body)
        assert status == 200, answer
        spent.append(seconds)
        changed.append(json.loads(answer)["changed"])
    return percentiles(spent), round(float(np.mean(changed)), 1)


def classes(server):
    """What changes of classes take, in milliseconds; each is taken back after it."""
    client, spent = Client(server.port), {}
    for name, change in [
        ("add", {"add": "new"}),
        ("rename", {"rename": {"from": "0", "to": "new"}}),
        ("merge", {"merge": {"from": "0", "into": "1"}}),
    ]:
        for part, path, body in [(name, "/classes", change), (f"{name} undone", "/undo", {})]:
            status, answer, seconds = client.ask("POST", path, body)
            assert status == 200, answer
            spent[part] = round(seconds * 1000)
    return spent


def endure(server, vectors, truth, given, rng):
    """So many requests a second, with another model now and then."""
    client = Client(server.port)
    if len(truth) <= FITTED:
        assert client.ask("POST", "/refit", {})[0] in (200, 202)
    while json.loads(client.ask("GET", "/refit")[1])["state"] == "running":
        time.sleep(0.2)
    current, models = (lambda all: (all["current"], [model["number"] for model in all["models"]]))(json.loads(client.ask("GET", "/models")[1]))
    # The one that answers comes last, so that the first swap is to another.
    models.sort(key=lambda number: (number == current, number))
    items, end = rng.integers(len(truth), size=100_000), time.time() + 60 * given.minutes
    failed, memory, spent, asked, labeled, swapped = [], [], [], [], [], []

    def ask(number, due):
        own = local.__dict__.setdefault("client", Client(server.port))
        item, lost = int(items[number % len(items)]), own.lost
        if number % 20 == 0:
            got = own.ask("POST", "/label", {"id": str(item), "label": str(truth[item])})
        else:
            got = own.ask("POST", "/search", {"vector": vectors[number % len(vectors)].tolist(), "k": K})
        # From when it was due: one that waits for a client of its own has waited.
        (labeled if number % 20 == 0 else spent).append(time.time() - due)
        if got[0] != 200:
            failed.append(got[:2])
        elif own.lost > lost:
            failed.append("a connection was lost")

    def swap(turn):
        wanted, own, begun = models[(turn - 1) % len(models)], Client(server.port), time.time()
        got = own.ask("POST", f"/models/{wanted}/restore", {})
        # One that takes longer than a request may goes on.
        while got[0] == 408 and json.loads(own.ask("GET", "/models")[1])["current"] != wanted and time.time() < begun + 300:
            time.sleep(0.5)
        if got[0] in (200, 408) and time.time() < begun + 300:
            swapped.append(time.time() - begun)
        else:
            failed.append(got[:2])

    local, number, begun = threading.local(), 0, time.time()
    with concurrent.futures.ThreadPoolExecutor(32) as pool, concurrent.futures.ThreadPoolExecutor(1) as swaps:
        while time.time() < end:
            due = begun + number / given.rate
            for _ in range(given.rate // 10):
                asked.append(pool.submit(ask, number, due))
                number += 1
            if number % (given.swap * given.rate) == 0:
                asked.append(swaps.submit(swap, number // (given.swap * given.rate)))
                memory.append(round(server.memory()))
            time.sleep(max(0.0, begun + number / given.rate - time.time()))
    failed += [str(e) for e in (done.exception() for done in asked) if e]
    # The first minute fills caches.
    settled = memory[min(6, len(memory) - 1) :]
    return {
        "minutes": given.minutes,
        "rate": given.rate,
        "requests": number,
        "failed": [str(f) for f in failed[:5]],
        "failures": len(failed),
        "swaps": len(swapped),
        "swap": percentiles(swapped),
        "latency": percentiles(spent),
        "label": percentiles(labeled),
        "memory": [settled[0], settled[-1], max(settled)],
    }


def paced(server, folder):
    """The page, in a browser."""
    script = Path(__file__).parents[1] / "tests/browser/pace.js"
    ask = ["node", script, f"http://127.0.0.1:{server.port}/", "--peer", folder]
    return json.loads(subprocess.run(ask, check=True, capture_output=True, text=True).stdout)


def pgvector(x, vectors, folder):
    """The same by PostgreSQL: an HNSW index with the default settings, on one connection a client."""
    import pgserver
    import psycopg

    server = pgserver.get_server(folder)
    with psycopg.connect(server.get_uri(), autocommit=True) as db:
        # A quarter of what there is, as its manual advises: the index is in memory, as ours is.
        db.execute("ALTER SYSTEM SET shared_buffers = '4GB'")
    server.cleanup()
    server = pgserver.get_server(folder)
    with psycopg.connect(server.get_uri(), autocommit=True) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute(f"CREATE TABLE items (id int PRIMARY KEY, v vector({x.shape[1]}))")
        with db.cursor().copy("COPY items FROM STDIN") as copy:
            for i, row in enumerate(x):
                copy.write_row((i, "[" + ",".join(f"{v:.6g}" for v in row) + "]"))
        db.execute("SET maintenance_work_mem = '4GB'")
        begun = time.perf_counter()
        db.execute("CREATE INDEX ON items USING hnsw (v vector_cosine_ops)")
        built = time.perf_counter() - begun
    text = ["[" + ",".join(f"{v:.6g}" for v in vector) + "]" for vector in vectors]
    query = f"SELECT id FROM items ORDER BY v <=> %s::vector LIMIT {K}"

    def connect():
        db = psycopg.connect(server.get_uri(), autocommit=True)
        db.execute("SET hnsw.ef_search = 100")
        return db

    def ask(db, task):
        begun = time.perf_counter()
        db.execute(query, (text[task % len(text)],)).fetchall()
        return time.perf_counter() - begun

    with connect() as db:
        found = [[row[0] for row in db.execute(query, (t,)).fetchall()] for t in text[:200]]
    at_once(1, 50, connect, ask)
    times = {str(clients): at_once(clients, ASKED, connect, ask) for clients in CLIENTS}
    held = memory_of_all(int(Path(folder, "postmaster.pid").read_text().split()[0]))
    server.cleanup()
    return {"search": times, "recall": recall(x, vectors[:200], found), "built": round(built), "memory": held}


def memory_of_all(first):
    """MiB of a process and all that come from it; what several share counts once."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            # It has ended meanwhile.
            continue
    family, grown = {first}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family, grown = family | more, bool(more)
    held = 0
    for pid in family:
        try:
            held += int(Path(f"/proc/{pid}/smaps_rollup").read_text().split("\nPss:")[1].split()[0])
        except OSError:
            continue
    return round(held / 1024)


def fitted(program, x, truth, folder, again):
    """A run of these items below a folder; the one that is there, if there is one. One that is to be fitted `again` from its
    page has five labels a class and no others; else all but these are hidden, and one draw measures it. Items beyond the
    first 200,000 are added to it."""
    run, items = Path(folder) / f"{len(x)}{'-again' if again else ''}", f"{folder}/{len(x)}.npz"
    if (run / "embeddings.npy").exists():
        return run
    fit, label = [program, "fit", items, "--recipe", "label-rca", "-q", "-o", run], truth
    if again:
        label = np.full(len(x), -1)
        for c in np.unique(truth):
            label[np.flatnonzero(truth == c)[:5]] = c
    else:
        fit += ["--labels-per-class", "5", "--draws", "1"]
    ids = np.arange(len(x)).astype(str)
    first, rest = slice(None, FITTED), slice(FITTED, None)
    np.savez(items, x=x[first], label=label[first], id=ids[first])
    subprocess.run(fit, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    if len(x) > FITTED:
        np.savez(items, x=x[rest], id=ids[rest])
        subprocess.run([program, "add", run, items, "-q"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return run


def by_methods(program, run, folder, truth, methods):
    """What a label takes by other methods, each on a copy of the run as it was fitted."""
    found = {}
    for method in methods:
        own = shutil.copytree(run, f"{folder}/{method}")
        with Server(program, own, "--method", method) as server:
            while Client(server.port).ask("GET", "/healthz")[0] != 200:
                time.sleep(0.1)
            times, changed = label(server, truth, np.random.default_rng(SEED))
            found[method] = {"label": times, "changed": changed, "memory": round(server.memory())}
        shutil.rmtree(own)
    return found


def measured(program, name, given):
    items, columns = (int(part.replace(",", "")) for part in name.split(" x "))
    rng = np.random.default_rng(SEED)
    x, y = generated(items + 500, columns, CLASSES[name], rng)
    x, vectors, truth = x[:items], x[items:], y[:items]
    with tempfile.TemporaryDirectory() as folder:
        if given.runs:
            Path(given.runs).mkdir(parents=True, exist_ok=True)
        # What is served is labeled, and fitted again.
        run = f"{folder}/run"
        kept = fitted(program, x, truth, given.runs or folder, given.minutes > 0 and items <= FITTED)
        if given.method:
            return {"methods": by_methods(program, kept, folder, truth, given.method)}
        shutil.copytree(kept, run)
        if given.minutes and items > FITTED:
            # What was added cannot be fitted again: a copy of it takes over, which is opened as any other model is.
            for number in ("1", "2"):
                shutil.copytree(kept, f"{run}/models/{number}")
        case = {"opened_before": True}
        embedded = np.load(f"{run}/embeddings.npy").astype(np.float32)
        begun = time.time()
        with Server(program, run) as server:
            client = Client(server.port)
            while client.ask("GET", "/healthz")[0] != 200:
                time.sleep(0.1)
            if not given.minutes_alone:
                case["open"] = round(time.time() - begun, 1)
            if not given.page_alone and not given.minutes_alone:
                asked = [client.ask("POST", "/embed", {"vector": v.tolist()})[1] for v in vectors]
                asked = np.array([json.loads(a)["embedding"] for a in asked], dtype=np.float32)
                found = [
                    [int(hit["id"]) for hit in json.loads(client.ask("POST", "/search", {"vector": v.tolist(), "k": K})[1])["hits"]]
                    for v in vectors[:200]
                ]
                case["recall"] = recall(embedded, asked[:200], found)
                case["search"] = search(server, vectors)
                case["label"], case["changed"] = label(server, truth, rng)
                case["memory"] = round(server.memory())
            if not given.page_alone:
                case["classes"] = classes(server)
            if given.browser:
                case["browser"] = paced(server, given.browser)
            if given.minutes:
                case["endured"] = endure(server, vectors, truth, given, rng)
        if given.peer:
            case["peer"] = pgvector(embedded, asked, f"{folder}/pg")
    return case


def cell(times):
    (p50, p99), rate = times
    return f"{p50} / {p99} ({rate})"


def page(cases):
    rows = [
        "# A served run: how soon it answers",
        "",
        "Measured by `crates/likewise-serve/benches/serving.py`, whose first lines say how: generated rows, five known labels a class, `likewise serve` on 2 cores,",
        "the clients on the same cores. Of more than 200,000 items the others were added to a run of these. Milliseconds are the median and the 99th percentile; in brackets requests a second.",
        "Cases were measured on different days and machines: rows of a case compare, and cases do not.",
        "",
        "| items | search, 1 client | 8 | 64 | recall@10 | a label | beliefs it changes | memory, MiB | opens in, s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, case in cases.items():
        search = " | ".join(cell(case["search"][str(clients)]) for clients in CLIENTS)
        rows.append(
            f"| {name} | {search} | {case['recall']} | {case['label'][0]} / {case['label'][1]} | {case['changed']} "
            f"| {case['memory']} | {case['open']} |"
        )
        if peer := case.get("peer"):
            search = " | ".join(cell(peer["search"][str(clients)]) for clients in CLIENTS)
            rows.append(f"| the same, pgvector | {search} | {peer['recall']} | - | - | {peer.get('memory', '-')} | - |")
    told = [f"{name}: " + ", ".join(f"{part} {spent}" for part, spent in case["classes"].items()) for name, case in cases.items() if "classes" in case]
    if told:
        rows += ["", f"Changes of classes, in milliseconds: {'; '.join(told)}."]
    for name, case in cases.items():
        if it := case.get("endured"):
            rows += [
                "",
                f"**{it['minutes']} minutes** of {name}: {it['requests']:,} requests at {it.get('rate', 100)} a second, one in twenty a label, and {it['swaps']} times "
                f"another model that took over: {it['failures']} failed. {it['latency'][0]} / {it['latency'][1]} ms"
                + (f", of a label {it['label'][0]} / {it['label'][1]}, until a model had taken over {it['swap'][0]} / {it['swap'][1]}" if "swap" in it else "")
                + f"; memory after the first minute "
                f"{it['memory'][0]} MiB, at the end {it['memory'][1]}, at most {it['memory'][2]}. A request counts from when it was due; one that lost its connection has failed.",
            ]
    if any(case.get("methods") for case in cases.values()):
        rows += ["", "## By the method that labels spread by", "", "`harmonic` is the default, of the table above. Beliefs that a label changes are those of the true labels of 200 items in a row.",
                 "", "| items | method | a label | beliefs it changes | memory, MiB |", "|---|---|---:|---:|---:|"]
        for name, case in cases.items():
            for method, it in case.get("methods", {}).items():
                rows.append(f"| {name} | `{method}` | {it['label'][0]} / {it['label'][1]} | {it['changed']} | {it['memory']} |")
    before = [name for name, case in cases.items() if not case.get("opened_before")]
    if before:
        rows += ["", f"{' and '.join(before)}: measured when the clock still ran while connections were opened, PostgreSQL had its own 128 MiB of shared buffers, and "
                 "regl-scatterplot the whole window."]
    if any("peer" in case for case in cases.values()):
        built = ", ".join(f"{case['peer']['built']} s of {name}" for name, case in cases.items() if "peer" in case)
        rows += ["", f"pgvector: HNSW with its default settings and `ef_search` 100, built in {built}, and PostgreSQL with 4 GiB of shared buffers. "
                 "A client is a connection of its own, opened before the clock begins, of both."]
    if any("browser" in case for case in cases.values()):
        rows += [
            "",
            "## The page",
            "",
            "In Chromium on the same cores and without a graphics card, so drawn by the processor. The map is turned by the wheel; regl-scatterplot draws",
            "all points in each frame, on a canvas of the size of ours and as dots of the same size; ours as many as are in time, and all when it rests. Milliseconds, median and 99th percentile.",
            "",
            "| items | from a key to what followed | map opens in | a frame of the map | of regl-scatterplot |",
            "|---|---:|---:|---:|---:|",
        ]
        for name, case in cases.items():
            if it := case.get("browser"):
                two = lambda times: f"{times[0]} / {times[1]}"
                rows.append(f"| {name} | {two(it['keys'])} | {it['opened']} | {two(it['frames'])} | {two(it['peer']['frames'])} |")
        medians = ", ".join(f"{round(case['browser']['keys'][0])} ms of {name}" for name, case in cases.items() if "browser" in case)
        rows += ["", f"From a key to what followed, at the median: {medians}."]
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("out", type=Path)
    parser.add_argument("--case", choices=CLASSES, action="append", default=[])
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--rate", type=int, default=100, help="requests a second of these minutes, a multiple of 10")
    parser.add_argument("--swap", type=int, default=10, help="seconds between two models")
    parser.add_argument("--method", choices=METHODS, action="append", default=[], help="only the labels by this one")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--runs", type=os.path.abspath)
    parser.add_argument("--browser", type=os.path.abspath)
    parser.add_argument("--minutes-alone", action="store_true", help="only what --minutes measures, and changes of classes")
    parser.add_argument("--page-alone", action="store_true", help="only what --browser measures")
    given = parser.parse_args()
    if given.minutes_alone and (given.peer or given.browser or not given.minutes):
        parser.error("--minutes-alone goes with --minutes, and without --peer and --browser")
    if given.page_alone and (given.peer or given.minutes or not given.browser):
        parser.error("--page-alone goes with --browser, and without --peer and --minutes")
    program = os.path.abspath(given.program)
    kept = given.out.parent / "cases.json"
    cases = json.loads(kept.read_text()) if kept.exists() else {}
    for name in given.case:
        # What is not measured again stays, such as ten minutes.
        found = measured(program, name, given)
        found["methods"] = cases.get(name, {}).get("methods", {}) | found.get("methods", {})
        cases[name] = cases.get(name, {}) | found
        given.out.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(cases, indent=1) + "\n")
    given.out.write_text(page({name: cases[name] for name in CLASSES if name in cases}))


if __name__ == "__main__":
    main()
