import gzip
import json
import math
import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollmill.errors import FileRefusedError
from rollmill.formats import JSON_TEXT_KEY, Reject, inspect, lines, read

MIB = 1 << 20


def write(tmp_path, body, name="a.jsonl"):
    path = tmp_path / name
    path.write_bytes(body if isinstance(body, bytes) else "".join(json.dumps(row) + "\n" for row in body).encode())
    return path


def zstd(body):
    return pa.compress(body, "zstd", asbytes=True)


def load(path, **options):
    """Give the values as JSON would have them, the record numbers, the rejects and the inspection."""
    found = inspect(path, path.name)
    rows, numbers = [], []
    rejects: list[Reject] = []
    for records in read(path, path.name, found, **options):
        assert records.data.schema.equals(found.schema, check_metadata=True)
        records.data.validate(full=True)
        assert len(records.rows) == records.data.num_rows
        texts = {field.name for field in found.schema if JSON_TEXT_KEY in (field.metadata or {})}
        rows += [
            {k: json.loads(v) if k in texts and v is not None else v for k, v in row.items()}
            for row in records.data.to_pylist()
        ]
        numbers += records.rows.to_pylist()
        rejects += records.rejects
    assert found.rows == len(rows) + len(rejects)
    assert sorted(numbers + [reject.row for reject in rejects]) == list(range(found.rows))
    return rows, numbers, rejects, found


def types(path):
    schema = inspect(path, path.name).schema
    return {f.name: "json" if JSON_TEXT_KEY in (f.metadata or {}) else str(f.type) for f in schema}


def test_each_column_has_one_type_over_the_whole_file(tmp_path):
    path = write(
        tmp_path,
        [
            {"n": None, "b": True, "i": 1, "f": 0.5, "m": 1, "s": "x", "l": [1], "x": 1, "big": 2**64, "bi": 1},
            {
                "late": 1,
                "n": None,
                "b": None,
                "i": -(2**63),
                "f": 1.5,
                "m": 0.25,
                "s": "1",
                "l": [],
                "x": "1",
                "bi": True,
            },
        ],
    )
    assert types(path) == {
        "n": "null",
        "b": "bool",
        "i": "int64",
        "f": "double",
        "m": "double",
        "s": "string",
        "l": "json",
        "x": "json",
        "big": "json",
        "bi": "json",
        "late": "int64",
    }


def test_integers_are_exact_at_any_size(tmp_path):
    values = [2**53 + 1, 2**64 - 1, None, -(10**40)]
    rows, *_ = load(write(tmp_path, [{"seed": value} for value in values]))
    assert [row["seed"] for row in rows] == values


def test_integers_among_floats_become_floats_only_if_exact(tmp_path):
    assert types(write(tmp_path, [{"a": 2**60}, {"a": 0.5}])) == {"a": "double"}
    path = write(tmp_path, [{"a": 2**53 + 1}, {"a": 0.5}])
    assert types(path) == {"a": "json"}
    assert [row["a"] for row in load(path)[0]] == [2**53 + 1, 0.5]


def test_text_is_never_parsed(tmp_path):
    words = ["2021-03-04", "1999-12-31 23:59:59", "null", "NaN", "1", "true", "", " 0.5 "]
    rows, *_ = load(write(tmp_path, [{"a": word} for word in words]))
    assert [row["a"] for row in rows] == words


def test_floats_are_those_of_json_loads(tmp_path):
    rows, *_ = load(write(tmp_path, b'{"a":NaN}\n{"a":-Infinity}\n{"a":-0.0}\n{"a":1e400}\n{"a":0.1}\n'))
    values = [row["a"] for row in rows]
    assert math.isnan(values[0])
    assert values[1:] == [-math.inf, 0.0, math.inf, 0.1]
    assert math.copysign(1, values[2]) == -1


def test_nested_values_are_compact_text_in_the_order_of_the_source(tmp_path):
    path = write(tmp_path, b'{"a": {"z": 1, "b": ["\\u00e9", {}, 1.0, null]}}\n')
    (records,) = read(path, "a.jsonl", inspect(path, "a.jsonl"))
    assert records.data.column("a").to_pylist() == ['{"z":1,"b":["é",{},1.0,null]}']


