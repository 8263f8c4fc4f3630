import polars as pl
import pytest

from rollmill.expectations.engine.metrics.ending import last_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The value is \\boxed{0.85}.", 0.85),
        ("\\boxed{1} then \\boxed{ -2.5 } of 7", -2.5),
        ("\\boxed{no idea} 7", 7.0),
        ("\\boxed{0.", 0.0),
        ("12 and 3.5", 3.5),
        ("so -5", -5.0),
        ("x = +4\n\n", 4.0),
        ("between 3-5", 5.0),
        ("f(2)-1", 1.0),
        ("1,234.5 points", 1234.5),
        ("1, 2, 3", 3.0),
        ("about 50%", 50.0),
        ("1e-3 or so", 0.001),
        (".5", 0.5),
        ("3.", 3.0),
        ("x" * 10_000 + " 42 " + "y" * 10_000, 42.0),
        ("none", None),
        ("", None),
        (None, None),
    ],
)
def test_the_last_number(text: str | None, number: float | None) -> None:
    frame = pl.DataFrame({"t": [text]}, schema={"t": pl.String})
    assert frame.select(last_number(pl.col("t"))).item() == number
