from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rollmill.errors import ConservationError, NothingToReadError, ShrinkError
from rollmill.publish import Counts
from rollmill.publish.checks import check_conservation, check_growth

if TYPE_CHECKING:
    from tests.publish.conftest import Mill


def test_whole_counts_pass(filled: Mill) -> None:
    check_conservation(filled.manifest())


def test_lost_records_are_noticed(filled: Mill) -> None:
    filled.counts["alpha"]["default"]["train_2"] = Counts(9, 2, 1, 0, 2)
    with pytest.raises(ConservationError, match=r"'train_2': 9 records in, but 3 accounted for"):
        check_conservation(filled.manifest())


def test_lost_rows_are_noticed(filled: Mill) -> None:
    filled.files.pop()
    with pytest.raises(ConservationError, match=r"'test': 4 rows written, but its files hold 0"):
        check_conservation(filled.manifest())


def test_a_file_of_no_split_is_noticed(filled: Mill) -> None:
    del filled.counts["owner/Beta"]
    with pytest.raises(ConservationError, match="no source has that split"):
        check_conservation(filled.manifest())


def test_a_file_listed_twice_is_noticed(filled: Mill) -> None:
    filled.files.append(filled.files[0])
    with pytest.raises(ConservationError, match="listed twice"):
        check_conservation(filled.manifest())


def test_an_empty_version_is_refused(mill: Mill) -> None:
    with pytest.raises(NothingToReadError):
        check_conservation(mill.manifest())


def test_many_losses_are_cut_short(mill: Mill) -> None:
    for number in range(13):
        mill.add("alpha", f"train_{number}", 1, start=number)
    parent = mill.manifest()
    with pytest.raises(ShrinkError, match="and 3 more"):
        check_growth(parent, replace(parent, sources=()))
    check_growth(parent, parent)
