"""Qdrant's own engine behind the part of its interface that exports use, until standard input ends.

The folder of the collections is the argument; the address is printed.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import qdrant_edge as q

FOLDER = Path(sys.argv[1])
# Few vectors are searched by the index, too: it is what is asked about.
INDEX = q.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=1)
OPTIMIZERS = q.EdgeOptimizersConfig(indexing_threshold=1)

shards, vectors, turn = {}, {}, threading.Lock()


def answer(method, path, body):
    name, _, rest = path.removeprefix("/collections/").partition("/")
    if (method, rest) == ("PUT", ""):
        vectors[name] = body["vectors"]
        of = q.EdgeVectorParams(size=body["vectors"]["size"], distance=getattr(q.Distance, body["vectors"]["distance"]))
        config = q.EdgeConfig(vectors=of, hnsw_config=INDEX, optimizers=OPTIMIZERS)
        shards[name] = q.EdgeShard.create(str(FOLDER / name), config)
        return True
    shard = shards.get(name)
    if shard is None:
        return None
    if (method, rest) == ("GET", ""):
        if shard.count(q.CountRequest(exact=True)):
            shard.optimize()
            assert shard.info().indexed_vectors_count, "the index was not built"
        return {"status": "green", "config": {"params": {"vectors": vectors[name]}}}
    if (method, rest) == ("PUT", "points?wait=true"):
        points = [q.Point(point["id"], point["vector"], point["payload"]) for point in body["points"]]
        shard.update(q.UpdateOperation.upsert_points(points))
        return {"status": "completed"}
    if (method, rest) == ("POST", "points/count"):
        of = None
        must = body["filter"].get("must", [])
        if "should" in body["filter"]:
            # Every point here is one of an export.
            return {"count": 0}
        if must:
            of = q.Filter(must=[q.FieldCondition(must[0]["key"], match=q.MatchValue(must[0]["match"]["value"]))])
        return {"count": shard.count(q.CountRequest(exact=True, filter=of))}
    if (method, rest) == ("POST", "points/query"):
        exact = body.get("params", {}).get("exact", False)
        asked = q.QueryRequest(
            limit=body["limit"],
            query=q.Query.Nearest(body["query"]),
            with_payload=body["with_payload"],
            params=q.SearchParams(exact=exact),
        )
        found = shard.query(asked)
        return {"points": [{"id": str(hit.id), "score": hit.score, "payload": hit.payload} for hit in found]}
    raise ValueError((method, path))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "null")
        with turn:
            result = answer(self.command, self.path, body)
        status = 404 if result is None else 200
        said = json.dumps({"result": result, "status": "ok"} if status == 200 else {"status": {"error": "no such collection"}})
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())

    do_PUT = do_POST = do_GET

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