def test_bom_crlf_and_blank_lines_are_no_records(tmp_path):
    body = b'\xef\xbb\xbf{"a":"1"}\r\n\r\n   \r\n{"a":"x\\r\\ny \xe2\x80\xa8"}\r\n\n{"a":"3"}'
    rows, numbers, rejects, found = load(write(tmp_path, body))
    assert [row["a"] for row in rows] == ["1", "x\r\ny \u2028", "3"]
    assert (numbers, rejects, found.counts) == ([0, 1, 2], [], {"bom_stripped": 1})


def test_half_surrogate_pairs_are_replaced_and_counted_by_cell(tmp_path):
    body = (
        rb'{"a": "ok \ud83c\udf78", "b": [["\\ud83c"]]}' + b"\n"
        rb'{"a": "cut \ud83c end \udf78", "b": [{"\ud800k": "\udfff"}]}' + b"\n"
    )
    rows, _, _, found = load(write(tmp_path, body))
    assert rows[0] == {"a": "ok \U0001f378", "b": [["\\ud83c"]]}
    assert rows[1] == {"a": "cut \ufffd end \ufffd", "b": [{"\ufffdk": "\ufffd"}]}
    assert found.counts == {"surrogates_replaced": 2}


def test_a_key_that_comes_twice_with_different_values_puts_the_record_aside(tmp_path):
    body = (
        b'{"r":1.0,"r":0.0}\n{"r":1,"r":1}\n{"r":1,"n":{"k":[1],"k":[2]}}\n{"r":1,"r":1.0}\n{"r":1,"r":true}\n'
        rb'{"r":1,"\ud800":1,"\udfff":2}' + b'\n{"r":NaN,"r":NaN}\n{"r":2,"n":{"k":{"a":1,"b":2},"k":{"b":2,"a":1}}}\n'
    )
    rows, numbers, rejects, _ = load(write(tmp_path, body))
    assert numbers == [1, 6, 7]
    assert {reject.reason for reject in rejects} == {"duplicate_key"}
    assert rows[2]["n"] == {"k": {"b": 2, "a": 1}}


def test_bad_lines_are_put_aside_whole_with_line_and_offset(tmp_path):
    body = b'{"a":1}\n\nnot json\n[1]\n7\n{"a":"\xff"}\n{"a":2}\n{"a":3,"b'
    rows, numbers, rejects, _ = load(write(tmp_path, body))
    assert ([row["a"] for row in rows], numbers) == ([1, 2], [0, 5])
    assert [(r.row, r.reason, r.raw, r.raw_kind) for r in rejects] == [
        (1, "bad_json", b"not json\n", "line"),
        (2, "bad_json", b"[1]\n", "line"),
        (3, "bad_json", b"7\n", "line"),
        (4, "invalid_utf8", b'{"a":"\xff"}\n', "line"),
        (6, "bad_json", b'{"a":3,"b', "line"),
    ]
    assert "line 3 (byte offset 9)" in rejects[0].detail
    assert "an array" in rejects[1].detail
    assert f"line 8 (byte offset {body.rindex(b'{')})" in rejects[4].detail


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 600 + b"1" + b"}" * 600, b'{"a":' + b"9" * 5000 + b"}"])
def test_what_the_parser_can_not_hold_is_put_aside(tmp_path, body):
    rows, _, rejects, _ = load(write(tmp_path, b'{"a":1}\n' + body + b"\n"))
    assert (len(rows), [reject.reason for reject in rejects]) == (1, ["bad_json"])


def test_deep_but_bearable_nesting_is_kept(tmp_path):
    value: object = 1
    for _ in range(200):
        value = [value]
    rows, *_ = load(write(tmp_path, [{"a": value}]))
    assert rows == [{"a": value}]


def test_a_line_above_the_ceiling_is_put_aside_in_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LINE_CEILING", 4 * MIB)
    body = b'{"a":1}\n{"a":"' + b"x" * (40 * MIB) + b'"}\n{"a":2}\n'
    path = write(tmp_path, body)
    tracemalloc.start()
    rows, numbers, (reject,), _ = load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ([row["a"] for row in rows], numbers) == ([1, 2], [0, 2])
    assert reject.reason == "bad_json"
    assert str(40 * MIB + 9) in reject.detail
    assert len(reject.raw) == MIB
    assert peak < 12 * MIB


