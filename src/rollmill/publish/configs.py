"""Which files `load_dataset` finds under which config and split: one config per source, and `default`, all merged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rollmill.publish.names import config_name, split_name, unique

if TYPE_CHECKING:
    from rollmill.publish.version import DataFile

MERGE_RULE: Final = "train-validation-test@1"
DEFAULT_CONFIG: Final = "default"
MERGED_SPLITS: Final = ("train", "validation", "test")

_WORDS: Final = {
    "train": {"train", "training"},
    "validation": {"validation", "valid", "val", "dev"},
    "test": {"test", "testing", "eval", "evaluation", "held", "heldout", "holdout"},
}


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """One split of a published config: its name, the files in reading order, and their rows."""

    name: str
    paths: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    """One published config. Only splits with rows are in it."""

    name: str
    splits: tuple[SplitPlan, ...]

    def as_json(self) -> dict[str, Any]:
        """Give the JSON form."""
        splits = [{"name": split.name, "paths": list(split.paths), "rows": split.rows} for split in self.splits]
        return {"name": self.name, "splits": splits}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ConfigPlan:
        """Read the JSON form."""
        splits = (SplitPlan(split["name"], tuple(split["paths"]), split["rows"]) for split in value["splits"])
        return cls(value["name"], tuple(splits))


@dataclass(frozen=True, slots=True)
class SplitMapping:
    """Where a split of a source is found: raw names first, then the published config, split, and split of `default`."""

    source: str
    config: str
    split: str
    published_config: str
    published_split: str
    merged_split: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The configs, `default` first, and how each source split came into them."""

    configs: tuple[ConfigPlan, ...]
    mapping: tuple[SplitMapping, ...]


def merged_split(split: str) -> str:
    """Tell the split of `default` a source's split goes to, by rule `train-validation-test@1`.

    The first word decides (`train_12`, `val-2`, `test_prefs`), else the last one (`math_test`); what says neither is
    `train`. Case and trailing digits don't count.
    """
    words = [word for word in re.split(r"[^a-z]+", split.lower()) if word]
    for word in (words[0], words[-1]) if words else ():
        for merged, known in _WORDS.items():
            if word in known:
                return merged
    return "train"


def plan_configs(files: Iterable[DataFile]) -> Plan:
    """Plan the configs over the files that have rows, keeping the given order inside each split.

    Published names are unique, whatever the case. A source called `default` gets the config `default_source`.
    """
    by_split: dict[tuple[str, str, str], list[DataFile]] = {}
    for file in files:
        if file.rows:
            by_split.setdefault((file.source, file.config, file.split), []).append(file)
    mapping = _name_splits(by_split)
    if not mapping:
        return Plan((), ())
    ordered = [(row, file) for row in mapping for file in by_split[row.source, row.config, row.split]]
    merged: dict[str, list[DataFile]] = {name: [] for name in MERGED_SPLITS}
    own: dict[str, dict[str, list[DataFile]]] = {}
    for row, file in ordered:
        merged[row.merged_split].append(file)
        own.setdefault(row.published_config, {}).setdefault(row.published_split, []).append(file)
    configs = [_config(DEFAULT_CONFIG, merged), *(_config(name, splits) for name, splits in own.items())]
    return Plan(tuple(configs), tuple(mapping))


def _name_splits(keys: Iterable[tuple[str, str, str]]) -> list[SplitMapping]:
    configs: dict[tuple[str, str], str] = {}
    taken_configs = {DEFAULT_CONFIG}
    taken_splits: dict[str, set[str]] = {}
    mapping = []
    for source, config, split in keys:
        if (source, config) not in configs:
            configs[source, config] = unique(config_name(source, config), f"{source}\0{config}", taken_configs)
        published = configs[source, config]
        name = unique(split_name(split), split, taken_splits.setdefault(published, set()))
        mapping.append(SplitMapping(source, config, split, published, name, merged_split(split)))
    return mapping


def _config(name: str, splits: dict[str, list[DataFile]]) -> ConfigPlan:
    plans = [
        SplitPlan(split, tuple(file.path for file in files), sum(file.rows for file in files))
        for split, files in splits.items()
        if files
    ]
    return ConfigPlan(name, tuple(plans))
