"""The demo: small generated sources of the three seeds' shapes, and a pipeline file that merges them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rollmill.errors import ConfigError
from rollmill.generator import PPO_CRITIC_SPLITS, write_act_prm, write_ppo_critic, write_prompt_response

SCALES: Final = {"act_prm": 0.05, "ppo_critic": 0.002, "prompt_response": 0.02}
"""Shares of the real sizes that run in half a minute."""

SPLITS: Final = 12
"""Of the critic's splits, unless its scale is given: then all of them."""

FAULTS: Final[Mapping[str, Mapping[str, int]]] = {
    "act_prm": {"duplicate_step": 1, "reward_not_finite": 1, "step_gap": 1, "steps_after_end": 1},
    "ppo_critic": {"empty_response": 3, "reward_missing": 2, "reward_not_finite": 3},
    "prompt_response": {"empty_response": 3},
}
"""What is mixed in on request: per source, reason codes and how many records or rollouts."""

_FOLDERS: Final = {"act_prm": "steps", "ppo_critic": "critic", "prompt_response": "reinforce"}
_PIPELINE: Final = """\
name: rollmill-demo
sources:
  - uri: source/steps
  - uri: source/critic
  - uri: source/reinforce
destination: dataset
store: store
"""
_LENIENT: Final = """\
validation:
  max_quarantine: 0.25  # the faults are many for so few records; 0.01 is the default
"""


def parse_scales(text: str) -> dict[str, float]:
    """Read `0.5` (of every source) or `act_prm=1,ppo_critic=0.05`. Returns the scales given.

    Raises ConfigError for another form, a source that is not there, or a scale outside 0 to 10.
    """
    try:
        if "=" not in text:
            return dict.fromkeys(SCALES, _checked(float(text)))
        given = {name.strip(): _checked(float(value)) for name, value in (p.split("=") for p in text.split(","))}
    except ValueError as error:
        raise ConfigError(
            f"--scale {text!r} is no scale: {error}. Give a number such as 0.1, or act_prm=1,ppo_critic=0.05."
        ) from error
    unknown = sorted(given.keys() - SCALES.keys())
    if unknown:
        raise ConfigError(f"--scale names {unknown[0]!r}, which is no source. Sources: {', '.join(SCALES)}.")
    return given


def _checked(scale: float) -> float:
    if not 0 < scale <= 10:  # noqa: PLR2004
        raise ValueError(f"{scale} is not above 0 and at most 10")
    return scale


def write_demo(folder: Path, given: Mapping[str, float], *, faults: bool = False) -> Path:
    """Write the sources, at the scales given or those of a quick demo, and the pipeline file. Returns its path.

    With `faults`, records are spoiled as `FAULTS` says. Raises ConfigError if a source is too small for that.
    """
    try:
        _write_sources(folder, given, FAULTS if faults else {})
    except ValueError as error:
        raise ConfigError(f"--faults needs more than --scale leaves: {error}.") from error
    path = folder / "pipeline.yaml"
    path.write_text(_PIPELINE + (_LENIENT if faults else ""), encoding="utf-8")
    return path


def _write_sources(folder: Path, given: Mapping[str, float], faults: Mapping[str, Mapping[str, int]]) -> None:
    scales = {**SCALES, **given}
    sources = {name: folder / "source" / of for name, of in _FOLDERS.items()}
    splits = PPO_CRITIC_SPLITS if "ppo_critic" in given else SPLITS
    spoiled = {name: faults.get(name) for name in sources}
    write_act_prm(sources["act_prm"], scale=scales["act_prm"], faults=spoiled["act_prm"])
    write_ppo_critic(sources["ppo_critic"], scale=scales["ppo_critic"], splits=splits, faults=spoiled["ppo_critic"])
    write_prompt_response(
        sources["prompt_response"], scale=scales["prompt_response"], faults=spoiled["prompt_response"]
    )
