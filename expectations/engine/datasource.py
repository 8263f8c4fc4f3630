"""The data source of the Polars engine: `context.data_sources.add_polars(name)`."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, Literal

from great_expectations.datasource.fluent.interfaces import DataAsset, Datasource

from rollmill.expectations.engine.assets import ArrowAsset, FrameAsset, ParquetAsset, Paths, as_texts
from rollmill.expectations.engine.engine import PolarsExecutionEngine
from rollmill.expectations.engine.providers import register
from rollmill.expectations.engine.quantiles import ExpectColumnQuantileValuesToBeBetween as _  # noqa: F401  (registers)

register()


class PolarsDatasource(Datasource):  # type: ignore[type-arg]
    """Holds assets that Polars reads. `nan_is_null` is that of the engine: NaN is missing, as for pandas."""

    asset_types: ClassVar[list[builtins.type[DataAsset[Any, Any]]]] = [FrameAsset, ParquetAsset, ArrowAsset]
    type: Literal["polars"] = "polars"
    assets: list[FrameAsset | ParquetAsset | ArrowAsset] = []
    nan_is_null: bool = True

    def add_frame_asset(self, name: str) -> FrameAsset:
        """Add an asset whose data are given when they are judged."""
        asset: FrameAsset = self._add_asset(FrameAsset(name=name))
        return asset

    def add_parquet_asset(self, name: str, paths: Paths) -> ParquetAsset:
        """Add parquet files, by paths and globs. Raises TestConnectionError if one has no file."""
        asset: ParquetAsset = self._add_asset(ParquetAsset(name=name, paths=as_texts(paths)))
        return asset

    def add_arrow_asset(self, name: str, paths: Paths) -> ArrowAsset:
        """Add Arrow IPC files, by paths and globs. Raises TestConnectionError if one has no file."""
        asset: ArrowAsset = self._add_asset(ArrowAsset(name=name, paths=as_texts(paths)))
        return asset

    @property
    def execution_engine_type(self) -> builtins.type[PolarsExecutionEngine]:
        """The engine on Polars."""
        return PolarsExecutionEngine

    def get_execution_engine(self) -> PolarsExecutionEngine:
        """Give a new engine: one for all batches would mix up data of equal id, and keep them."""
        return PolarsExecutionEngine(nan_is_null=self.nan_is_null)

    def test_connection(self, test_assets: bool = True) -> None:  # noqa: FBT001, FBT002
        """Look for the files of the assets."""
        for asset in self.assets if test_assets else ():
            asset.test_connection()
