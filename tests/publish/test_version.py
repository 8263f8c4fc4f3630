from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollmill.keys import canonical_json, sealed, unsealed
from rollmill.publish import Counts, DataFile, SourceEntry, VersionManifest

if TYPE_CHECKING:
    from tests.publish.conftest import Mill

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def golden() -> VersionManifest:
    files = [
        DataFile.of("owner/Beta", "default", "train_1", sha256="1" * 64, size=10, rows=2, key="k1"),
        DataFile.of("alpha", "main", "test", sha256="2" * 64, size=20, rows=3, key="k2"),
    ]
    source = SourceEntry("alpha", "hf://datasets/alpha", "abc", "act_prm@1", {"main": {"test": Counts(4, 3, 1, 0, 3)}})
    return VersionManifest.plan("mill", schema_version=1, writer="w@1", sources=[source], files=files)


def test_canonical_json_is_sorted_compact_utf8() -> None:
    assert canonical_json({"b": [1, 2], "a": "ü"}) == '{"a":"ü","b":[1,2]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


@given(JSON_VALUES)
def test_canonical_json_round_trips_any_text(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


def test_digest_is_golden() -> None:
    manifest = golden()
    assert manifest.files[0].path == f"data/owner-Beta--95101cd356d9/default/train_1/{'1' * 32}.parquet"
    assert manifest.digest == "2130453f157b92274bf00805fe38d00fb88bc3fda74d88d8b68cd56f0a14bd5e"


def test_digest_covers_content_only() -> None:
    manifest = golden()
    moved = replace(
        manifest, pipeline="other", writer="w@2", sources=(replace(manifest.sources[0], uri="u", revision="r"),)
    )
    assert moved.digest == manifest.digest
    for change in (
        replace(manifest, files=manifest.files[::-1]),
        replace(manifest, files=(replace(manifest.files[0], rows=9), manifest.files[1])),
        replace(manifest, files=(replace(manifest.files[0], sha256="3" * 64), manifest.files[1])),
        replace(manifest, schema_version=2),
        replace(manifest, configs=manifest.configs[:1]),
    ):
        assert change.digest != manifest.digest


def test_round_trip(filled: Mill) -> None:
    manifest = filled.manifest()
    again = VersionManifest.from_json(manifest.to_json())
    assert again == manifest
    assert again.to_json() == manifest.to_json()


def test_totals(filled: Mill) -> None:
    assert filled.manifest().total == Counts(16, 11, 5, 0, 11)


@pytest.mark.parametrize("path", ["../x", "data/../../etc/a/passwd", "/data/a/b/c/d", "data/a/b/c/d/e", "data/a/b/./d"])
def test_a_manifest_that_leads_out_of_data_is_refused(path: str) -> None:
    value = unsealed(golden().to_json())
    value["files"][0]["path"] = path
    with pytest.raises(ValueError, match="not a data file"):
        VersionManifest.from_json(sealed(value))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"format":"x"}', golden().to_json().replace(b'"rows":3', b'"rows":4')]
)
def test_a_damaged_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        VersionManifest.from_json(data)


def test_a_unit_already_published_keeps_its_file() -> None:
    parent = golden()
    written_anew = replace(parent.files[0], sha256="9" * 64, path=parent.files[0].path.replace("1" * 32, "9" * 32))
    new = VersionManifest.plan(
        "mill", schema_version=1, writer="w@2", sources=parent.sources, files=[written_anew, parent.files[1]]
    )
    assert new.digest != parent.digest
    assert new.keeping(parent).digest == parent.digest
    assert new.keeping(None) is new
