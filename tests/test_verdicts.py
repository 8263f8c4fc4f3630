from __future__ import annotations

from pathlib import Path

import pytest

from rollmill.store import FolderStore, Manifest
from rollmill.verdicts import BAD_ROWS, STAGE, Verdict, load_verdict, told

KEPT = ("empty_response", "reward_missing")


@pytest.fixture
def verdict() -> Verdict:
    bad: dict[int, dict[int, tuple[str, ...]]] = {
        1: {7: ("empty_response", "reward_missing"), 2: ("bad_json",)},
        0: {5: ("empty_response",)},
    }
    return Verdict(bad=bad, read={0: 6, 1: 9, 2: 4}, findings=[{"expectation": "x"}], result={"success": False})


def keep(store: FolderStore, verdict: Verdict) -> Manifest:
    with store.scratch() as folder:
        payload = verdict.write(folder / "bad")
        payloads = (payload,) if payload else ()
        return store.put(Manifest(STAGE, "k" * 64, payloads, facts=verdict.facts()), {BAD_ROWS: folder / "bad"})


def test_a_record_counts_once_under_its_first_reason(verdict: Verdict) -> None:
    assert verdict.count == 3
    assert verdict.reasons == {"empty_response": 2, "bad_json": 1}


def test_facts_count_every_part_that_was_read(verdict: Verdict) -> None:
    assert verdict.facts() == {
        "parts": {
            "0": {"read": 6, "reasons": {"empty_response": 1}, "first": {"empty_response": 5}},
            "1": {
                "read": 9,
                "reasons": {"empty_response+reward_missing": 1, "bad_json": 1},
                "first": {"empty_response+reward_missing": 7, "bad_json": 2},
            },
            "2": {"read": 4, "reasons": {}, "first": {}},
        },
        "arrow_bytes": 0,
        "findings": [{"expectation": "x"}],
        "result": {"success": False},
    }


def test_what_is_kept_must_be_kept_for_all_of_its_reasons(verdict: Verdict) -> None:
    assert verdict.without([]).bad == verdict.bad
    assert verdict.without(["empty_response"]).bad == {
        1: {7: ("empty_response", "reward_missing"), 2: ("bad_json",)},
        0: {},
    }
    assert verdict.without(["empty_response", "reward_missing"]).bad == {1: {2: ("bad_json",)}, 0: {}}
    one, both = (sorted(told(verdict.facts()["parts"]["1"], keep), key=lambda t: t.first) for keep in (KEPT[:1], KEPT))
    assert [(t.reason, t.count, t.first, t.kept) for t in one] == [
        ("bad_json", 1, 2, False),
        ("empty_response", 1, 7, False),
    ]
    assert [t.kept for t in both] == [False, True]


def test_a_verdict_comes_back_from_the_store(tmp_path: Path, verdict: Verdict) -> None:
    store = FolderStore(tmp_path)
    manifest = keep(store, verdict)
    payload = manifest.payload(BAD_ROWS)
    assert payload is not None
    assert payload.rows == 3
    found = store.get(STAGE, "k" * 64)
    assert found is not None
    loaded = load_verdict(store, found)
    assert loaded.bad == verdict.bad
    assert loaded.read == verdict.read


def test_a_clean_verdict_has_no_payload(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    manifest = keep(store, Verdict(read={0: 3}))
    assert manifest.payloads == ()
    assert load_verdict(store, manifest) == Verdict(read={0: 3})


def test_equal_verdicts_are_equal_bytes(tmp_path: Path, verdict: Verdict) -> None:
    turned = Verdict(bad={part: dict(reversed(rows.items())) for part, rows in reversed(verdict.bad.items())})
    one, two = verdict.write(tmp_path / "one"), turned.write(tmp_path / "two")
    assert one == two
