"""The whole flow on a real server: what is published, what is refused, what is done again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollmill.config import build_pipeline
from rollmill.errors import DriftError, LayoutFaultError, QuarantineLimitError, SourceMissingError
from rollmill.facts import facts_of
from rollmill.flows.launch import launch
from rollmill.publish import FolderDestination
from rollmill.report import Report

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_url")]


def build(source: Path, root: Path, **more: Any) -> Report:
    return launch(pipeline_of(source, root, **more))


def pipeline_of(source: Path, root: Path, **more: Any) -> Any:
    sources = [{"uri": str(source)}]
    where = {"destination": str(root / "dataset"), "store": str(root / "store")}
    return build_pipeline(**({"name": "lab", "sources": sources} | where | more))


def data_files(root: Path) -> dict[str, bytes]:
    folder = root / "dataset" / "data"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def add_split(source: Path, name: str, responses: Sequence[str | None]) -> None:
    prompts = [f"prompt {i}" for i in range(len(responses))]
    table = pa.table({"response": pa.array(responses, pa.string()), "prompt": prompts})
    pq.write_table(table, source / "data" / f"{name}-00000-of-00001.parquet")
    (source / "README.md").unlink(missing_ok=True)


def test_a_source_is_published_whole_and_the_report_is_kept_with_it(source: Path, tmp_path: Path) -> None:
    report = build(source, tmp_path)
    assert report.verdict == "published"
    assert report.rows_in == report.rows_published == report.rows_written == 33
    assert {stage: stats.units for stage, stats in report.stages.items()} == dict.fromkeys(report.stages, 1)
    assert all(report.stages[stage].bytes_read > 0 for stage in ("ingest", "validate", "normalize"))
    assert {c.verdict for c in report.declared_vs_observed} == {"equal", "close"}
    kept = json.loads(next((tmp_path / "dataset" / "versions").glob("1-*/report.json")).read_text())
    assert kept["rows_published"] == 33
    assert kept["version"] == report.version
    assert str(tmp_path) not in "".join(p.read_text() for p in (tmp_path / "dataset").rglob("*.json"))


def test_again_with_nothing_new_is_unchanged_and_reads_nothing(source: Path, tmp_path: Path) -> None:
    first = build(source, tmp_path)
    before = data_files(tmp_path)
    again = build(source, tmp_path)
    assert again.verdict == "unchanged"
    assert again.version == first.version
    assert {stage: (s.units, s.cached, s.bytes_read) for stage, s in again.stages.items()} == dict.fromkeys(
        again.stages, (1, 1, 0)
    )
    assert data_files(tmp_path) == before


def test_what_is_odd_over_the_dataset_is_told_again_when_nothing_changed(source: Path, tmp_path: Path) -> None:
    add_split(source, "train_2", [f"answer {i}" for i in range(60)])
    add_split(source, "test", ["answer"] * 60)
    reports = [build(source, tmp_path) for _ in range(2)]
    assert [report.verdict for report in reports] == ["published", "unchanged"]
    for report in reports:
        leaks = [check for check in report.dataset_checks if check["check"] == "prompts_seen_in_training"]
        assert [(check["split"], check["success"], check["observed"]) for check in leaks] == [("test", False, 1.0)]
        assert any("test: 100.0% of the prompts held out" in line for line in report.warnings)
    assert reports[0].dataset_checks == reports[1].dataset_checks
    kept = json.loads(next((tmp_path / "dataset" / "versions").glob("1-*/report.json")).read_text())
    assert kept["dataset_checks"] == reports[0].dataset_checks


def test_a_fault_of_a_layout_refuses_the_run_and_leaves_the_destination_alone(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(source, tmp_path)
    before = data_files(tmp_path)
    add_split(source, "test", ["a"])

    def faulty(rows: pa.Table) -> pa.Table:
        facts = facts_of(rows)
        at = facts.schema.get_field_index("num_steps")
        return facts.set_column(at, facts.schema.field(at), pa.array([7] * len(facts), pa.int32()))

    monkeypatch.setattr("rollmill.normalize.facts_of", faulty)
    with pytest.raises(LayoutFaultError, match=r"num_steps_wrong in 1 rows, .* prompt_response@1 .*test#0") as caught:
        build(source, tmp_path)
    assert caught.value.report.error["kind"] == "layout_fault"  # type: ignore[attr-defined]
    assert data_files(tmp_path) == before


def test_a_new_split_costs_only_itself(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "dataset" / "data").rglob("*.parquet")}
    add_split(source, "test", ["a", "b"])
    report = build(source, tmp_path)
    assert (report.verdict, report.version and report.version["number"]) == ("published", 2)
    for stage in ("ingest", "validate", "normalize", "publish"):
        assert (report.stages[stage].units, report.stages[stage].cached) == (2, 1), stage
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_workers_and_stores_do_not_change_a_byte(source: Path, tmp_path: Path) -> None:
    for name in ("train_2", "train_10", "test"):
        add_split(source, name, [f"answer {i}" for i in range(40)])
    one = build(source, tmp_path / "one", workers=1)
    many = build(source, tmp_path / "many", workers=4)
    assert one.version == many.version
    assert data_files(tmp_path / "one") == data_files(tmp_path / "many")
    assert len(data_files(tmp_path / "one")) == 4


def test_bad_records_are_put_aside_with_their_reason(source: Path, tmp_path: Path) -> None:
    add_split(source, "train", [*(f"answer {i}" for i in range(200)), "", None])
    report = build(source, tmp_path)
    assert (report.rows_in, report.rows_published, report.rows_quarantined) == (202, 200, 2)
    assert report.reasons == {"empty_response": 2}


def test_too_many_bad_records_refuse_the_run_and_leave_the_destination_alone(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path)
    before = data_files(tmp_path)
    add_split(source, "train", ["fine"] * 22 + [""] * 61)
    with pytest.raises(QuarantineLimitError, match="61 of 83") as caught:
        build(source, tmp_path)
    report = caught.value.report  # type: ignore[attr-defined]
    assert (report.verdict, report.error["kind"]) == ("refused", "quarantine_limit")
    assert report.rows_in == 83
    assert data_files(tmp_path) == before
    destination = FolderDestination(tmp_path / "dataset").current()
    assert destination is not None
    assert destination.number == 1
    kept = build(source, tmp_path, validation={"max_quarantine": 0.8}, allow_shrink=True)
    assert (kept.rows_published, kept.reasons) == (22, {"empty_response": 61})


def test_a_false_claim_refuses_and_prefect_shows_what_differs(source: Path, tmp_path: Path) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    claiming = [{"uri": str(source), "claims": {"rows_by_split": {"dev|7": 4}}}]
    with pytest.raises(DriftError, match=r"rows_by_split.* = 4, the files hold none") as caught:
        build(source, tmp_path, name="claiming", sources=claiming)
    assert caught.value.report.verdict == "refused"  # type: ignore[attr-defined]
    assert not (tmp_path / "dataset").exists()
    with get_client(sync_client=True) as client:
        wanted = ArtifactFilter(key=ArtifactFilterKey(any_=["rollmill-summary"]))
        shown = [str(artifact.data) for artifact in client.read_artifacts(artifact_filter=wanted)]
    assert any("| lab | claims.rows\\_by\\_split.dev\\|7 | the pipeline file | 4 |  |" in text for text in shown)


def test_sources_are_merged_and_told_apart(source: Path, tmp_path: Path) -> None:
    other = shutil.copytree(source, tmp_path / "other")
    report = build(source, tmp_path, sources=[{"uri": str(source)}, {"uri": str(other), "name": "second"}])
    assert [(s["name"], s["splits"]) for s in report.sources] == [("lab", {"train": 33}), ("second", {"train": 33})]
    tables = [pq.read_table(path) for path in (tmp_path / "dataset" / "data").rglob("*.parquet")]
    rows = pa.concat_tables(tables)
    assert len(set(rows.column("row_id").to_pylist())) == 66
    assert len(set(rows.column("prompt_id").to_pylist())) == 5


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceMissingError, match="nowhere"):
        build(tmp_path / "nowhere", tmp_path)


def test_the_run_is_seen_in_prefect(source: Path, tmp_path: Path) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName

    name = "seen-in-prefect"
    build(source, tmp_path, name=name)
    wanted = FlowRunFilter(name=FlowRunFilterName(any_=[name]))
    with get_client(sync_client=True) as client:
        run = client.read_flow_runs(flow_run_filter=wanted)[0]
        tasks = client.read_task_runs(flow_run_filter=wanted)
    assert run.state_name == "Completed"
    assert {task.name.split()[0] for task in tasks} == {"ingest", "validate", "normalize", "publish"}
    assert "validate lab/default/train#0" in {task.name for task in tasks}
