import polars as pl
import pytest

from rollmill.expectations.engine.narrow import Projection, UnservedError

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
    projection.keep_sample("all", ("t",))
    narrow = projection.sweep([FRAME] * 10)
    assert narrow.samples["all"] == ["x", "y" * 256, None, "z"] * 5


def test_no_batch_at_all() -> None:
    projection = Projection(FRAME.schema)
    projection.add("big", pl.col("a") > 2)
    assert projection.sweep([]).column("big").to_list() == []
