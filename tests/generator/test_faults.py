from __future__ import annotations

import math

import pytest

from rollmill.generator.faults import draw_records, draw_rows

KNOWN = ("empty_response", "reward_not_finite")


def test_no_record_is_spoiled_twice_and_all_can_be() -> None:
    drawn = draw_records({"empty_response": 6, "reward_not_finite": 4}, 10, 0, KNOWN)
    assert [record for _, record, _ in drawn] == list(range(10))
    assert sorted(form for reason, _, form in drawn if reason == "reward_not_finite") == [0, 1, 2, 3]


def test_positions_follow_from_the_seed() -> None:
    first, again, other = (draw_records({"empty_response": 5}, 1000, seed, KNOWN) for seed in (1, 1, 2))
    assert first == again != other


def test_rows_are_numbered_within_their_split() -> None:
    faults = draw_rows({"empty_response": 9}, [("a", 2), ("b", 3), ("c", 4)], 0, KNOWN)
    assert [(fault.split, fault.row) for fault in faults] == [
        *(("a", row) for row in range(2)),
        *(("b", row) for row in range(3)),
        *(("c", row) for row in range(4)),
    ]
    assert all(fault.rows == range(fault.row, fault.row + 1) for fault in faults)


def test_forms_come_in_turn() -> None:
    faults = draw_rows({"reward_not_finite": 4}, [("a", 4)], 0, KNOWN)
    values = [fault.value for fault in sorted(faults, key=lambda fault: fault.form)]
    assert math.isnan(values[0])
    assert values[1:3] == [math.inf, -math.inf]
    assert math.isnan(values[3])


def test_nothing_asked_for_is_nothing_spoiled() -> None:
    assert draw_records(None, 10, 0, KNOWN) == draw_records({"step_gap": 0}, 10, 0, KNOWN) == []


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"step_gap": 1}, "no such fault here: step_gap; there are empty_response, reward_not_finite"),
        ({"empty_response": 11}, "11 records to spoil: there are 10"),
        ({"empty_response": -1}, "-1 records to spoil"),
    ],
)
def test_what_can_not_be_done_is_refused(faults: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        draw_records(faults, 10, 0, KNOWN)
