"""What our own expectations say in Data Docs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.expectations.expectation import render_suite_parameter_string
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.render.components import LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererConfiguration, RendererValueType
from great_expectations.render.util import parse_row_condition_string


class Sentence:
    """Renders an expectation as one sentence: `$name` stands for the argument, what `mostly` allows is added."""

    sentence: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: RendererConfiguration[Any]) -> RendererConfiguration[Any]:
        template, params = cls._said(renderer_configuration.kwargs)
        for name, value in params.items():
            renderer_configuration.add_param(name=name, param_type=RendererValueType.STRING, value=value)
        renderer_configuration.template_str = template
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    @render_suite_parameter_string
    def _prescriptive_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,
    ) -> list[RenderedStringTemplateContent]:
        found = configuration or (result.expectation_config if result else None)
        kwargs = found.kwargs if found else {}
        template, params = cls._said(kwargs)
        if kwargs.get("row_condition") is not None:
            params["condition"] = parse_row_condition_string(kwargs["row_condition"])
            template = f"If $condition, then {template[0].lower()}{template[1:]}"
        styling = (runtime_configuration or {}).get("styling")
        content = {"template": template, "params": params, "styling": styling}
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=content)]

    @classmethod
    def _said(cls, kwargs: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        params = {name: str(value) for name, value in {**cls.defaults, **kwargs}.items() if f"${name}" in cls.sentence}
        template = cls.sentence
        mostly = kwargs.get("mostly", 1)
        if mostly < 1:
            template, params["mostly_pct"] = f"{template}, at least $mostly_pct % of the time", f"{mostly * 100:g}"
        return f"{template}.", params
