"""The expectations that Rollmill adds to those of Great Expectations: importing this registers them."""

from __future__ import annotations

from typing import Final

from rollmill.expectations.engine.own.end_number import ExpectColumnPairValuesAToEndInNumberB
from rollmill.expectations.engine.own.finite import ExpectColumnValuesToBeFinite
from rollmill.expectations.engine.own.nonempty import ExpectTableToHaveRows

__all__ = [
    "OWN",
    "ExpectColumnPairValuesAToEndInNumberB",
    "ExpectColumnValuesToBeFinite",
    "ExpectTableToHaveRows",
]

OWN: Final = (ExpectColumnValuesToBeFinite, ExpectColumnPairValuesAToEndInNumberB, ExpectTableToHaveRows)
