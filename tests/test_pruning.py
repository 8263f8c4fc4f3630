import os
import time
from pathlib import Path
from typing import Any

import pytest

from rollmill.errors import StoreError
from rollmill.expectations.data_docs.site import build_site, entries_of
from rollmill.expectations.dataset import key_of
from rollmill.pruning import DAY, Pruning, prune
from rollmill.roots import artifacts_of, held, live_leases, record_ref, refs
from rollmill.store import FolderStore
from tests.conftest import Mill, Milled, write_lines


def a_version(mill: Mill, folder: Path, *answers: str) -> Milled:
    write_lines(folder / "train.jsonl", [{"prompt": "p", "response": answer} for answer in answers])
    return mill({"uri": str(folder), "name": "lab"})


def note(milled: Milled) -> None:
    record_ref(
        milled.store,
        str(milled.destination.path),
        pipeline="mill",
        number=milled.outcome.number,
        digest=milled.outcome.digest,
        artifacts=needed(milled),
    )


def needed(milled: Milled) -> dict[str, list[str]]:
    return artifacts_of(milled.plan) | {"dataset": [key_of(milled.plan)]}


def age(store: FolderStore, days: float = 3) -> None:
    """Let all files of a store look older."""
    then = time.time() - days * DAY
    for path in store.root.rglob("*"):
        os.utime(path, (then, then))


def held_files(store: FolderStore) -> set[str]:
    return {
        str(path.relative_to(store.root))
        for name in ("objects", "artifacts")
        for path in (store.root / name).rglob("*.*")
    } | {path.name for path in (store.root / "objects").iterdir()}


@pytest.fixture
def two(mill: Mill, tmp_path: Path) -> tuple[Milled, Milled]:
    """Two versions of one dataset, the second of which replaced the file of the first."""
    first = a_version(mill, tmp_path / "lab", "a", "")
    note(first)
    second = a_version(mill, tmp_path / "lab", "b", "c", "")
    note(second)
    age(second.store)
    return first, second


def payloads(milled: Milled) -> set[str]:
    return {
        payload.sha256
        for manifest in (*milled.done.values(), *milled.verdicts.values())
        for payload in manifest.payloads
    }


def test_what_published_versions_are_made_of_stays(two: tuple[Milled, Milled]) -> None:
    store = two[0].store
    before = held_files(store)
    found = prune(store)
    assert held_files(store) == before
    assert (found.manifests, found.objects, found.bytes) == ((), (), 0)
    assert [ref.number for ref in found.kept] == [1, 2]


def test_versions_beyond_those_kept_are_deleted_whole(two: tuple[Milled, Milled], mill: Mill, tmp_path: Path) -> None:
    first, second = two
    found = prune(first.store, keep=1)
    left = {path.name for path in (first.store.root / "objects").iterdir()}
    assert left == payloads(second)
    assert {path.name for path in found.objects} == payloads(first) - payloads(second)
    assert [ref.number for ref in refs(first.store)] == [2]
    assert prune(first.store, keep=1).bytes == 0
    again = a_version(mill, tmp_path / "lab", "b", "c", "")
    assert again.outcome.unchanged
    assert again.quarantined()[0]["row"]["response"] == ""


def test_a_dry_run_tells_and_deletes_nothing(two: tuple[Milled, Milled]) -> None:
    store = two[0].store
    before = held_files(store)
    told = prune(store, keep=1, dry_run=True)
    assert held_files(store) == before
    done = prune(store, keep=1)
    assert places(told) == places(done)
    assert told.bytes == done.bytes > 0


def places(found: Pruning) -> tuple[Any, ...]:
    return (found.manifests, found.objects, found.refs)


def test_what_is_young_stays(mill: Mill, tmp_path: Path) -> None:
    milled = a_version(mill, tmp_path / "lab", "a")
    assert prune(milled.store).objects == ()
    age(milled.store)
    assert len(prune(milled.store).objects) == len(payloads(milled))
    assert list((milled.store.root / "objects").iterdir()) == []


def test_what_a_clock_that_went_back_makes_seem_of_the_future_stays(mill: Mill, tmp_path: Path) -> None:
    milled = a_version(mill, tmp_path / "lab", "a")
    age(milled.store, days=-400)
    assert prune(milled.store, grace=0).bytes == 0


def test_an_equal_payload_made_again_is_young(mill: Mill, tmp_path: Path) -> None:
    milled = a_version(mill, tmp_path / "lab", "a")
    age(milled.store)
    for path in milled.store.manifest_paths():
        path.unlink()
    a_version(mill, tmp_path / "lab", "a")
    assert prune(milled.store).objects == ()


def test_what_a_run_at_work_needs_stays(mill: Mill, tmp_path: Path) -> None:
    milled = a_version(mill, tmp_path / "lab", "a")
    age(milled.store)
    with held(milled.store, "mill") as lease:
        with pytest.raises(StoreError, match=rf"run of 'mill' \(process {os.getpid()} on .*may need anything"):
            prune(milled.store)
        lease.needs(needed(milled))
        age(milled.store)
        assert prune(milled.store).bytes == 0
    assert prune(milled.store).bytes > 0


def test_leases_of_killed_runs_are_no_roots(mill: Mill, tmp_path: Path) -> None:
    milled = a_version(mill, tmp_path / "lab", "a")
    left = milled.store.root / "leases" / "dead.json"
    left.parent.mkdir()
    left.write_text('{"pipeline":"mill","pid":1,"host":"h","since":"2026-01-01","artifacts":null}')
    assert live_leases(milled.store) == []
    assert list(left.parent.iterdir()) == []


def test_data_docs_go_with_the_verdicts_they_show(two: tuple[Milled, Milled]) -> None:
    first, second = two
    sites = [
        build_site(
            milled.store, "mill", entries_of([(u, milled.verdicts[u.validate_key]) for u in milled.plan.units], None)
        )
        for milled in (first, second)
    ]
    age(first.store)
    prune(first.store)
    assert [site.exists() for site in sites] == [True, True]
    prune(first.store, keep=1)
    assert [site.exists() for site in sites] == [False, True]
    pages = {path.stem for path in (first.store.root / "docs" / "pages").iterdir()}
    assert pages == {f"1-{key}" for key in second.verdicts}


def test_a_damaged_ref_stops_it(two: tuple[Milled, Milled]) -> None:
    store = two[0].store
    path = refs(store)[0].path
    path.write_bytes(b"{")
    with pytest.raises(StoreError, match="says what a published version needs") as caught:
        prune(store)
    assert caught.value.file == str(path)
