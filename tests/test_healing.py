"""A fixed rule, or a mended file, and a new run bring records back from quarantine; all other rows stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollmill.expectations import suites
from rollmill.expectations.suites import Check, Suite
from rollmill.generator import write_act_prm
from tests.conftest import Mill, Milled, write_parquet

LENGTH = "expect_column_value_lengths_to_be_between"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Two files; one record is bad by the built-in suite."""
    for number, answers in enumerate((["a", "bb", ""], ["ccc", "dddd"])):
        prompts = [f"{number}-{i}" for i in range(len(answers))]
        write_parquet(tmp_path / "lab" / f"train-{number}.parquet", {"prompt": prompts, "response": answers})
    return tmp_path / "lab"


def shorter_than(limit: int) -> dict[str, Any]:
    return {LENGTH: {"column": "response", "max_value": limit}, "reason": "too_long"}


def ids(milled: Milled) -> dict[tuple[str, int], dict[str, str]]:
    """The ids of published rows by file digest and row."""
    names = ["row_id", "rollout_id", "prompt_id", "content_id", "group_id"]
    rows = milled.rollouts().select([*names, "source_digest", "source_row"]).to_pylist()
    return {(row["source_digest"], row["source_row"]): {name: row[name] for name in names} for row in rows}


def grown(before: Milled, after: Milled, healed: int) -> None:
    """Assert that rows came back, that ids of the others did not move, and that a new version says so."""
    old, new = ids(before), ids(after)
    assert {place: new[place] for place in old} == old
    assert len(new) == len(old) + healed
    assert len(after.quarantined()) == len(before.quarantined()) - healed
    assert after.report.rows_published == before.report.rows_published + healed
    assert after.outcome.number == before.outcome.number + 1
    assert after.version.total.rows_in == before.version.total.rows_in


def test_a_rule_of_the_pipeline_file_that_is_fixed_brings_records_back(mill: Mill, lab: Path) -> None:
    strict = mill({"uri": str(lab), "expectations": [shorter_than(2)]})
    fixed = mill({"uri": str(lab), "expectations": [shorter_than(4)]})
    assert strict.report.reasons == {"empty_response": 1, "too_long": 2}
    assert fixed.report.reasons == {"empty_response": 1}
    grown(strict, fixed, 2)
    assert fixed.restored(lab.parent / "out.parquet", with_quarantine=True)[1].rows == 5


def test_a_built_in_rule_that_is_fixed_brings_records_back(
    mill: Mill, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(_: Any) -> Suite:
        return Suite(
            "prompt_response", (Check(LENGTH, {"column": "response", "min_value": 2}, reason="empty_response"),)
        )

    with monkeypatch.context() as patched:
        patched.setitem(suites.SUITES, "prompt_response", wrong)
        suites.known_suites.cache_clear()
        before = mill(lab)
    suites.known_suites.cache_clear()
    after = mill(lab)
    assert (before.report.reasons, after.report.reasons) == ({"empty_response": 2}, {"empty_response": 1})
    grown(before, after, 1)


def test_rollouts_come_back_whole(mill: Mill, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.01, faults={"step_gap": 1})
    long = {"expect_column_values_to_be_between": {"column": "timestep", "max_value": 9}, "reason": "rollout_long"}
    before = mill({"uri": str(folder), "expectations": [long]})
    after = mill(folder)
    healed = len(before.quarantined()) - len(after.quarantined())
    assert healed > 0
    assert {row["reason"] for row in after.quarantined()} == {"step_gap"}
    grown(before, after, healed)


def test_keeping_brings_records_back_flagged(mill: Mill, lab: Path) -> None:
    before = mill(lab)
    after = mill({"uri": str(lab), "keep": ["empty_response"]})
    grown(before, after, 1)


def test_a_mended_file_brings_its_record_back_and_moves_no_id_of_other_files(mill: Mill, lab: Path) -> None:
    before = mill(lab)
    write_parquet(lab / "train-0.parquet", {"prompt": ["0-0", "0-1", "0-2"], "response": ["a", "bb", "mended"]})
    after = mill(lab)
    assert (len(before.quarantined()), after.quarantined()) == (1, [])
    old, new = ids(before), ids(after)
    same = old.keys() & new.keys()
    assert len(same) == 2, "the rows of the other file"
    assert {place: new[place] for place in same} == {place: old[place] for place in same}
    assert len(new) == len(old) + 1
    contents = [{row["content_id"] for row in found.values()} for found in (old, new)]
    assert contents[0] < contents[1], "what was said keeps its id, wherever it stands"
