"""The pipeline file: pydantic models, and errors that name the key and the line.

The command line's flags build the same `Pipeline`. Secrets never stand in it.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import platformdirs
import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from rollmill.checks import Expectation, SuiteFile
from rollmill.errors import ConfigError
from rollmill.formats import split_ending
from rollmill.layouts import layout_named
from rollmill.reasons import checked_keep
from rollmill.sources.local import local_path
from rollmill.units import UNIT_BYTES

_SLUG = re.compile(r"[^A-Za-z0-9._-]+")


def slug(text: str) -> str:
    """Turn a name into a slug of letters, digits, `.`, `_` and `-`."""
    return _SLUG.sub("-", text).strip("-.") or "rollouts"


def default_store() -> Path:
    """Give the folder of the default store, in the user's data directory."""
    return Path(platformdirs.user_data_dir("rollmill", appauthor=False)) / "store"


def _checked_uri(uri: str) -> str:
    scheme = uri.split("://", 1)[0] if "://" in uri else ""
    if scheme and (urlsplit(uri).username or urlsplit(uri).password):
        raise ValueError("a URI must not hold a user name or password; put credentials in environment variables")
    if scheme and "signature" in urlsplit(uri).query.lower():
        raise ValueError("a URI must not be signed; give the plain one and put credentials in environment variables")
    if scheme not in {"", "file"}:
        raise ValueError(f"{scheme}:// is not supported yet; this version reads and writes local folders and files")
    return uri


def _slug_only(name: str) -> str:
    if slug(name) != name:
        raise ValueError(f"a name holds letters, digits, '.', '_' and '-' only; {slug(name)!r} would do")
    return name


Uri = Annotated[str, Field(min_length=1), AfterValidator(_checked_uri)]
Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_slug_only)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Count = Annotated[int, Field(ge=0, strict=True)]


class Claims(_Model):
    """What a source must hold. A run whose source holds anything else is refused."""

    rows: Count | None = Field(None, description="Records in all.")
    rollouts: Count | None = Field(None, description="Rollouts in all.")
    splits: Count | None = Field(None, description="Number of splits.")
    rows_by_split: dict[str, Count] = Field(default_factory=dict, description="Records of splits, by name.")
    columns: tuple[str, ...] = Field((), description="Columns that must be there.")


class Source(_Model):
    """One dataset to read. `name` becomes data_source; it must stay the same for ids to stay the same."""

    name: Name | None = Field(None, description="Slug of the source; the folder's name if not given.")
    uri: Uri = Field(description="A local folder or file.")
    layout: str = Field("auto", description="Name of the layout, or auto to find it by the columns.")
    options: dict[str, str] = Field(default_factory=dict, description="Options of the layout.")
    config: str | None = Field(None, description="Read this config of the source's card only.")
    splits: tuple[str, ...] = Field((), description="Read these splits only; all if empty.")
    suite: SuiteFile | None = Field(None, description="A saved suite of Great Expectations, beside the built-in one.")
    expectations: tuple[Expectation, ...] = Field((), description="Expectations beside, or instead of, those there.")
    claims: Claims = Field(Claims(), description="What the source must hold.")
    keep: tuple[str, ...] = Field((), description="Reason codes whose records are published all the same, flagged.")

    @model_validator(mode="after")
    def _options_are_known(self) -> Source:
        if self.layout != "auto":
            try:
                check_options(self.layout, self.options)
            except ConfigError as error:
                raise ValueError(error.message) from error
        return self

    @model_validator(mode="after")
    def _codes_can_be_kept(self) -> Source:
        checked_keep(self.keep, {check.reason for check in self.checks if check.reason})
        return self

    @property
    def checks(self) -> tuple[Expectation, ...]:
        """The user's expectations: those of the suite, then those given here, which win."""
        return (*(self.suite.expectations if self.suite else ()), *self.expectations)

    @property
    def slug(self) -> str:
        """The source's data_source: the name given, else that of the folder or file."""
        if self.name:
            return self.name
        place = local_path(self.uri).name
        ending = split_ending(place)
        return slug(ending.stem if ending else place)


def check_options(layout: str, options: dict[str, str]) -> None:
    """Check a layout's options. Raises ConfigError naming what is allowed."""
    allowed = layout_named(layout).options
    for key, value in options.items():
        if key not in allowed:
            raise ConfigError(f"Layout {layout} has no option {key!r}. Its options: {', '.join(allowed) or 'none'}.")
        if allowed[key] and value not in allowed[key]:
            raise ConfigError(f"Option {key} can't be {value!r}. Allowed: {', '.join(sorted(allowed[key]))}.")


class Validation(_Model):
    """Limits of what may be put aside."""

    max_quarantine: float = Field(
        0.01, ge=0, le=1, description="Largest share of records put aside, per source and split."
    )
    strict_card: bool = Field(default=False, description="Refuse a run whose sources are not what is declared of them.")


