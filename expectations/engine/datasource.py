"""The data source whose asset is a stream: `add_stream(name=…).add_stream_asset(name=…)`; batch option: the stream."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, Literal

from great_expectations.core.batch import LegacyBatchDefinition
from great_expectations.core.id_dict import BatchSpec, IDDict
from great_expectations.datasource.fluent.batch_request import BatchRequest
from great_expectations.datasource.fluent.constants import _DATA_CONNECTOR_NAME
from great_expectations.datasource.fluent.interfaces import Batch, DataAsset, Datasource
from great_expectations.exceptions.exceptions import InvalidBatchRequestError

from rollmill.expectations.engine.engine import PolarsExecutionEngine

OPTION = "dataframe"
"""The batch option that holds the stream: the one name that Great Expectations keeps out of ids and reports."""


class StreamAsset(DataAsset[Any, Any]):
    """One stream per batch request."""

    type: Literal["stream"] = "stream"

    def test_connection(self) -> None:
        """Nothing to reach."""

    def get_batch_parameters_keys(self, *_: Any, **__: Any) -> tuple[str, ...]:
        """Name the one option."""
        return (OPTION,)

    def build_batch_request(self, options: dict[str, Any] | None = None, *_: Any, **__: Any) -> BatchRequest[Any]:
        """Ask for the batch of one stream."""
        return BatchRequest(datasource_name=self.datasource.name, data_asset_name=self.name, options=options or {})

    def _validate_batch_request(self, batch_request: BatchRequest[Any]) -> None:
        mine = (batch_request.datasource_name, batch_request.data_asset_name) == (self.datasource.name, self.name)
        if not mine or OPTION not in batch_request.options:
            raise InvalidBatchRequestError(f"A batch of {self.name!r} needs its stream as option {OPTION!r}.")

    def get_batch_identifiers_list(self, batch_request: BatchRequest[Any]) -> list[dict[str, Any]]:
        """Give the options."""
        return [IDDict(batch_request.options)]

    def get_batch(self, batch_request: BatchRequest[Any]) -> Batch:
        """Wrap the stream."""
        self._validate_batch_request(batch_request)
        spec = BatchSpec({"stream": batch_request.options[OPTION]})
        data, markers = self.datasource.get_execution_engine().get_batch_data_and_markers(spec)
        definition = LegacyBatchDefinition(
            datasource_name=self.datasource.name,
            data_connector_name=_DATA_CONNECTOR_NAME,
            data_asset_name=self.name,
            batch_identifiers=IDDict({}),
            batch_spec_passthrough=None,
        )
        return Batch(
            datasource=self.datasource,
            data_asset=self,
            batch_request=batch_request,
            data=data,
            batch_markers=markers,
            batch_spec=BatchSpec({}),
            batch_definition=definition,
            metadata={},
        )


class StreamDatasource(Datasource[Any, PolarsExecutionEngine]):
    """Holds stream assets."""

    asset_types: ClassVar[list[builtins.type[DataAsset[Any, Any]]]] = [StreamAsset]
    type: Literal["stream"] = "stream"
    assets: list[StreamAsset] = []
    nan_is_null: bool = True

    @property
    def execution_engine_type(self) -> builtins.type[PolarsExecutionEngine]:
        """The engine on Polars."""
        return PolarsExecutionEngine

    def test_connection(self, test_assets: bool = True) -> None:  # noqa: FBT001, FBT002
        """Nothing to reach."""
