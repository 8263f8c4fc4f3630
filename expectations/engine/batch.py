"""A batch of this engine: the stream, an execution engine for it alone, and an id that tells files apart."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from great_expectations.core.batch import LegacyBatchDefinition
from great_expectations.core.id_dict import BatchSpec, IDDict
from great_expectations.datasource.fluent.batch_request import BatchRequest
from great_expectations.datasource.fluent.constants import _DATA_CONNECTOR_NAME
from great_expectations.datasource.fluent.interfaces import Batch, DataAsset

from rollmill.expectations.engine.engine import PolarsExecutionEngine
from rollmill.expectations.stream import FrameStream

DATAFRAME = "dataframe"
"""The batch parameter that holds data: the one name whose value Great Expectations keeps out of ids and results."""

PATH = "path"
"""The batch parameter that names a file."""


class PolarsBatch(Batch):
    """A batch with its file in its id: the stock id leaves `path` out, and results of two files then share a name."""

    def _create_id(self) -> str:
        path = self.batch_request.options.get(PATH)
        return super()._create_id() + ("" if path is None else "-" + "-".join(PurePath(path).parts[-2:]).strip("/"))


def make_batch(asset: DataAsset[Any, Any], request: BatchRequest[Any], stream: FrameStream) -> PolarsBatch:
    """Wrap a stream, with an engine of its own: batches share nothing, so threads may share an asset."""
    engine: PolarsExecutionEngine = asset.datasource.get_execution_engine()
    data, markers = engine.get_batch_data_and_markers(BatchSpec({"stream": stream}))
    shown = {key: value for key, value in request.options.items() if key != DATAFRAME}
    definition = LegacyBatchDefinition(
        datasource_name=asset.datasource.name,
        data_connector_name=_DATA_CONNECTOR_NAME,
        data_asset_name=asset.name,
        batch_identifiers=IDDict(shown),
        batch_spec_passthrough=None,
    )
    return PolarsBatch(
        datasource=asset.datasource,
        data_asset=asset,
        batch_request=request,
        data=data,
        batch_markers=markers,
        batch_spec=BatchSpec({"data_asset_name": asset.name, **shown}),
        batch_definition=definition,
        metadata=dict(shown),
    )
