"""The known layouts. Adding one is adding a module and a line here; third parties use the entry point group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from rollmill.errors import ConfigError, LayoutError
from rollmill.layouts.act_prm import ActPrm
from rollmill.layouts.base import Fact, Fit, Layout, Origin, RolloutLayout
from rollmill.layouts.ppo_critic import PpoCritic
from rollmill.layouts.prompt_response import PromptResponse

ENTRY_POINTS = "rollmill.layouts"
_LONGEST_TYPE = 30

__all__ = [
    "ENTRY_POINTS",
    "Fact",
    "Fit",
    "Layout",
    "Origin",
    "RolloutLayout",
    "detect",
    "known_layouts",
    "layout_named",
]


@cache
def known_layouts() -> Mapping[str, Layout]:
    """Give all layouts by name, those of installed packages included."""
    found: list[Layout] = [PromptResponse(), PpoCritic(), ActPrm()]
    found += [point.load()() for point in entry_points(group=ENTRY_POINTS)]
    return {layout.name: layout for layout in found}


def layout_named(name: str) -> Layout:
    """Look a layout up. Raises ConfigError with the names there are."""
    layouts = known_layouts()
    if name not in layouts:
        raise ConfigError(f"There is no layout named {name!r}. Known layouts: auto, {', '.join(sorted(layouts))}.")
    return layouts[name]


def detect(types: Mapping[str, str], source: str, *, wanted: str = "auto") -> Layout:
    """Find the layout of a source's columns (name -> logical type).

    If a fitting layout's required columns strictly contain another's, the larger wins. Raises LayoutError when none
    fits (with the columns seen, and how near each came) or several do.
    """
    layouts = known_layouts() if wanted == "auto" else {wanted: layout_named(wanted)}
    fits = [layout.fit(types) for layout in layouts.values()]
    fitting = [fit for fit in fits if fit.fits]
    best = [fit for fit in fitting if not any(fit.required < other.required for other in fitting)]
    if len(best) == 1:
        return layouts[best[0].layout]
    raise LayoutError(_no_fit(types, source, fits) if not best else _ambiguous(source, best))


def _no_fit(types: Mapping[str, str], source: str, fits: list[Fit]) -> str:
    seen = ", ".join(f"{name} ({_short(kind)})" for name, kind in types.items()) or "none"
    if "source_row_hash" in types:
        seen += ". This looks like a dataset that Rollmill published: give the sources it was made from instead"
    near = "; ".join(f"{f.layout}: {', '.join(f.problems)}" for f in sorted(fits, key=lambda f: (-f.near, f.layout)))
    return (
        f"No known layout fits source {source}. Columns seen: {seen}. Layouts and why they do not fit: {near}. "
        "Rename the columns upstream, name the layout with --layout, or install a package that adds one."
    )


def _short(kind: str) -> str:
    return kind if len(kind) <= _LONGEST_TYPE else f"{kind.split('<', maxsplit=1)[0]}<…>"


def _ambiguous(source: str, best: list[Fit]) -> str:
    names = ", ".join(sorted(fit.layout for fit in best))
    return (
        f"Several layouts fit source {source}: {names}. Name the right one with --layout (or `layout:` of the source)."
    )
