"""Great Expectations on Polars: stock expectations, one pass over a stream of batches for a whole suite.

    compiler   a metric -> what it needs of each record (a narrow expression) and how it follows from that
    narrow     the projection of a batch, the pass over the stream, the narrow frame
    engine     the execution engine: hands all metrics of a suite to the compiler in one wave
    providers  what makes Great Expectations ask this engine for its metrics
    datasource the data source and asset that hold a stream
    finite     our own expectation: no NaN, no infinity
    session    one suite on one stream in a context of its own

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
