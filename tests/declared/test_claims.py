from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollmill.declared import compare_plan
from rollmill.errors import DriftError
from rollmill.generator import write_act_prm
from tests.conftest import Mill, write_parquet

ROWS = {"prompt": ["a", "b"], "response": ["c", "d"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_parquet(tmp_path / "lab" / "train.parquet", ROWS)
    write_parquet(tmp_path / "lab" / "test.parquet", ROWS)
    return tmp_path / "lab"


def claiming(folder: Path, **claims: Any) -> dict[str, Any]:
    return {"uri": str(folder), "claims": claims}


def test_true_claims_stand_in_the_report(mill: Mill, folder: Path) -> None:
    claims = {"rows": 4, "rollouts": 4, "splits": 2, "rows_by_split": {"train": 2}, "columns": ["prompt"]}
    found = mill(claiming(folder, **claims)).report.declared_vs_observed
    assert {(c.file, c.verdict) for c in found} == {("the pipeline file", "equal")}
    assert [c.field for c in found] == [
        "claims.rows",
        "claims.rollouts",
        "claims.splits",
        "claims.rows_by_split.train",
        "claims.columns.prompt",
    ]


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"rows": 5}, "claims.rows = 5, the files hold 4 (records)"),
        ({"rows": 0}, "claims.rows = 0, the files hold 4 (records)"),
        ({"splits": 127}, "claims.splits = 127, the files hold 2 (splits)"),
        ({"rollouts": 3}, "claims.rollouts = 3, the files hold 4 (rollouts)"),
        ({"rows_by_split": {"test": 3}}, "claims.rows_by_split.test = 3, the files hold 2 (records)"),
        ({"rows_by_split": {"dev": 3}}, "claims.rows_by_split.dev = 3, the files hold none (records)"),
        ({"columns": ["reward"]}, "claims.columns.reward = reward, the files hold none (columns)"),
    ],
)
def test_a_false_claim_refuses_the_run_whatever_the_card(
    mill: Mill, folder: Path, claims: dict[str, Any], said: str
) -> None:
    with pytest.raises(DriftError) as caught:
        mill(claiming(folder, **claims))
    assert f"lab: the pipeline file declares {said}." in caught.value.message
    assert (caught.value.exit_code, caught.value.file) == (3, "the pipeline file")
    assert not (mill.root / "dest").exists()


def test_rollouts_of_several_steps_are_counted_once(mill: Mill, tmp_path: Path) -> None:
    folder = write_act_prm(tmp_path / "steps", scale=0.01, files=3)
    found = compare_plan(mill.plan(claiming(folder, rollouts=9, rows=102)), {})
    assert {c.verdict for c in found if c.field.startswith("claims")} == {"equal"}


def test_splits_of_configs_are_named_with_them(mill: Mill, folder: Path) -> None:
    (folder / "README.md").write_text("---\nconfigs: [{config_name: a, data_files: train.parquet}]\n---\n")
    found = compare_plan(mill.plan(claiming(folder, rows_by_split={"a/train": 2})), {})
    assert [c.verdict for c in found] == ["equal"]
