from __future__ import annotations

import importlib

from rollmill.expectation_names import EXPECTATIONS, looks_at_records


def test_the_names_are_those_of_great_expectations_and_our_own() -> None:
    import rollmill.expectations.validate  # noqa: F401  (registers our own, and imports the others without noise)

    registry = importlib.import_module("great_expectations.expectations.registry")
    registered = [name for name in registry.list_registered_expectation_implementations() if name.startswith("expect_")]
    assert set(registered) == EXPECTATIONS


def test_which_look_at_records_is_told_by_the_name() -> None:
    from great_expectations.expectations.registry import get_expectation_impl

    from rollmill.expectations.engine.convert import is_row_level

    kinds = {name: get_expectation_impl(name) for name in EXPECTATIONS}
    judged = {name for name, kind in kinds.items() if is_row_level(kind.construct())}
    assert judged == set(filter(looks_at_records, EXPECTATIONS))
