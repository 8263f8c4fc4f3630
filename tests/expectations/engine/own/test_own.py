"""Our own expectations, judged and shown as the stock ones are."""

from __future__ import annotations

from typing import Any

import great_expectations as gx
import polars as pl
import pytest
from great_expectations.checkpoint.actions import UpdateDataDocsAction
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.row_conditions import Column

from rollmill.expectations.engine.own import OWN
from tests.expectations.engine.test_served import judged

ENDS = "column_pair_values_a_to_end_in_number_b"
NAN = float("nan")
CRITIC = pl.DataFrame(
    {
        "response": ["so \\boxed{0.5}", "0.25 it is", "no number", None, "1", "0.7", "0.1"],
        "pred": [0.5, 0.26, 0.0, 0.3, None, NAN, 0.10001],
    }
)
PAIR: Any = {"column_A": "response", "column_B": "pred"}


def test_an_answer_ends_in_its_number() -> None:
    found = judged(ENDS, frame=CRITIC, **PAIR)
    assert found.result["unexpected_index_list"] == [1, 2, 6]
    assert (found.result["missing_count"], found.result["unexpected_percent"]) == (3, 75.0)
    assert judged(ENDS, frame=CRITIC, tolerance=0.001, **PAIR).result["unexpected_index_list"] == [1, 2]
    found = judged(ENDS, frame=CRITIC, tolerance=0.02, no_number="pass", **PAIR)
    assert (found.success, found.result["unexpected_index_list"]) == (True, [])
    assert judged(ENDS, frame=CRITIC, tolerance=0.001, mostly=0.5, **PAIR).success is True


def test_a_number_is_needed() -> None:
    found = judged(ENDS, frame=CRITIC, column_A="response", column_B="response")
    assert "not a number" in str(found.exception_info)


@pytest.mark.parametrize(("frame", "success"), [(CRITIC, True), (CRITIC.clear(), False)])
def test_a_table_has_rows(frame: pl.DataFrame, *, success: bool) -> None:
    found = judged("table_to_have_rows", frame=frame)
    assert (found.success, found.result["observed_value"]) == (success, frame.height)


def test_a_table_has_rows_under_a_condition() -> None:
    assert judged("table_to_have_rows", frame=CRITIC, row_condition=(Column("pred") > 5).dict()).success is False


def test_they_say_in_words_what_they_expect() -> None:
    made: list[Any] = [
        OWN[0](column="score", mostly=0.9),
        OWN[1](**PAIR, tolerance=0.1),
        OWN[2](row_condition=Column("pred") > 5),
    ]
    sentences = []
    for one in made:
        one.render()
        content = one.rendered_content[0].value
        params = {name: param["value"] for name, param in content.params.items()}
        text = content.template
        for name in sorted(params, key=len, reverse=True):
            text = text.replace(f"${name}", str(params[name]))
        sentences.append(text)
    assert sentences == [
        "Numbers in score must be neither NaN nor infinite, at least 90 % of the time.",
        "The last number in response must equal pred, give or take 0.1.",
        "If pred > 5, then There must be rows.",  # what stock ones say, too
    ]


def test_data_docs_show_their_sentences(tmp_path: Any) -> None:
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_polars("s").add_frame_asset("a")
    suite = context.suites.add(gx.ExpectationSuite("own"))
    for expectation in (OWN[0](column="pred"), OWN[1](**PAIR), OWN[2](row_condition=Column("pred") > 5)):
        suite.add_expectation(expectation)
    whole = asset.add_batch_definition_whole_dataframe("b")
    definition = context.validation_definitions.add(gx.ValidationDefinition(name="v", data=whole, suite=suite))
    docs = UpdateDataDocsAction(name="docs")
    point = context.checkpoints.add(gx.Checkpoint(name="c", validation_definitions=[definition], actions=[docs]))
    assert point.run({"dataframe": CRITIC}).success is False
    (page,) = (tmp_path / "gx" / "uncommitted" / "data_docs").rglob("validations/**/*.html")
    html = page.read_text()
    for words in ("must be neither NaN nor infinite", "then there must be rows.", "The last number in"):
        assert words in html
