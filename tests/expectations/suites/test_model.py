from typing import Any

from rollmill.expectations import Check, Suite, suite_digest

NOT_NULL = Check("expect_column_values_to_not_be_null", {"column": "a"}, reason="empty_response")


def suite(*checks: Any, name: Any = "s") -> Any:
    return Suite(name, checks)


def test_digest_is_stable() -> None:
    assert suite_digest(suite(NOT_NULL)) == "4014d22292d3a243eea805571e2af58cc767da44f7a1857a4f84dd4c311de129"


def test_digest_covers_what_a_check_means() -> None:
    others = [
        Check("expect_column_values_to_be_null", {"column": "a"}, reason="empty_response"),
        Check(NOT_NULL.type, {"column": "b"}, reason="empty_response"),
        Check(NOT_NULL.type, {"column": "a"}, reason="reward_missing"),
        Check(NOT_NULL.type, {"column": "a"}, severity="warning", reason="empty_response"),
    ]
    assert len({suite_digest(suite(check)) for check in (NOT_NULL, *others)}) == 5


def test_digest_covers_the_order_and_not_the_name() -> None:
    other = Check("expect_column_values_to_be_null", {"column": "a"}, severity="info")
    assert suite_digest(suite(NOT_NULL, other)) != suite_digest(suite(other, NOT_NULL))
    assert suite_digest(suite(NOT_NULL)) == suite_digest(suite(NOT_NULL, name="t"))


def test_equal_checks_are_equal_values_whatever_the_order_of_their_arguments() -> None:
    one = Check("t", {"column": "a", "regex": "x"})
    other = Check("t", {"regex": "x", "column": "a"})
    assert one == other
    assert len({one, other}) == 1
