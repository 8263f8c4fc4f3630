from __future__ import annotations

import pytest

from rollmill.declared.comparison import Comparison, Declarer, Value, listed, shown

CARD = Declarer("lab")


@pytest.mark.parametrize(
    ("declared", "observed", "verdict", "drifts"),
    [(4, 4, "equal", False), (4, 5, "differs", True), (4, None, "missing", True), (None, 4, "undeclared", True)],
)
def test_the_verdict_follows_from_the_values(declared: Value, observed: Value, verdict: str, drifts: bool) -> None:
    compared = CARD.compare("train.num_examples", declared, observed, "records")
    assert (compared.verdict, compared.drifts) == (verdict, drifts)


def test_what_is_close_or_was_not_checked_is_no_drift() -> None:
    assert not CARD.compare("f", 4, 5, "bytes", "close").drifts
    assert not CARD.compare("f", 4, None, "bytes", "unchecked").drifts


def test_a_sentence_names_source_file_field_and_both_values() -> None:
    assert (
        CARD.compare("train.num_examples", 4, 5, "records").sentence()
        == "lab: README.md declares train.num_examples = 4, the files hold 5 (records)."
    )
    assert "declares split train, the files hold none" in CARD.compare("split train", None, None, "splits").sentence()
    assert "does not declare x, the files hold 3" in CARD.compare("x", None, 3, "splits").sentence()


def test_text_of_a_card_is_escaped_and_cut() -> None:
    hostile = "\x1b[2Jtrain\n\u202eevil\ud800" + "x" * 10_000
    compared = CARD.compare(hostile, hostile, hostile, "records")
    assert compared == Comparison(
        "lab", shown(hostile), "README.md", shown(hostile), shown(hostile), "records", "equal"
    )
    assert compared.sentence().isprintable()
    assert len(compared.sentence()) < 500


def test_values_that_differ_beyond_the_cut_differ() -> None:
    assert CARD.compare("f", "x" * 500 + "a", "x" * 500 + "b", "type").verdict == "differs"


def test_a_few_values_are_listed() -> None:
    assert listed(["1", "2", "3"]) == "1, 2, 3"
    assert listed(["1", "2", "3", "4"]) == "1, 2, 3, … (4)"
