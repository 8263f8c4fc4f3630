"""The logger of the stages: Prefect's within a run, the package's own outside one."""

from __future__ import annotations

import logging

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger


def stage_log() -> logging.Logger | logging.LoggerAdapter[logging.Logger]:
    """Give the logger of the current run."""
    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger("rollmill")
