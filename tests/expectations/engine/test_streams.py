"""Files and lazy frames as streams: every record once, in order, and only what is asked for in memory."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.expectations.engine import streams
from rollmill.expectations.engine.streams import ArrowStream, LazyStream, ParquetStream, as_stream
from rollmill.expectations.stream import Frames

FRAME = pl.DataFrame(
    {"n": range(1000), "text": [f"t{i}" for i in range(1000)], "odd": [i % 2 == 1 for i in range(1000)]}
)


def written(folder: Path, kind: str) -> Any:
    """Give the frame as a stream over two files with many row groups or record batches."""
    paths = (folder / "a", folder / "b")
    halves = (FRAME[:301].to_arrow(), FRAME[301:].to_arrow())
    for path, table in zip(paths, halves, strict=True):
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=70)
            continue
        opened = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with opened(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=70)
    return ParquetStream(paths) if kind == "parquet" else ArrowStream(paths)


@pytest.fixture(params=["parquet", "file", "stream", "lazy", "frame"])
def stream(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "lazy":
        return as_stream(FRAME.lazy())
    return as_stream(FRAME) if request.param == "frame" else written(tmp_path, request.param)


def test_every_iteration_gives_all_records_in_order(stream: Any) -> None:
    assert stream.schema == FRAME.schema
    for _ in range(2):
        assert pl.concat(stream, rechunk=True).equals(FRAME)


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_only_the_columns_asked_for_are_read(kind: str, tmp_path: Path) -> None:
    pruned = written(tmp_path, kind).only(["odd"])
    assert pruned.schema == {"odd": pl.Boolean}
    assert [batch.columns for batch in pruned] == [["odd"]] * len(list(pruned))
    assert LazyStream(FRAME.lazy()).only(["odd"]).schema == {"odd": pl.Boolean}


def test_row_groups_are_read_in_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = written(tmp_path, "parquet")
    monkeypatch.setattr(streams, "SPAN_BYTES", 1)
    assert [batch.height for batch in stream] == [70] * 4 + [21] + [70] * 9 + [69]
    assert pl.concat(stream, rechunk=True).equals(FRAME)


def test_a_file_without_records_is_passed_over(tmp_path: Path) -> None:
    FRAME.clear().write_parquet(tmp_path / "none.parquet")
    assert list(ParquetStream((tmp_path / "none.parquet",))) == []


def test_a_stream_is_taken_as_it_is() -> None:
    given = Frames(FRAME.schema, [FRAME])
    assert as_stream(given) is given
    with pytest.raises(TypeError, match="A dict can't be judged: give a Polars LazyFrame"):
        as_stream({})


CHILD = """
import json, resource, sys
from pathlib import Path
from rollmill.expectations.engine.streams import ParquetStream
rows = sum(batch.height for batch in ParquetStream((Path(sys.argv[1]),)))
print(json.dumps([rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]))
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_large_file_is_never_whole_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    table = pa.table({"text": [f"{i:08}" * 2500 for i in range(1000)]})
    with pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=False) as writer:
        for _ in range(100):
            writer.write_table(table)
    peaks = {}
    for small in (True, False):
        given = path
        if small:
            given = tmp_path / "small.parquet"
            pq.write_table(table, given)
        done = subprocess.run([sys.executable, "-c", CHILD, str(given)], capture_output=True, text=True, check=True)
        rows, peaks[small] = json.loads(done.stdout)
        assert rows == (1000 if small else 100_000)
    assert peaks[False] - peaks[True] < 600  # of 2,000 MB of text
