"""Declared against observed: what cards, footers, file names and the pipeline file say, beside what the files hold."""

from __future__ import annotations

from rollmill.declared.claims import CLAIMED, compare_claims
from rollmill.declared.columns import compare_columns
from rollmill.declared.comparison import Comparison
from rollmill.declared.facts import compare_facts
from rollmill.declared.files import compare_files
from rollmill.declared.held import Held, Sizes, arrow_sizes
from rollmill.declared.refusal import refuse_drift
from rollmill.declared.splits import compare_splits
from rollmill.plan import Plan

__all__ = ["CLAIMED", "Comparison", "Sizes", "arrow_sizes", "compare_plan", "refuse_drift"]


def compare_plan(plan: Plan, sizes: Sizes) -> list[Comparison]:
    """Compare all that is declared of a plan's sources. `sizes` are those known so far: empty before validation."""
    return [
        comparison
        for source in plan.sources
        for compare in (compare_claims, compare_splits, compare_columns, compare_files, compare_facts)
        for comparison in compare(Held(source, sizes.get(source.name, {})))
    ]
