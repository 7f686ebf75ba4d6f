"""Writes the files of this folder with the public Python libraries (numpy, scipy, pyarrow,
safetensors), so that the readers are tested against what those really write.

    python3 make.py
"""

import gzip
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from safetensors.numpy import save_file

# 5 items of 3 dimensions: small whole numbers and halves, exact in every float type.
X = np.arange(15).reshape(5, 3) * 0.5 - 2
Z = np.arange(10).reshape(5, 2) + 1
y = np.array([0, 1, -1, 1, 0])
names = np.array(["rose", "fern"])
ids = np.array(["a", "b", "ü", "d", "e"])

for descr in ["<f2", "<f4", "<f8", ">f4", ">f8"]:
    np.save("x_" + descr.replace("<", "le_").replace(">", "be_") + ".npy", X.astype(descr))
np.save("x_fortran.npy", np.asfortranarray(X.astype("f4")))
np.save("x_fortran_be.npy", np.asfortranarray(X.astype(">f8")))
for descr in ["|i1", "<i2", ">i2", "<i4", "<i8", "|u1", "<u2", ">u4", "<u8"]:
    np.save("z_" + descr.replace("<", "le_").replace(">", "be_").replace("|", "") + ".npy", Z.astype(descr))
np.save("bool.npy", np.array([[True, False], [False, True]]))
np.save("object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
np.save("record.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
np.save("labels_float.npy", np.array([0, 1, np.nan, 1, 0]))
np.save("labels_fraction.npy", np.array([0, 1.5, np.nan, 1, 0]))
np.save("labels_U.npy", np.array(["rose", "fern", "", "fern", "rose"]))
np.save("labels_S.npy", np.array([b"rose", b"fern", b"", b"fern", b"rose"]))
np.save("labels_be_U.npy", np.array(["rose", "fern", "", "fern", "rose"]).astype(">U4"))

arrays = dict(a=X.astype("f4"), b=np.asfortranarray(Z), label=y, classes=names, ids=ids,
              split=np.array(["train", "train", "train", "test", "test"]), index=np.array([0, 3]),
              other=np.ones((2, 2)))
np.savez("stored.npz", **arrays)
np.savez_compressed("compressed.npz", **arrays)
np.savez("parts.npz", x_train=X[:3], x_test=X[3:], y_train=y[:3], y_test=y[3:])

graph = sp.csr_array(np.array([[0, .5, 0], [.5, 0, .25], [0, .25, 0]]))
sp.save_npz("graph_f64.npz", graph)
sp.save_npz("graph_csc_f32.npz", graph.astype("f4").tocsc(), compressed=False)
sp.save_npz("graph_coo.npz", graph.tocoo())

table = pa.table({
    "id": pa.array(ids.tolist()),
    "label": pa.array(["rose", "fern", None, "fern", "rose"]).dictionary_encode(),
    "split": ["train", "train", "train", "test", "test"],
    "p": pa.array(Z[:, 0], pa.int64()), "q": pa.array(Z[:, 1], pa.uint8()),
    "h": pa.array(X[:, 0].astype("f2"), pa.float16()), "t": pa.array([True, False] * 2 + [True]),
    "fixed": pa.array([row for row in X.astype("f4").tolist()], pa.list_(pa.float32(), 3)),
    "list": pa.array([None, *X[1:3].tolist(), None, X[4].tolist()], pa.list_(pa.float64())),
    "note": ["x"] * 5,
})
for codec in ["none", "snappy", "zstd", "gzip", "brotli", "lz4"]:
    pq.write_table(table, f"table_{codec}.parquet", compression=codec, row_group_size=2)
pq.write_table(pa.table({"id": pa.array([7, 8, 9]), "label": pa.array([1.0, None, 2.0]), "x": pa.array([1., None, 3.])}),
               "null.parquet")
pq.write_table(pa.table({"v": pa.array([[1., 2.], [3.]])}), "ragged.parquet")
pq.write_table(pa.table({"when": pa.array([1, 2], pa.timestamp("ns")), "s": pa.array([{"a": 1, "b": 2}] * 2)}), "odd.parquet")

save_file({"a": X.astype("f4"), "b": X.astype("f2"), "z": Z.astype("i4"), "label": y, "index": np.array([1, 2]),
           "other": np.ones((4, 2), "f4")}, "tensors.safetensors")
# bfloat16, which numpy does not have: the upper half of each f32.
half = (X.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
header = ('{"a":{"dtype":"BF16","shape":[5,3],"data_offsets":[0,%d]}}' % len(half)).encode()
header += b" " * (-len(header) % 8)
open("bf16.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + half)

pixels = (np.arange(24, dtype="u1") * 10).reshape(6, 2, 2)
for name, part, labels in [("train", pixels[:4], [3, 1, 3, 0]), ("t10k", pixels[4:], [1, 0])]:
    head = struct.pack(">4B3I", 0, 0, 8, 3, *part.shape)
    with open(f"mnist/{name}-images-idx3-ubyte.gz", "wb") as f:
        f.write(gzip.compress(head + part.tobytes(), mtime=0))
    with open(f"mnist/{name}-labels-idx1-ubyte.gz", "wb") as f:
        f.write(gzip.compress(struct.pack(">4BI", 0, 0, 8, 1, len(labels)) + bytes(labels), mtime=0))
open("pixels.idx", "wb").write(struct.pack(">4B3I", 0, 0, 8, 3, *pixels.shape) + pixels.tobytes())
open("shorts-idx2-short.idx", "wb").write(struct.pack(">4B2I", 0, 0, 0x0b, 2, 5, 2) + Z.astype(">i2").tobytes())

# What pandas and hasty scripts leave behind: arrays of objects, rows of zeros and a one,
# labels of one part only, very long words, floats as labels, the index of a frame.
words = {"split": ["train", "test", "train", "test", "test"], "id": list("vwxyz"),
         "label": ["rose", "fern", None, "fern", "rose"], "classes": ["rose", "fern"]}
for name, values in words.items():
    np.savez(f"object_{name}.npz", **({"a": X, "label": y} | {name: np.array(values, dtype=object)}))
np.savez("onehot.npz", a=X, label=np.eye(3, dtype="i4")[[0, 1, 2, 1, 0]])
np.savez("parts_some.npz", x_train=X[:3], x_test=X[3:], y_train=y[:3])
np.savez_compressed("long_word.npz", a=X, label=np.array(["a" * 20000, "b", "", "b", "b"]))
save_file({"a": X.astype("f4"), "label": np.array([0, 1, np.nan, 1, 0], "f4")}, "float.safetensors")
frame = {"f": pa.array(X[:, 0]), "class": ["rose", "fern", None, "fern", "rose"],
         "__index_level_0__": pa.array([4, 2, 0, 1, 3]), "g": pa.array(X[:, 1])}
pq.write_table(pa.table(frame), "frame.parquet", compression="none")

# A spreadsheet as people keep it: a title, names below it, dates, truth values, an error, a gap, a
# note at the side, a second sheet, and a hidden one before them.
import datetime
import openpyxl

book = openpyxl.Workbook()
book.active.title = "Secret"
book.active.append(["hidden"])
book.active.sheet_state = "hidden"
sheet = book.create_sheet("Stock")
sheet.append(["Stock of May"])
sheet.append([])
sheet.append(["id", "price", "colour", "since", "new", "label"])
for i, (price, colour) in enumerate([(1.5, "red"), (2, "blue"), (None, "red"), (4, "blue"), (3.5, "red"), ("#N/A", "blue")]):
    day = datetime.date(2024, 1, 30) + datetime.timedelta(days=i)
    sheet.append([f"ü{i}", price, colour, day, i % 2 == 0, ["a & b", "c"][i % 2]])
for row in sheet.iter_rows(min_row=4, min_col=4, max_col=4):
    row[0].number_format = "dd.mm.yyyy"
sheet["I5"] = "checked by me"
book.create_sheet("Notes")
book.active = 1
book.save("stock.xlsx")

# Indexes of faiss, whose bytes ours must be.
import faiss

x = np.array([[1, 2], [3, 4], [0.5, -1]], "f4")
codes = np.array([[1, 2], [3, 4], [255, 0]], "u1")
numbers = np.array([5, 7, 9])
for name, index in [("ip", faiss.IndexFlatIP(2)), ("l2", faiss.IndexFlatL2(2))]:
    index.add(x)
    faiss.write_index(index, f"faiss/{name}.faiss")
index = faiss.IndexIDMap(faiss.IndexFlatIP(2))
index.add_with_ids(x, numbers)
faiss.write_index(index, "faiss/ip-map.faiss")
index = faiss.IndexBinaryFlat(16)
index.add(codes)
faiss.write_index_binary(index, "faiss/binary.faiss")
index = faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(16))
index.add_with_ids(codes, numbers)
faiss.write_index_binary(index, "faiss/binary-map.faiss")
