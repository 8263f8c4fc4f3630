from __future__ import annotations

import dataclasses

from rollmill.dataset import DatasetCheck
from rollmill.expectations.told import lines

CUT = DatasetCheck("truncated_share", "warning", False, 0.34, at_most=0.2, source="lab", config="default", split="a")


def test_a_line_has_the_place_the_numbers_and_the_code() -> None:
    assert lines([CUT]) == ["lab, a: 34.0% of the rollouts were cut short; expected: at most 20.0%. (truncated_share)"]


def test_several_places_share_a_line_the_worst_first() -> None:
    checks = [dataclasses.replace(CUT, split=f"s{n}", observed=0.3 + n / 100) for n in range(9)]
    (line,) = lines(checks)
    assert line.startswith("lab, s8: 38.0% of the rollouts")
    assert "Also in s7, s6, s5, s4 and 4 more." in line


def test_sources_and_checks_have_lines_of_their_own() -> None:
    other = dataclasses.replace(CUT, source="b")
    jump = DatasetCheck("reward_jump", "warning", False, 12.34, at_most=8, source="lab", policy_step=41)
    low = DatasetCheck("value_correlation", "warning", False, 0.02, at_least=0.1, source="lab", split="x")
    lost = DatasetCheck("splits_lost", "warning", False, 1, at_most=0, source="lab", split="train_*")
    found = lines([CUT, other, jump, low, lost])
    assert len(found) == 5
    assert found[2] == (
        "lab, policy step 41: 12.3 times the usual change is that of the mean reward; expected: at most 8.0. "
        "(reward_jump)"
    )
    assert "0.02 is the correlation of value_pred and value_target; expected: at least 0.10." in found[3]
    assert found[4] == ("lab, train_*: 1 numbers are missing in the sequence of splits; expected: none. (splits_lost)")


def test_what_is_fine_or_only_information_has_no_line() -> None:
    fine = dataclasses.replace(CUT, success=True)
    info = dataclasses.replace(CUT, check="hidden_observations", severity="info")
    assert lines([fine, info]) == []
