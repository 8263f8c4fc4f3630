"""What differs from what is declared: a warning, or with strict_card the end of the run, also where nothing is new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollmill.console import show_plan
from rollmill.declared.comparison import Declarer
from rollmill.declared.refusal import refuse_drift
from rollmill.errors import DriftError
from rollmill.flows.launch import unchanged
from rollmill.flows.survey import survey
from rollmill.generator import write_ppo_critic
from tests.conftest import Mill

STRICT = {"validation": {"strict_card": True}}
CARD = Declarer("critic")


@pytest.fixture
def critic(tmp_path: Path) -> Path:
    """A source of 12 splits whose card names one more."""
    folder = write_ppo_critic(tmp_path / "critic", scale=0.0002, splits=13)
    next((folder / "data").glob("train_3-*")).unlink()
    return folder


def test_a_missing_split_is_named_and_strictness_refuses(mill: Mill, critic: Path) -> None:
    warnings = mill(critic).report.warnings
    assert "critic: README.md declares splits = 13, the files hold 12 (splits)." in warnings
    (missing,) = [line for line in warnings if "train_3.num_examples" in line]
    assert "the files hold none" in missing
    with pytest.raises(DriftError, match=r"splits = 13, the files hold 12.*--strict-card") as caught:
        mill(critic, destination=str(mill.root / "other"), **STRICT)
    assert missing in caught.value.message
    assert not (mill.root / "other").exists()


def test_a_card_that_is_true_passes(mill: Mill, tmp_path: Path) -> None:
    report = mill(write_ppo_critic(tmp_path / "critic", scale=0.0002, splits=3), **STRICT).report
    assert {comparison.verdict for comparison in report.declared_vs_observed} == {"equal", "close"}


def test_bytes_that_only_validation_knows_refuse_before_publishing(mill: Mill, tmp_path: Path) -> None:
    folder = write_ppo_critic(tmp_path / "critic", scale=0.0002, splits=2)
    card = (folder / "README.md").read_text()
    (folder / "README.md").write_text(card.replace("num_bytes: ", "num_bytes: 9"))
    mill.plan(folder, **STRICT)
    with pytest.raises(DriftError, match="bytes as Arrow"):
        mill(folder, **STRICT)
    assert not (mill.root / "dest").exists()


def test_strictness_and_claims_hold_where_nothing_is_new(mill: Mill, critic: Path) -> None:
    mill(critic)
    same = unchanged(mill.pipeline(critic))
    assert same is not None
    assert any("train_3.num_examples" in warning for warning in same.warnings)
    assert any(comparison.verdict == "close" for comparison in same.declared_vs_observed), "sizes come from manifests"
    claiming: dict[str, Any] = {"uri": str(critic), "claims": {"splits": 13}}
    for pipeline in (mill.pipeline(critic, **STRICT), mill.pipeline(claiming)):
        with pytest.raises(DriftError) as caught:
            unchanged(pipeline)
        report = caught.value.report  # type: ignore[attr-defined]
        assert (report.verdict, report.error["kind"]) == ("refused", "drift")
        assert report.declared_vs_observed


def test_a_plan_shows_what_differs_and_that_it_would_be_refused(
    mill: Mill, critic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = survey(mill.pipeline(critic))
    assert any("train_3.num_examples" in line for line in found.drift)
    assert found.refusal is None
    show_plan(survey(mill.pipeline(critic, **STRICT)))
    said = capsys.readouterr().err.replace("\n", " ")
    assert "note critic: README.md declares splits = 13, the files hold 12 (splits)." in said
    assert "a run would be refused: What is declared differs" in said


def test_many_differences_are_cut_short() -> None:
    drift = [CARD.compare(f"s{i}.num_examples", i, None, "records") for i in range(300)]
    with pytest.raises(DriftError, match="And 280 more") as caught:
        refuse_drift(drift, strict_card=True)
    assert len(caught.value.message) < 3000
    refuse_drift(drift, strict_card=False)


def test_what_is_close_or_unchecked_refuses_nothing() -> None:
    refuse_drift(
        [CARD.compare("a", 1, 2, "b", "close"), CARD.compare("a", 1, None, "b", "unchecked")], strict_card=True
    )
