"""Great Expectations on Polars: stock expectations, one pass over a stream of batches for a whole suite.

    metrics    a metric -> what it needs of each record (a narrow expression) and how it follows from that
    engine     the execution engine: hands all metrics of a suite to the compiler in one wave
    providers  what makes Great Expectations ask this engine for its metrics
    streams    lazy frames and files as streams of batches
    batch      a batch: its stream and an engine for it alone
    assets     data given at run time, parquet files, Arrow files
    datasource the data source: `context.data_sources.add_polars(name)`
    own        our own expectations
    stock      stock expectations that ask for the engine, or need mending
    quantiles  a stock expectation, mended
    gallery    which stock expectations are served
    session    one suite on one stream, without a data context
    remembered what makes a session cheap

Everything that imports Great Expectations lies in this package, so that its import is quiet, here, and once.
"""

from __future__ import annotations

import logging
import os
import warnings

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import great_expectations
    import great_expectations.expectations  # noqa: F401

logging.captureWarnings(capture=False)  # Great Expectations turns it on for the whole process
_log = logging.getLogger("great_expectations")
_log.setLevel(logging.CRITICAL)  # what it would log is in the results
for _name in [name for name in logging.root.manager.loggerDict if name.startswith(f"{_log.name}.")]:
    logging.getLogger(_name).setLevel(logging.NOTSET)  # one of them sets a level of its own

from rollmill.expectations.engine.assets import ArrowAsset, FrameAsset, ParquetAsset  # noqa: E402
from rollmill.expectations.engine.datasource import PolarsDatasource  # noqa: E402
from rollmill.expectations.engine.engine import PolarsExecutionEngine  # noqa: E402
from rollmill.expectations.engine.own import (  # noqa: E402
    ExpectColumnPairValuesAToEndInNumberB,
    ExpectColumnValuesToBeFinite,
    ExpectTableToHaveRows,
)

__all__ = [
    "ArrowAsset",
    "ExpectColumnPairValuesAToEndInNumberB",
    "ExpectColumnValuesToBeFinite",
    "ExpectTableToHaveRows",
    "FrameAsset",
    "ParquetAsset",
    "PolarsDatasource",
    "PolarsExecutionEngine",
]