def test_a_long_line_below_the_ceiling_is_a_record(tmp_path):
    text = "step " * 500_000
    rows, *_ = load(write(tmp_path, [{"a": "x"}, {"a": text}]))
    assert rows[1]["a"] == text


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "a.jsonl.gz"), (zstd, "a.jsonl.zst")])
class TestCompressed:
    def test_all_members_and_frames_are_read(self, tmp_path, pack, name):
        body = pack(b'{"a":1}\n{"a"') + pack(b"") + pack(b":2}\n") + pack(b'{"a":3}')
        path = write(tmp_path, body, name)
        assert [row["a"] for row in load(path)[0]] == [1, 2, 3]
        reader = read(path, name, inspect(path, name))
        list(reader)
        assert reader.bytes_read == len(body)

    @pytest.mark.parametrize("cut", [5, 1000, -9, -1])
    def test_a_cut_stream_is_refused(self, tmp_path, pack, name, cut):
        body = pack("".join(json.dumps({"a": i * 2654435761 % 2**32}) + "\n" for i in range(3000)).encode())
        with pytest.raises(FileRefusedError, match=f"{name} is truncated"):
            inspect(write(tmp_path, body[:cut], name), name)

    def test_a_cut_after_a_whole_member_is_refused(self, tmp_path, pack, name):
        one = pack(b'{"a":1}\n' * 1000)
        with pytest.raises(FileRefusedError, match="truncated"):
            inspect(write(tmp_path, one + one[:-5], name), name)

    def test_junk_behind_the_stream_is_refused_with_why(self, tmp_path, pack, name):
        with pytest.raises(FileRefusedError, match="damaged"):
            inspect(write(tmp_path, pack(b'{"a":1}\n') + b"junkjunkjunk", name), name)


def test_a_damaged_gzip_is_refused(tmp_path):
    body = bytearray(
        gzip.compress("".join(json.dumps({"a": i * 2654435761 % 2**32}) + "\n" for i in range(3000)).encode())
    )
    body[5000:5004] = b"XXXX"
    with pytest.raises(FileRefusedError, match="damaged"):
        inspect(write(tmp_path, bytes(body), "a.jsonl.gz"), "a.jsonl.gz")


def test_records_without_any_key_still_count(tmp_path):
    path = write(tmp_path, b"{}\n{}\n")
    (records,) = read(path, "a.jsonl", inspect(path, "a.jsonl"))
    assert (records.data.num_rows, records.rows.to_pylist()) == (2, [0, 1])


def test_batches_hold_about_the_bytes_asked_for(tmp_path):
    path = write(tmp_path, [{"a": "x" * 1000}] * 100)
    found = inspect(path, "a.jsonl")
    sizes = [records.data.nbytes for records in read(path, "a.jsonl", found, batch_bytes=10_000)]
    assert len(sizes) > 10
    assert max(sizes) <= 10_000
    assert len(list(read(path, "a.jsonl", found, batch_bytes=1))) == 100


def test_a_range_without_the_one_group_is_empty(tmp_path):
    path = write(tmp_path, [{"a": 1}])
    found = inspect(path, "a.jsonl")
    assert len(found.groups) == 1
    assert list(read(path, "a.jsonl", found, 1)) == []
    assert list(read(path, "a.jsonl", found, 0, 0)) == []


@pytest.mark.parametrize("later", [b'{"a":1}\n', b'{"a":1}\n{"b":2}\n', b'{"a":1}\n{"a":"x"}\n', b'{"a":1}\n' * 3])
def test_a_file_that_changed_since_its_inspection_is_refused(tmp_path, later):
    path = write(tmp_path, [{"a": 1}, {"a": 2}])
    found = inspect(path, "a.jsonl")
    path.write_bytes(later)
    with pytest.raises(FileRefusedError, match="changed while reading"):
        list(read(path, "a.jsonl", found))


def test_keys_that_are_data_are_refused(tmp_path):
    path = write(tmp_path, [{f"id-{i}": 1} for i in range(10_002)])
    with pytest.raises(FileRefusedError, match="different keys"):
        inspect(path, "a.jsonl")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
json_rows = st.lists(st.dictionaries(st.sampled_from(["a", "b", "é"]), json_values, max_size=3), min_size=1, max_size=8)


@given(json_rows, st.booleans(), st.integers(1, 200))
def test_what_is_read_is_what_was_written(tmp_path_factory, rows, ascii_only, batch_bytes):
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows), "utf-8", newline="")
    got, numbers, rejects, _ = load(path, batch_bytes=batch_bytes)
    assert (numbers, rejects) == (list(range(len(rows))), [])
    for row, expected in zip(got, rows, strict=True):
        assert row == {**dict.fromkeys(row), **expected}
