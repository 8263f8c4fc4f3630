import json

import pyarrow as pa
import pyarrow.parquet as pq

from rollmill.formats import JSON_TEXT_KEY, from_json, inspect, to_json


def test_an_inspection_survives_json(tmp_path):
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.parquet"
    lines.write_bytes(b'\xef\xbb\xbf{"a": [1], "b": "x"}\n')
    noted = pa.table({"a": range(10)}).replace_schema_metadata({"huggingface": '{"info": {}}'})
    pq.write_table(noted, table, row_group_size=4)
    for path in (lines, table):
        found = inspect(path, path.name)
        again = from_json(json.loads(json.dumps(to_json(found))))
        assert again == found
        assert again.schema.equals(found.schema, check_metadata=True)
    assert (inspect(lines, "a.jsonl").note, inspect(table, "a.parquet").note) == (None, '{"info": {}}')
    assert JSON_TEXT_KEY in from_json(to_json(inspect(lines, "a.jsonl"))).schema.field("a").metadata
