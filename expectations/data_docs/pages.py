"""A result as a page: the renderers of Great Expectations, in a frame of our own that asks nothing of the network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view.view import DefaultJinjaPageView

import rollmill.expectations.engine  # noqa: F401  imports Great Expectations, quietly

if TYPE_CHECKING:
    from rollmill.expectations.data_docs.site import Entry

_TEMPLATES: Final = Path(__file__).parent / "templates"
_OF_TABLE: Final = "Table-Level Expectations"


class Pages:
    """Renders pages. Making one compiles the templates, so one serves a whole site."""

    def __init__(self) -> None:
        self._renderer = ValidationResultsPageRenderer(run_info_at_end=True)
        self._view = DefaultJinjaPageView(custom_views_directory=str(_TEMPLATES))

    def page(self, name: str, result: dict[str, Any]) -> str:
        """Render what a suite found in `name`: a result as `rollmill.expectations.engine.session` gives it."""
        document = self._renderer.render(_of_json(result))
        _, *sections, _ = document.to_json_dict()["sections"]  # without its overview and its run info
        for section in sections:
            _add_columns(section, result["results"])
            _escape_headers(section)
        shown = {"name": name, "result": result, "sections": sections}
        return str(self._view.env.get_template("unit.html").render(shown))

    def index(self, pipeline: str, entries: Sequence[Entry]) -> str:
        """Render the index over the pages of a run."""
        return str(self._view.env.get_template("run.html").render(pipeline=pipeline, entries=entries))


def _of_json(result: dict[str, Any]) -> ExpectationSuiteValidationResult:
    return ExpectationSuiteValidationResult(
        success=result["success"],
        results=[_one_of_json(one) for one in result["results"]],
        suite_name=result["suite_name"],
        statistics=result["statistics"],
        meta=dict(result["meta"]),
    )


def _one_of_json(one: dict[str, Any]) -> ExpectationValidationResult:
    told, error = one["expectation_config"], one["error"]
    raised = {"raised_exception": error is not None, "exception_message": error, "exception_traceback": ""}
    return ExpectationValidationResult(
        success=one["success"],
        expectation_config=ExpectationConfiguration(told["type"], dict(told["kwargs"]), severity=told["severity"]),
        result=one["result"],
        exception_info=raised,
    )


def _escape_headers(section: dict[str, Any]) -> None:
    """Take names of columns literally: Great Expectations writes the header of a section as it is."""
    for block in section["content_blocks"]:
        if block["content_block_type"] == "header":
            told = block["header"]["string_template"]
            told["template"] = html.escape(told["template"])


def _add_columns(section: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Show severity and reason beside each expectation of a column's section, which are rows in the suite's order."""
    told = [one["expectation_config"] for one in results]
    mine = [config for config in told if config["kwargs"].get("column", _OF_TABLE) == section["section_name"]]
    for block in section["content_blocks"]:
        if len(block.get("table", ())) == len(mine):
            block["header_row"] += ["Severity", "Reason"]
            for row, config in zip(block["table"], mine, strict=True):
                row += [config["severity"], config["meta"].get("reason", "")]
