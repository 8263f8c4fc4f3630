"""Invented underwriting talks: a question, the tools of the agent, what it did, what came back, and why it may have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Message = dict[str, str]

_ANSWER: Final = "Final Answer: "
_TRADES: Final = (
    "bakery", "roofing contractor", "dental clinic", "freight broker", "brewery", "nursery school", "machine shop",
    "software vendor", "car wash", "orchard", "hotel", "print works", "pharmacy", "scrap yard", "riding school",
)  # fmt: skip
_LINES: Final = ("general liability", "property", "workers compensation", "cyber", "commercial auto", "umbrella")
_ASKED: Final = (
    "Is this applicant in appetite for {line}?",
    "Which limit can be offered for {line}, and with what deductible?",
    "Does it qualify as a small business, so that {line} may be quoted at once?",
    "What is the right industry code for it before {line} is quoted?",
)
_MOTIVES: Final = (
    "The application does not give this, so it must be looked up before anything is quoted.",
    "The last answer is not enough: it holds for the state as a whole, not for this class of business.",
    "The guideline refers to a table; the number that decides is in there.",
    "Payroll was declared, revenue was not, and the threshold is in revenue.",
    "Two codes would fit. The more hazardous one decides appetite, so I need the description.",
    "Before I answer I should make sure that no exclusion of the territory applies.",
    "The applicant may have meant the lessor, so I ask rather than assume.",
    "The figures agree with the class table, which leaves the loss history open.",
)
_TOPICS: Final = ("appetite", "limits", "deductibles", "territory", "exclusions", "size standard", "loss history")
_STATES: Final = ("AZ", "CO", "GA", "IL", "MA", "NC", "OH", "OR", "TX", "VT")
_TOOLS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "get_applicant": ("What the applicant declared.", ("applicant_id",)),
    "find_industry_code": ("Industry codes whose description fits.", ("description", "year")),
    "read_guideline": ("A section of the underwriting guideline.", ("line", "topic")),
    "check_territory": ("Whether a class may be written in a state.", ("state", "industry_code")),
    "query_table": ("Rows of a table of the carrier.", ("table", "where", "limit")),
    "ask_user": ("Ask the underwriter.", ("question",)),
}
_PROPERTIES: Final[dict[str, tuple[str, str]]] = {
    "applicant_id": ("string", "The applicant's number."),
    "description": ("string", "What the business does."),
    "year": ("integer", "Edition of the code book."),
    "line": ("string", "Line of business."),
    "topic": ("string", "Section of the guideline."),
    "state": ("string", "Two letters."),
    "industry_code": ("integer", "Six digits."),
    "table": ("string", "Name of the table."),
    "where": ("string", "Condition on its columns."),
    "limit": ("integer", "Most rows to give."),
    "question": ("string", "One question."),
}
_SYSTEM: Final = (
    "You help an underwriter with applications of small businesses. Use the tools to find what you need, one call per "
    "turn, written as <tool_call>{json}</tool_call>. Ask the underwriter where the application is silent. When you "
    f"know enough, give the result as `{_ANSWER}` and one or two sentences."
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A step as it was logged: the action, several thoughts that could have led to it, and what came back."""

    action: str
    thoughts: tuple[str, ...]
    observation: Message


def tool_specs() -> list[dict[str, Any]]:
    """Give the tools as JSON schema, each with its own properties only."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {p: dict(zip(("type", "description"), _PROPERTIES[p], strict=True)) for p in needed},
                    "required": list(needed),
                },
            },
        }
        for name, (description, needed) in _TOOLS.items()
    ]


def property_names() -> list[str]:
    """Give the names of all properties of all tools."""
    return list(_PROPERTIES)


def opening(seed: int, question: int) -> list[Message]:
    """Give the messages a question starts with: system, then user."""
    random = np.random.default_rng([seed, 0x0A5C, question])
    line = _pick(random, _LINES)
    asked = _pick(random, _ASKED).format(line=line)
    payroll = int(random.integers(40, 9000)) * 1000
    text = (
        f"Applicant A{10_000 + question} is a {_pick(random, _TRADES)} in {_pick(random, _STATES)} with "
        f"{random.integers(1, 400)} employees and a payroll of {payroll:,} dollars a year. {asked}"
    )
    return [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": text}]


def turn(random: np.random.Generator, question: int, thoughts: int) -> Turn:
    """Invent a call of a tool, why it may have been made, and its result."""
    name = _pick(random, tuple(_TOOLS))
    arguments = {wanted: _argument(random, wanted, question) for wanted in _TOOLS[name][1]}
    action = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    if name == "ask_user":
        observation = {"role": "user", "content": f"I have the file here: it is {random.integers(1, 10**6):,}."}
    else:
        observation = {"role": "tool", "content": json.dumps(_result(random), indent=1)}
    return Turn(action, _thoughts(random, f"So the next call is {name}.", thoughts), observation)


def answer(random: np.random.Generator, thoughts: int) -> Turn:
    """Invent a final answer. Nothing comes back."""
    verdict = _pick(random, ("in appetite", "out of appetite", "to be referred"))
    action = f"{_ANSWER}The risk is {verdict}; limit {random.integers(1, 40) * 250_000:,} for {_pick(random, _LINES)}."
    return Turn(action, _thoughts(random, "That settles it.", thoughts), {"role": "user", "content": ""})


def _pick(random: np.random.Generator, words: Sequence[str]) -> str:
    return words[int(random.integers(len(words)))]


def _thoughts(random: np.random.Generator, end: str, count: int) -> tuple[str, ...]:
    """Invent different thoughts that end alike."""
    lengths = random.integers(1, 6, count)
    return tuple(
        " ".join([*(_pick(random, _MOTIVES) for _ in range(length)), f"(Point {i + 1}.)", end])
        for i, length in enumerate(lengths)
    )


def _argument(random: np.random.Generator, wanted: str, question: int) -> str | int:
    values: dict[str, str | int] = {
        "applicant_id": f"A{10_000 + question}",
        "description": _pick(random, _TRADES),
        "line": _pick(random, _LINES),
        "topic": _pick(random, _TOPICS),
        "state": _pick(random, _STATES),
        "table": f"{_pick(random, _TOPICS).replace(' ', '_')}_{_pick(random, _STATES).lower()}",
        "where": f"payroll >= {random.integers(1, 900)}000 and class <> 'unknown'",
        "question": _pick(random, _ASKED).format(line=_pick(random, _LINES)),
        "year": int(random.integers(2007, 2023)),
        "limit": int(random.integers(5, 50)),
        "industry_code": int(random.integers(100_000, 1_000_000)),
    }
    return values[wanted]


def _result(random: np.random.Generator) -> list[dict[str, Any]]:
    numbers = random.integers(100_000, 1_000_000, (int(random.integers(2, 9)), 3)).tolist()
    return [
        {"industry_code": code, "trade": _TRADES[code % len(_TRADES)], "threshold": threshold, "rate": rate / 10**6}
        for code, threshold, rate in numbers
    ]