class Pipeline(_Model):
    """One published dataset: its sources, limits, store and destination."""

    name: Name = Field(description="Name of the published dataset.")
    sources: tuple[Source, ...] = Field(min_length=1)
    destination: Uri = Field(description="Folder to publish to.")
    store: Uri | None = Field(None, description="Folder of the artifact store; the user's data directory if not given.")
    validation: Validation = Validation()
    allow_shrink: bool = Field(
        default=False, description="Let a version lose rows or splits against the one before it."
    )
    workers: int = Field(
        default_factory=lambda: os.cpu_count() or 1, ge=1, le=256, description="Units worked on at once."
    )
    unit_bytes: int = Field(UNIT_BYTES, ge=1 << 20, description="About how many decoded bytes one unit holds.")

    @model_validator(mode="after")
    def _sources_differ(self) -> Pipeline:
        twice = [name for name, count in Counter(s.slug for s in self.sources).items() if count > 1]
        if twice:
            raise ValueError(f"two sources are named {twice[0]!r}; give each its own `name`")
        return self

    @property
    def store_path(self) -> Path:
        """Where the store lies."""
        return local_path(self.store) if self.store else default_store()

    @property
    def destination_path(self) -> Path:
        """Where the dataset is published."""
        return local_path(self.destination)


def load_pipeline(path: Path) -> Pipeline:
    """Read a pipeline file; relative paths in it are relative to its folder. Raises ConfigError with key and line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The pipeline file {path} can't be read: {error}.", file=str(path)) from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        raw = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}", file=str(path)) from error
    if not isinstance(raw, dict):
        raise ConfigError(
            f"{path} must hold keys and values: at least `name`, `sources` and `destination`.", file=str(path)
        )
    _refuse_twice(node, path)
    try:
        return Pipeline.model_validate(_rooted(raw, path.parent))
    except ValidationError as error:
        raise ConfigError(_explain(error, node, path), file=str(path)) from error


def build_pipeline(**values: Any) -> Pipeline:
    """Build a pipeline from the command line's flags. Raises ConfigError."""
    try:
        return Pipeline.model_validate(values)
    except ValidationError as error:
        raise ConfigError(" ".join(_problem(e) for e in _causes(error))) from error


def _rooted(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make relative local paths of a pipeline file absolute."""

    def absolute(value: Any) -> Any:
        if not isinstance(value, str) or not value or "://" in value:
            return value
        return str(folder.absolute() / os.path.expanduser(value))  # noqa: PTH111  (an unknown user is no error)

    rooted = raw | {key: absolute(raw[key]) for key in ("store", "destination") if key in raw}
    if isinstance(raw.get("sources"), list):
        rooted["sources"] = [
            s | {key: absolute(s[key]) for key in ("uri", "suite") if key in s} if isinstance(s, dict) else s
            for s in raw["sources"]
        ]
    return rooted


def _refuse_twice(node: yaml.Node | None, path: Path) -> None:
    """Refuse a key that stands twice in one place: YAML would take the last without a word."""
    if isinstance(node, yaml.MappingNode):
        seen: set[Any] = set()
        for key, value in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise ConfigError(f"{path}, line {line}: the key `{key.value}` is given twice.", file=str(path))
            seen.add(key.value)
            _refuse_twice(value, path)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_twice(value, path)


def _explain(error: ValidationError, node: yaml.Node | None, path: Path) -> str:
    lines = [f"{path}, line {_line_of(node, e['loc'])}: {_problem(e)}" for e in _causes(error)]
    return "\n".join(lines)


def _causes(error: ValidationError) -> list[Any]:
    """Leave out what only follows from a problem further inside."""
    found = error.errors()
    inner = {e["loc"][:depth] for e in found for depth in range(len(e["loc"]))}
    return [e for e in found if e["loc"] not in inner]


def _problem(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "pipeline"
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        near = difflib.get_close_matches(key, _keys_at(error["loc"][:-1]), n=1)
        known = ", ".join(_keys_at(error["loc"][:-1]))
        return f"there is no key `{where}`. " + (f"Did you mean `{near[0]}`?" if near else f"Known keys: {known}.")
    if error["type"] == "missing":
        return f"the key `{where}` is missing."
    return f"`{where}`: {error['msg'].removeprefix('Value error, ').rstrip('.')}."


def _keys_at(place: tuple[int | str, ...]) -> list[str]:
    models: dict[str, type[BaseModel]] = {"sources": Source, "validation": Validation, "claims": Claims}
    names = [str(part) for part in place if not isinstance(part, int)]
    known = [models[name] for name in names if name in models]
    return list((known[-1] if known else Pipeline).model_fields)


def _line_of(node: yaml.Node | None, place: tuple[int | str, ...]) -> int:
    """Find the line of a key, or of the nearest node above it."""
    line = 1
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = [(k, v) for k, v in node.value if k.value == part]
            if not found:
                return line
            line, node = found[0][0].start_mark.line + 1, found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line
