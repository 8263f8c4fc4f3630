from __future__ import annotations

import pytest

from rollmill.keys import canonical_json, digest_of


def test_canonical_json_is_one_text_for_equal_values() -> None:
    value = {"b": [1, True, None, "é\n"], "a": {"y": 0.5, "x": -0.0}}
    assert canonical_json(value) == '{"a":{"x":-0.0,"y":0.5},"b":[1,true,null,"é\\n"]}'.encode()
    assert canonical_json(dict(reversed(list(value.items())))) == canonical_json(value)


def test_the_digest_is_pinned() -> None:
    value = {"stage": "x", "inputs": [["ab", 0, 1]]}
    assert digest_of(value) == "99b1d209351e56a53a2c5ff0009e6dc16d01c0e038c4bb66f9e85219954d3b67"
    assert digest_of({"a": 1}) != digest_of({"a": "1"})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [{"deep": float("-inf")}]])
def test_nan_and_infinity_have_no_canonical_form(value: object) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(value)
