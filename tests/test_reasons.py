from __future__ import annotations

import pytest

from rollmill.reasons import KEEPABLE, NOT_KEEPABLE, checked_keep, is_kept, joined, parted


def test_a_combination_is_parted_as_it_was_joined() -> None:
    assert parted(joined(["a", "b_c"])) == ["a", "b_c"]
    assert parted(joined(["a"])) == ["a"]


def test_a_record_is_kept_if_each_of_its_reasons_is() -> None:
    assert is_kept(["a", "b"], {"a", "b", "c"})
    assert not is_kept(["a", "b"], {"a"})
    assert not is_kept(["a"], ())


def test_codes_are_kept_or_not() -> None:
    assert not NOT_KEEPABLE.keys() & set(KEEPABLE)
    checked_keep([*KEEPABLE, "mine"], {"mine"})
    with pytest.raises(ValueError, match="mine"):
        checked_keep(["mine"], ())
