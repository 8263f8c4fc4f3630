"""Which files make which config and split: the card's `configs` block, else the Hub's naming conventions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollmill.errors import DataRefusedError
from rollmill.snapshot import Skipped
from rollmill.sources.card import name_of
from rollmill.sources.globs import matching
from rollmill.sources.natural import natural_key
from rollmill.sources.split_names import TRAIN, splits_by_convention

DEFAULT_CONFIG = "default"

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NOT_WORD = re.compile(r"[^\w.]")


@dataclass(frozen=True, slots=True)
class Placed:
    """A data file at its place: path as listed, config and split (names as the source has them)."""

    path: str
    config: str
    split: str


@dataclass(slots=True)
class Placement:
    """Where all files belong: in natural order of config, split and path; what was passed over, and warnings."""

    files: list[Placed] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, config: str, split: str, paths: Iterable[str]) -> None:
        """Place files once each in a config and split."""
        known = {placed.path for placed in self.files if placed.config == config and placed.split == split}
        self.files += [Placed(path, config, split) for path in dict.fromkeys(paths) if path not in known]


def place(paths: Sequence[str], card: dict[str, Any]) -> Placement:
    """Say for each data file (in natural order) of a source which config and split it makes.

    The card's `configs` decide if there are any; a block of an unknown form is passed over with a warning.
    The names are not judged: see check_names.
    """
    placement = Placement()
    blocks = _blocks(card, placement)
    if blocks:
        for config, block in blocks:
            _place_block(placement, config, block, paths)
        if not placement.files:
            placement.warnings.append("The card's `configs` name no file that is there; naming conventions are used.")
    if not placement.files:
        _place_by_convention(placement, DEFAULT_CONFIG, paths)
    placed = {file.path for file in placement.files}
    placement.skipped += [Skipped(path, "not named by the card's `configs`") for path in paths if path not in placed]
    placement.files.sort(key=lambda file: (natural_key(file.config), natural_key(file.split), natural_key(file.path)))
    _warn_shared(placement)
    return placement


def check_names(files: Sequence[Placed]) -> None:
    """Raise DataRefusedError for names that can't be published, and for two splits that would become one."""
    meeting: dict[tuple[str, str], str] = {}
    for file in files:
        _check_name("config", file.config)
        _check_name("split", file.split)
        key = (file.config, _NOT_WORD.sub("_", file.split))
        other = meeting.setdefault(key, file.split)
        if other != file.split:
            raise DataRefusedError(
                f"The split names {other!r} and {file.split!r} of config {file.config!r} both become {key[1]!r}, as"
                " published split names have only word characters and dots. Rename one, or read the source in two"
                " runs that select one split each."
            )


def _check_name(kind: str, name: str) -> None:
    if not name.strip() or ".." in name or "/" in name or "\\" in name or _CONTROL.search(name):
        raise DataRefusedError(
            f"{name!r} can't be the name of a {kind}: it is empty or holds `..`, a slash or a control character."
            " Rename it in the `configs` block of README.md."
        )


def _blocks(card: dict[str, Any], placement: Placement) -> list[tuple[str, dict[str, Any]]]:
    configs = card.get("configs")
    if configs is None:
        return []
    if not isinstance(configs, list) or not all(isinstance(block, dict) for block in configs):
        placement.warnings.append("The card's `configs` is no list of mappings; naming conventions are used.")
        return []
    named = [(name_of(block.get("config_name", DEFAULT_CONFIG)), block) for block in configs]
    if any(name is None for name, _ in named):
        placement.warnings.append("The card's `configs` has a config_name that is no text; that block is passed over.")
    return [(name, block) for name, block in named if name is not None]


def _place_block(placement: Placement, config: str, block: dict[str, Any], paths: Sequence[str]) -> None:
    base = block.get("data_dir")
    folder = base if isinstance(base, str) else ""
    data_files = block.get("data_files")
    if data_files is None:
        found = matching(folder, paths) if folder else list(paths)
        if not found:
            placement.warnings.append(f"The card's data_dir {folder!r} of config {config!r} holds no data file.")
        _place_by_convention(placement, config, found)
        return
    patterns = _patterns(data_files)
    if patterns is None:
        placement.warnings.append(f"The card's data_files of config {config!r} have an unknown form; passed over.")
        return
    for split, pattern in patterns:
        placement.add(config, split, matching(pattern, paths, base=folder))


def declared_files(card: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Give config, split, pattern and the folder that it starts from, for all that the card's `configs` name."""
    for config, block in _blocks(card, Placement()):
        folder = block.get("data_dir")
        for split, pattern in _patterns(block.get("data_files")) or []:
            yield config, split, pattern, folder if isinstance(folder, str) else ""


def _patterns(data_files: object) -> list[tuple[str, str]] | None:
    """Give (split, pattern) pairs of any form that `data_files` may have; None for another form."""
    if isinstance(data_files, str):
        return [(TRAIN, data_files)]
    if isinstance(data_files, dict):
        data_files = [{"split": split, "path": path} for split, path in data_files.items()]
    if not isinstance(data_files, list):
        return None
    pairs: list[tuple[str, str]] = []
    for entry in data_files:
        split, path = (entry.get("split"), entry.get("path")) if isinstance(entry, dict) else (TRAIN, entry)
        listed = path if isinstance(path, list) else [path]
        if not all(isinstance(pattern, str) for pattern in listed):
            return None
        named = "" if split is None else name_of(split)
        if named is None:
            return None
        pairs += [(named, str(pattern)) for pattern in listed]
    return pairs


def _place_by_convention(placement: Placement, config: str, paths: Sequence[str]) -> None:
    split_of, warnings = splits_by_convention(paths)
    placement.warnings += warnings
    for path, split in split_of.items():
        placement.files.append(Placed(path, config, split))


def _warn_shared(placement: Placement) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in placement.files:
        places[file.path].append(f"{file.config}/{file.split}")
    shared = [(path, where) for path, where in places.items() if len(where) > 1]
    if shared:
        path, where = shared[0]
        more = f" (and {len(shared) - 1} more files)" if len(shared) > 1 else ""
        placement.warnings.append(
            f"{path}{more} is read {len(where)} times, as the card names it in {', '.join(where)}."
        )
