import polars as pl
import pytest

from rollmill.expectations.engine.metrics import sweep
from rollmill.expectations.engine.metrics.narrow import UnservedError
from rollmill.expectations.engine.metrics.projection import Projection
from rollmill.expectations.engine.metrics.texts import decided

FRAME = pl.DataFrame({"a": [1, 2, 3, 4], "t": ["x", "y" * 500, None, "z"]})


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnservedError, match=r"no column 'b'\. The columns are: a, t\."):
        Projection(FRAME.schema).require("b")


def test_an_expression_that_cannot_work_shows_before_any_record_is_read() -> None:
    with pytest.raises(UnservedError, match="look-around"):
        Projection(FRAME.schema).add("bad", pl.col("t").str.contains("(?=a)"))
    with pytest.raises(UnservedError, match="expected String type"):
        Projection(FRAME.schema).add("bad", pl.col("a").str.contains("a"))


def test_an_expression_that_fails_on_a_record_does_not_take_the_others_along_nor_quote_the_record() -> None:
    projection = Projection(FRAME.schema)
    projection.add("number", pl.col("t").cast(pl.Int64))
    projection.add("big", pl.col("a") > 2)
    narrow = projection.sweep([FRAME[:0], FRAME[2:3], FRAME[:2], FRAME[3:]])
    assert narrow.rows == 4
    assert narrow.column("big").to_list() == [True, False, False, True]
    with pytest.raises(UnservedError, match="records 1 to 2 of the stream") as caught:
        narrow.column("number")
    assert "x" not in str(caught.value).replace("expression", "")


def test_samples_are_the_first_failing_values_cut_short() -> None:
    projection = Projection(FRAME.schema)
    projection.add("all", pl.col("a") > 0)
    sample = projection.keep_sample("all", ("t",), 20)
    narrow = projection.sweep([FRAME] * 10)
    assert [row["t"] for row in narrow.samples[sample]] == ["x", "y" * 256, None, "z"] * 5


def test_no_batch_at_all() -> None:
    projection = Projection(FRAME.schema)
    projection.add("big", pl.col("a") > 2)
    tally = projection.tally("texts", pl.col("t"))
    narrow = projection.sweep([])
    assert narrow.column("big").to_list() == []
    assert narrow.tally(tally).height == 0


def test_values_are_counted_over_batches() -> None:
    projection = Projection(FRAME.schema)
    tally = projection.tally("numbers", pl.col("a").filter(pl.col("a") != 2))
    counts = projection.sweep([FRAME] * 3).tally(tally)
    assert dict(counts.rows()) == {1: 3, 3: 3, 4: 3}


def test_too_many_distinct_values_are_refused_and_take_nothing_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "TALLY_BYTES", 1 << 10)
    projection = Projection(FRAME.schema)
    few, many = projection.tally("few", pl.col("a") % 2), projection.tally("many", pl.col("a"))
    narrow = projection.sweep(pl.DataFrame({"a": range(i, i + 40), "t": ["x"] * 40}) for i in range(0, 400, 40))
    assert dict(narrow.tally(few).rows()) == {0: 200, 1: 200}
    with pytest.raises(UnservedError, match="Too many distinct values"):
        narrow.tally(many)


def test_a_python_function_that_fails_does_not_take_the_others_along() -> None:
    def good(value: str) -> bool:
        raise KeyError(value)

    projection = Projection(FRAME.schema)
    projection.add("big", pl.col("a") > 2)
    projection.add("good", decided(pl.col("t"), good))
    narrow = projection.sweep([FRAME])
    assert narrow.column("big").to_list() == [False, False, True, True]
    with pytest.raises(UnservedError, match="KeyError in records 0 to 3 of the stream"):
        narrow.column("good")
