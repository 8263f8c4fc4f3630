"""The data assets of the Polars data source: data given at run time, parquet files, Arrow files."""

from __future__ import annotations

import glob
import re
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from great_expectations.compatibility import pydantic
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.core.partitioners import FileNamePartitioner, FileNamePartitionerPath
from great_expectations.datasource.fluent.batch_request import BatchRequest
from great_expectations.datasource.fluent.interfaces import DataAsset, TestConnectionError
from great_expectations.exceptions.exceptions import BuildBatchRequestError, InvalidBatchRequestError

from rollmill.expectations.engine.batch import DATAFRAME, PATH, PolarsBatch, make_batch
from rollmill.expectations.engine.streams import ArrowStream, ParquetStream, as_stream
from rollmill.expectations.stream import FrameStream
from rollmill.sources.natural import natural_key

PER_FILE: Final = FileNamePartitionerPath(regex=re.compile(".+"), param_names=())
"""Cuts an asset into a batch per file: of the partitioners that Great Expectations can save, the one that fits."""


Paths = str | Path | Sequence[str | Path]


def as_texts(paths: Paths) -> list[str]:
    """Give one or several paths as texts."""
    return [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


class _Asset(DataAsset[Any, FileNamePartitioner]):
    """What all assets share: a batch request is made of the options, and checked before a batch is."""

    class Config:
        extra = pydantic.Extra.forbid

    def build_batch_request(
        self,
        options: dict[str, Any] | None = None,
        batch_slice: Any = None,
        partitioner: FileNamePartitioner | None = None,
    ) -> BatchRequest[FileNamePartitioner]:
        """Ask for a batch. Raises BuildBatchRequestError if the options are not those of this kind of asset."""
        options = dict(options or {})
        unknown = options.keys() - set(self.get_batch_parameters_keys(partitioner))
        if unknown or batch_slice is not None:
            wanted = ", ".join(self.get_batch_parameters_keys(partitioner)) or "none"
            raise BuildBatchRequestError(message=f"Batch parameters of {self.name!r}: {wanted}; no slice.")
        return BatchRequest[FileNamePartitioner](
            datasource_name=self.datasource.name, data_asset_name=self.name, options=options, partitioner=partitioner
        )

    def _validate_batch_request(self, batch_request: BatchRequest[Any]) -> None:
        asked = (batch_request.datasource_name, batch_request.data_asset_name)
        if asked != (self.datasource.name, self.name):
            raise InvalidBatchRequestError(f"A batch of {asked} was asked of the asset {self.name!r}.")

    def get_batch(self, batch_request: BatchRequest[Any]) -> PolarsBatch:
        """Give a batch; nothing is read yet but what tells the columns."""
        self._validate_batch_request(batch_request)
        identifiers = self.get_batch_identifiers_list(batch_request)[-1]
        exact = batch_request.copy(update={"options": identifiers})
        return make_batch(self, exact, self._stream(identifiers))

    @abstractmethod
    def _stream(self, identifiers: dict[str, Any]) -> FrameStream:
        """Open the data of a batch."""


class FrameAsset(_Asset):
    """Data given when it is judged, as batch parameter `dataframe`: a LazyFrame, a DataFrame, or a stream of frames."""

    type: Literal["frame"] = "frame"

    def test_connection(self) -> None:
        """Nothing to reach."""

    def add_batch_definition_whole_dataframe(self, name: str) -> BatchDefinition[FileNamePartitioner]:
        """Add a batch definition for all that is given."""
        return self.add_batch_definition(name)

    def get_batch_parameters_keys(self, partitioner: FileNamePartitioner | None = None) -> tuple[str, ...]:
        """Name the one parameter."""
        return (DATAFRAME,)

    def get_batch_identifiers_list(self, batch_request: BatchRequest[Any]) -> list[dict[str, Any]]:
        """Give the options. Raises BuildBatchRequestError without data."""
        if DATAFRAME not in batch_request.options:
            raise BuildBatchRequestError(message=f"A batch of {self.name!r} needs its data as {DATAFRAME!r}.")
        return [dict(batch_request.options)]

    def _stream(self, identifiers: dict[str, Any]) -> FrameStream:
        try:
            return as_stream(identifiers[DATAFRAME])
        except TypeError as error:
            raise BuildBatchRequestError(message=str(error)) from None


class _FileAsset(_Asset):
    """Files by path or glob, in natural order; paths are taken from the working folder if they are not absolute."""

    _opens: ClassVar[Any]
    paths: list[str]

    def files(self) -> tuple[Path, ...]:
        """Give the files there are now. Raises TestConnectionError if a path or glob has none."""
        found: dict[Path, None] = {}
        for path in self.paths:
            matches = [path] if Path(path).is_file() else glob.glob(path, recursive=True)  # noqa: PTH207  (absolute ones too)
            files = [Path(match) for match in matches if Path(match).is_file()]
            if not files:
                raise TestConnectionError(f"The asset {self.name!r} names {path}, and there is no such file.")
            found.update(dict.fromkeys(sorted(files, key=lambda file: natural_key(str(file)))))
        return tuple(found)

    def test_connection(self) -> None:
        """Look for the files."""
        self.files()

    def add_batch_definition_whole(self, name: str) -> BatchDefinition[FileNamePartitioner]:
        """Add a batch definition for all files together: they must have equal columns."""
        return self.add_batch_definition(name)

    def add_batch_definition_per_file(self, name: str) -> BatchDefinition[FileNamePartitioner]:
        """Add a batch definition for one file at a time: batch parameter `path`, by default the last file."""
        return self.add_batch_definition(name, partitioner=PER_FILE)

    def get_batch_parameters_keys(self, partitioner: FileNamePartitioner | None = None) -> tuple[str, ...]:
        """Name the parameters: `path` where batches are files, else none."""
        return () if partitioner is None else (PATH,)

    def get_batch_identifiers_list(self, batch_request: BatchRequest[Any]) -> list[dict[str, Any]]:
        """Give the batches there are. Raises BuildBatchRequestError if none has the path asked for."""
        if batch_request.partitioner is None:
            return [{}]
        paths = [str(file) for file in self.files()]
        asked = batch_request.options.get(PATH)
        chosen = [path for path in paths if asked is None or path == str(asked)]
        if not chosen:
            raise BuildBatchRequestError(message=f"The asset {self.name!r} has no file {asked}.")
        return [{PATH: path} for path in chosen]

    def _stream(self, identifiers: dict[str, Any]) -> FrameStream:
        files = (Path(identifiers[PATH]),) if PATH in identifiers else self.files()
        stream: FrameStream = self._opens(files)
        return stream


class ParquetAsset(_FileAsset):
    """Parquet files, read by row groups."""

    _opens: ClassVar[Any] = ParquetStream
    type: Literal["parquet"] = "parquet"


class ArrowAsset(_FileAsset):
    """Arrow IPC files, of the file or the stream format, read by record batches."""

    _opens: ClassVar[Any] = ArrowStream
    type: Literal["arrow"] = "arrow"
