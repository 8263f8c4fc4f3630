"""The engine in the hands of a user of Great Expectations who knows nothing of Rollmill."""

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import great_expectations as gx
import great_expectations.expectations as gxe
import polars as pl
import pytest
from great_expectations.checkpoint import UpdateDataDocsAction
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.datasource.fluent.interfaces import TestConnectionError as NoFileError
from great_expectations.exceptions.exceptions import BuildBatchRequestError

from rollmill.expectations import engine
from rollmill.expectations.stream import Frames

RANGES = {"quantiles": [0.5], "value_ranges": [[0, 2]]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with three parquet and two Arrow files, three records each; the working folder."""
    monkeypatch.chdir(tmp_path)
    for i in (1, 2, 10):
        frame = pl.DataFrame({"k": [f"a{i}", "b", None], "v": [0.5, 1.5, float(i)]})
        frame.write_parquet(f"part-{i}.parquet")
        if i < 10:
            frame.write_ipc(f"part-{i}.arrow")
    return tmp_path


def opened(project: Path | None = None) -> Any:
    context = gx.get_context(mode="file", project_root_dir=project) if project else gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context


def expectations(rows: int) -> Any:
    return gx.ExpectationSuite(
        f"suite of {rows}",
        expectations=[
            gxe.ExpectColumnValuesToNotBeNull(column="k"),
            gxe.ExpectColumnValuesToBeBetween(column="v", max_value=1),
            gxe.ExpectColumnQuantileValuesToBeBetween(column="v", quantile_ranges=RANGES),
            gxe.ExpectTableRowCountToEqual(value=rows),
        ],
    )


def told(result: Any) -> Any:
    """Give success and failing records per expectation, in the suite's order."""
    order = ("not_be_null", "be_between", "quantile", "row_count")
    found = {
        key: one
        for key in order
        for one in result.results
        if key in one.expectation_config.type.replace("quantile_values_to_be_between", "quantile")
    }
    return [(bool(found[key].success), found[key].result.get("unexpected_count")) for key in order]


def test_the_public_names_are_these() -> None:
    assert sorted(engine.__all__) == engine.__all__
    assert {
        "ArrowAsset",
        "ExpectColumnValuesToBeFinite",
        "FrameAsset",
        "ParquetAsset",
        "PolarsDatasource",
        "PolarsExecutionEngine",
    } <= set(engine.__all__)
    assert all(getattr(engine, name).__doc__ for name in engine.__all__)


def test_files_are_judged_whole_or_one_by_one(project: Path) -> None:
    source = opened().data_sources.add_polars("lab")
    parquet = source.add_parquet_asset("parquet", paths=project / "*.parquet")
    arrow = source.add_arrow_asset("arrow", paths=["part-2.arrow", "part-1.arrow"])
    whole = parquet.add_batch_definition_whole("all").get_batch().validate(expectations(9))
    assert told(whole) == [(False, 3), (False, 5), (True, None), (True, None)]
    assert told(arrow.add_batch_definition_whole("all").get_batch().validate(expectations(6)))[3] == (True, None)
    each = parquet.add_batch_definition_per_file("each")
    names = [Path(batch["path"]).name for batch in each.get_batch_identifiers_list()]
    assert names == ["part-1.parquet", "part-2.parquet", "part-10.parquet"]
    last = each.get_batch().validate(expectations(3), result_format="COMPLETE")
    assert last.batch_id.endswith("part-10.parquet")
    assert told(last) == [(False, 1), (False, 2), (True, None), (True, None)]
    first = each.get_batch({"path": str(project / "part-1.parquet")}).validate(expectations(3))
    assert told(first)[1] == (False, 1)


def test_frames_lazy_frames_and_streams_are_judged() -> None:
    definition = opened().data_sources.add_polars("lab").add_frame_asset("a").add_batch_definition_whole_dataframe("d")
    frame = pl.DataFrame({"k": ["a", None], "v": [0.0, 3.0]})
    for data in (frame, frame.lazy(), Frames(frame.schema, [frame[:1], frame[1:]])):
        batch = definition.get_batch({"dataframe": data})
        assert batch.columns() == ["k", "v"]
        assert told(batch.validate(expectations(2))) == [(False, 1), (False, 1), (True, None), (True, None)]


def test_a_saved_project_works_in_a_new_context(project: Path) -> None:
    context = opened(project)
    suite = context.suites.add(expectations(3))
    source = context.data_sources.add_polars("lab", nan_is_null=False)
    each = source.add_parquet_asset("parquet", paths="*.parquet").add_batch_definition_per_file("each")
    given = source.add_frame_asset("frames").add_batch_definition_whole_dataframe("given")
    every = source.add_arrow_asset("arrow", paths=["part-1.arrow"]).add_batch_definition_whole("every")
    validations = [
        context.validation_definitions.add(gx.ValidationDefinition(name=name, data=data, suite=suite))
        for name, data in (("each", each), ("given", given), ("every", every))
    ]
    checkpoint = gx.Checkpoint(
        name="nightly",
        validation_definitions=[validations[0], validations[2]],
        actions=[UpdateDataDocsAction(name="docs")],
    )
    context.checkpoints.add(checkpoint)

    again = opened(project)
    assert again.data_sources.get("lab").nan_is_null is False
    found = again.checkpoints.get("nightly").run()
    assert sorted(told(one)[1] for one in found.run_results.values()) == [(False, 1), (False, 2)]
    docs = project / "gx" / "uncommitted" / "data_docs" / "local_site"
    pages = sorted(path.name for path in docs.glob("validations/**/*.html"))
    assert [name.split("-")[-1] for name in pages] == ["arrow.html", "10.parquet.html"]
    assert (docs / "index.html").exists()
    one = again.validation_definitions.get("given").run(
        batch_parameters={"dataframe": pl.LazyFrame({"k": ["x"], "v": [0.5]})}
    )
    assert told(one) == [(True, 0), (True, 0), (True, None), (False, None)]


def test_what_is_not_there_says_so(project: Path) -> None:
    source = opened().data_sources.add_polars("lab")
    with pytest.raises(NoFileError, match=r"'lost' names gone-\*\.parquet, and there is no such file"):
        source.add_parquet_asset("lost", paths="gone-*.parquet")
    frames = source.add_frame_asset("frames").add_batch_definition_whole_dataframe("given")
    with pytest.raises(BuildBatchRequestError, match="needs its data as 'dataframe'"):
        frames.get_batch()
    with pytest.raises(BuildBatchRequestError, match="A list can't be judged"):
        frames.get_batch({"dataframe": []})
    each = source.add_parquet_asset("parquet", paths="*.parquet").add_batch_definition_per_file("each")
    with pytest.raises(BuildBatchRequestError, match=r"has no file part-3\.parquet"):
        each.get_batch({"path": "part-3.parquet"})
    with pytest.raises(BuildBatchRequestError, match="Batch parameters of 'parquet': path"):
        each.get_batch({"year": 2026})


def test_a_suite_is_one_pass_over_the_columns_it_names() -> None:
    frame = pl.DataFrame({"k": ["a", None], "v": [0.0, 3.0], "unused": [1, 2]})

    class Counted(Frames):
        passes = 0
        asked: list[str] = []

        def only(self, columns: Any) -> Frames:
            Counted.asked = list(columns)
            return self

        def __iter__(self) -> Any:
            Counted.passes += 1
            return super().__iter__()

    definition = opened().data_sources.add_polars("lab").add_frame_asset("a").add_batch_definition_whole_dataframe("d")
    definition.get_batch({"dataframe": Counted(frame.schema, [frame])}).validate(expectations(2))
    assert (Counted.passes, Counted.asked) == (1, ["k", "v"])


def test_threads_may_share_an_asset(monkeypatch: pytest.MonkeyPatch) -> None:
    context = opened()
    definition = context.data_sources.add_polars("lab").add_frame_asset("a").add_batch_definition_whole_dataframe("d")
    suite = gx.ExpectationSuite("s", expectations=[gxe.ExpectColumnValuesToNotBeNull(column="k")])

    def failing(nulls: int) -> int:
        data = pl.DataFrame({"k": pl.Series([None] * nulls + ["x"] * (200 - nulls), dtype=pl.String)})
        (one,) = definition.get_batch({"dataframe": data}).validate(suite).results
        return int(one.result["unexpected_count"])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(failing, range(120))) == list(range(120))
    finally:
        sys.setswitchinterval(before)


def test_nothing_of_the_data_outlives_the_batch() -> None:
    context = opened()
    definition = context.data_sources.add_polars("lab").add_frame_asset("a").add_batch_definition_whole_dataframe("d")
    frame = pl.DataFrame({"k": ["a", None], "v": [0.0, 3.0]})
    stream = Frames(frame.schema, [frame])
    gone = weakref.ref(stream)
    definition.get_batch({"dataframe": stream}).validate(expectations(2))
    del stream
    gc.collect()
    assert gone() is None
