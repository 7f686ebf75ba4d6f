"""Writes products.parquet: invented titles and vectors of 200 products, of which every tenth has a label.

    python products.py products.parquet      # needs pyarrow
"""

import pyarrow as pa, pyarrow.parquet as pq, random
random.seed(7)
kinds = {
 "shirt": ["shirt", "tee", "polo shirt"],
 "hose": ["garden hose", "hose reel", "water hose"],
 "shoes": ["running shoes", "sandals", "leather shoes"],
 "lamp": ["desk lamp", "floor lamp", "LED lamp"],
}
looks = ["red", "blue", "green", "black", "white"]
names = list(kinds)
center = {k: [random.gauss(0, 1) for _ in range(8)] for k in names}
rows = []
for i in range(200):
    k = names[i % 4]
    title = f"{random.choice(looks).capitalize()} {random.choice(kinds[k])}, size {random.randint(1, 9)}"
    v = [round(c + random.gauss(0, .45), 3) for c in center[k]]
    # One of ten items has a label; it is drawn so that every kind has five.
    label = k if (i // 4) % 10 == 3 else None
    rows.append((f"p{i:03}", title, label, v))
t = pa.table({
 "id": pa.array([r[0] for r in rows]),
 "title": pa.array([r[1] for r in rows]),
 "label": pa.array([r[2] for r in rows], pa.string()),
 "image_embedding": pa.array([r[3] for r in rows], pa.list_(pa.float32())),
})
import sys
pq.write_table(t, sys.argv[1], compression="snappy")
