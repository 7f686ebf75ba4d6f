//! What Milvus asks of a table, and the lines that take it in.

use super::contents::{Compared, Contents};
use crate::{Result, failed};

/// Longest text that Milvus holds, bytes.
const TEXT: usize = 65_535;

/// Fails for texts that Milvus cannot hold.
pub(super) fn check(contents: &Contents) -> Result<()> {
    for (row, item) in contents.items.iter().enumerate() {
        let texts = [
            Some(&item.id),
            item.label.as_ref(),
            item.pseudo_label.as_ref(),
        ];
        if texts.into_iter().flatten().any(|t| t.len() > TEXT) {
            return Err(failed(format!(
                "item {row} of the run has an id or a class of more than {TEXT} bytes, which Milvus \
                 cannot hold; shorten it"
            )));
        }
    }
    Ok(())
}

/// Lines of Python that make a collection of the file (its path as a text of Python), and search it.
pub(super) fn in_python(path: &str, dimensions: usize, compared: Compared) -> String {
    let [kind, index, metric, server, rows, query] = match compared {
        // Milvus Lite, which lives in a file, has no vectors of bits.
        Compared::Hamming => [
            "BINARY_VECTOR",
            "BIN_FLAT",
            "HAMMING",
            "\"http://localhost:19530\")",
            "[{**row, \"vector\": bytes(row[\"vector\"])} for row in batch.to_pylist()]",
            "queries[0].tobytes()",
        ],
        _ => [
            "FLOAT_VECTOR",
            "FLAT",
            match compared {
                Compared::Euclidean => "L2",
                Compared::InnerProduct => "IP",
                _ => "COSINE",
            },
            "\"milvus.db\")     # Milvus Lite; of a server \"http://localhost:19530\"",
            "batch.to_pylist()",
            "query",
        ],
    };
    // Codes are whole bytes.
    let dimensions = match compared {
        Compared::Hamming => dimensions.next_multiple_of(8),
        _ => dimensions,
    };
    format!(
        "import pyarrow.parquet as pq\n\
         from pymilvus import DataType, MilvusClient\n\
         schema = MilvusClient.create_schema()\n\
         schema.add_field(\"id\", DataType.VARCHAR, max_length={TEXT}, is_primary=True)\n\
         schema.add_field(\"vector\", DataType.{kind}, dim={dimensions})\n\
         for name in (\"label\", \"pseudo_label\", \"split\"):\n\
         \x20   schema.add_field(name, DataType.VARCHAR, max_length={TEXT})\n\
         schema.add_field(\"confidence\", DataType.FLOAT)\n\
         client = MilvusClient({server}\n\
         index = client.prepare_index_params()\n\
         index.add_index(\"vector\", index_type=\"{index}\", metric_type=\"{metric}\")\n\
         client.create_collection(\"items\", schema=schema, index_params=index, consistency_level=\"Strong\")\n\
         for batch in pq.ParquetFile({path}).iter_batches(1000):\n\
         \x20   client.upsert(\"items\", {rows})\n\
         client.search(\"items\", [{query}], limit=10)[0]"
    )
}
