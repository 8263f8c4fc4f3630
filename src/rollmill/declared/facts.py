"""Facts that a card lists (`- **key**: value`), as far as the layout knows what they say of the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rollmill.declared.comparison import Comparison, Declarer, Verdict, listed
from rollmill.declared.held import Held
from rollmill.layouts import Fact, RolloutLayout


def compare_facts(held: Held) -> Iterator[Comparison]:
    """Compare what of the card's facts can be counted in the files, if all are read; others are not listed."""
    layout = held.plan.layout
    if not isinstance(layout, RolloutLayout) or not held.reads_all:
        return
    card = Declarer(held.snapshot.name)
    for fact in layout.countable(held.snapshot.facts):
        if fact.column is None:
            counts = {"records": sum(held.rows.values()), "rollouts": held.plan.rollouts}
            yield card.compare(fact.field, fact.declared, counts[fact.counted], fact.counted)
        else:
            yield _compare_values(card, fact, held.ingested.values.get(fact.column))


def _compare_values(card: Declarer, fact: Fact, values: Collection[str] | None) -> Comparison:
    counted = f"{fact.counted} of {fact.column}"
    if not values:
        return card.compare(fact.field, fact.declared, None, counted, "unchecked")
    if fact.counted == "number of values":
        return card.compare(fact.field, fact.declared, len(values), counted)
    verdict: Verdict = "equal" if set(values) == {str(fact.declared)} else "differs"
    if len(values) > 1 and set(values) == {str(number) for number in range(len(values))}:
        verdict = "unchecked"
    return card.compare(fact.field, fact.declared, listed(sorted(values)), counted, verdict)
