"""The dataset card: README.md as bytes, a pure function of a version and its number.

It holds counts, names and reason codes, never text of a row. Everything a source named is escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

import yaml

from rollmill.publish.configs import DEFAULT_CONFIG
from rollmill.publish.licenses import card_license
from rollmill.publish.version import SourceEntry, VersionManifest
from rollmill.schema import markdown_table

_SPECIAL: Final = re.compile(r"([\\`*_\[\]|~#$!])")
_LONGEST: Final = 160
_SIZES: Final = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
    (1_000_000_000, "100M<n<1B"),
    (10_000_000_000, "1B<n<10B"),
    (100_000_000_000, "10B<n<100B"),
    (1_000_000_000_000, "100B<n<1T"),
)
_LOADING: Final = """## Load

`DEST` is this folder.

```python
from datasets import load_dataset

rollouts = load_dataset("DEST")  # all sources
rollouts = load_dataset("DEST", "CONFIG")  # one source
```

Other readers take the list of files from the version's manifest. Never read `data/*`:
files of older versions stay there.

```python
import json
from pathlib import Path

root = Path("DEST")
current = json.loads((root / "current.json").read_bytes())
manifest = json.loads((root / current["manifest"]).read_bytes())
files = [str(root / file["path"]) for file in manifest["files"]]
```

```python
import polars as pl

rollouts = pl.scan_parquet(files)
```

```python
import pyarrow.dataset as ds

rollouts = ds.dataset(files)
```

```python
import duckdb

rollouts = duckdb.read_parquet(files)
```

## Restore

`rollmill restore DEST` gives the rows of every source split back: same columns, types, values and order. It needs this
folder and, for records put aside, the store that made it.
"""


def render_card(manifest: VersionManifest, number: int) -> bytes:
    """Write README.md of version `number`: YAML front matter that `load_dataset` follows, then the page for people."""
    front = yaml.safe_dump(front_matter(manifest, number), sort_keys=False, allow_unicode=False, width=2**20)
    sections = [
        _head(manifest, number),
        _sources(manifest),
        _put_aside(manifest),
        _splits(manifest),
        _loading(manifest),
        _columns(manifest),
    ]
    return "\n".join([f"---\n{front}---\n", *sections]).encode()


def front_matter(manifest: VersionManifest, number: int) -> dict[str, Any]:
    """Give the card's YAML as a dict. Every file is named, so that no other version's file is ever read."""
    identity = {"pipeline": _printable(manifest.pipeline), "version": number, "digest": manifest.digest}
    front: dict[str, Any] = {"rollmill": identity}
    licensed = card_license([source.license for source in manifest.sources])
    if licensed is not None:
        front["license"] = licensed
    front["tags"] = ["rollmill", "rollouts", "reinforcement-learning"]
    front["size_categories"] = [_size_category(sum(file.rows for file in manifest.files))]
    front["configs"] = [
        {
            "config_name": config.name,
            **({"default": True} if config.name == DEFAULT_CONFIG else {}),
            "data_files": [{"split": split.name, "path": list(split.paths)} for split in config.splits],
        }
        for config in manifest.configs
    ]
    return front


def read_identity(readme: bytes) -> tuple[int, str] | None:
    """Read (version, digest) from a card's front matter, hand-edited or not; None where it names none."""
    parts = re.split(rb"(?m)^---[ \t]*\r?$\n?", readme.lstrip(b"\xef\xbb\xbf"), maxsplit=2)
    if len(parts) != 3 or parts[0].strip():  # noqa: PLR2004
        return None
    try:
        front = yaml.load(parts[1], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        identity = front["rollmill"]
        return int(identity["version"]), str(identity["digest"])
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return None


def escape(text: str) -> str:
    """Make any text one inert line of Markdown, safe in a table cell: no markup, HTML, line break or hidden mark."""
    line = _printable(text)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", line)


def _printable(text: str) -> str:
    """Give one printable line: control, format, surrogate and separator characters become spaces; long text is cut."""
    shown = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    line = " ".join(shown.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _natural(named: tuple[str, object]) -> list[tuple[int, str]]:
    """Sort key under which `train_2` comes before `train_10`."""
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"([0-9]+)", named[0])]


def _size_category(rows: int) -> str:
    return next((name for limit, name in _SIZES if rows < limit), "n>1T")


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def _head(manifest: VersionManifest, number: int) -> str:
    total = manifest.total
    sources = f"{len(manifest.sources)} source{'' if len(manifest.sources) == 1 else 's'}"
    return f"""# {escape(manifest.pipeline)}

RL rollouts of {sources} in one schema, made by Rollmill. Version {number}, digest `{manifest.digest}`.

{total.rows_in:,} source records in: {total.rows_published:,} published as {total.rows_written:,} rows, \
{total.rows_quarantined:,} put aside with a reason, {total.rows_dropped:,} dropped by a rule of the pipeline.
"""


def _sources(manifest: VersionManifest) -> str:
    head = ("source", "revision", "layout", "license", "records in", "published", "put aside", "dropped", "rows")
    rows = [_source_row(source) for source in manifest.sources]
    return f"## Sources\n\n{_table(head, rows)}"


def _source_row(source: SourceEntry) -> tuple[object, ...]:
    total = source.total
    return (
        escape(source.name),
        escape(source.revision),
        escape(source.layout),
        escape(source.license or ""),
        f"{total.rows_in:,}",
        f"{total.rows_published:,}",
        f"{total.rows_quarantined:,}",
        f"{total.rows_dropped:,}",
        f"{total.rows_written:,}",
    )


def _put_aside(manifest: VersionManifest) -> str:
    rows = [
        (escape(source.name), escape(code), f"{count:,}")
        for source in manifest.sources
        for code, count in sorted(source.reasons.items())
    ]
    found = (
        f"Records not published, by reason.\n\n{_table(('source', 'reason', 'records'), rows)}"
        if rows
        else "Nothing.\n"
    )
    return f"## Put aside\n\n{found}{_kept(manifest)}"


def _kept(manifest: VersionManifest) -> str:
    rows = [
        (escape(source.name), escape(code), f"{count:,}")
        for source in manifest.sources
        for code, count in sorted(source.kept.items())
    ]
    if not rows:
        return ""
    table = _table(("source", "reason", "records"), rows)
    return f"\n## Kept\n\nRecords published although they are bad, flagged `kept:<reason>` in quality_flags.\n\n{table}"


def _splits(manifest: VersionManifest) -> str:
    published = {(row.source, row.config, row.split): row for row in manifest.mapping}
    head = ("source", "config", "split", "records in", "published", "put aside", "load as", "in `default`")
    rows = []
    for source in manifest.sources:
        for config, splits in sorted(source.splits.items()):
            for split, counts in sorted(splits.items(), key=_natural):
                row = published.get((source.name, config, split))
                place = (
                    (f"`{row.published_config}`, `{row.published_split}`", f"`{row.merged_split}`") if row else ("", "")
                )
                numbers = (f"{counts.rows_in:,}", f"{counts.rows_published:,}", f"{counts.rows_quarantined:,}")
                rows.append((escape(source.name), escape(config), escape(split), *numbers, *place))
    return (
        "## Splits\n\nEach source is a config with its own splits. `default` merges all of them into train, validation"
        f" and test by rule `{escape(manifest.merge_rule)}`; a split whose name says neither goes to train. Splits"
        f" without a published row can't be loaded.\n\n<details><summary>Splits: {len(rows):,}</summary>\n\n"
        f"{_table(head, rows)}\n</details>\n"
    )


def _loading(manifest: VersionManifest) -> str:
    named = [config.name for config in manifest.configs if config.name != DEFAULT_CONFIG]
    return _LOADING.replace("CONFIG", named[0] if named else DEFAULT_CONFIG)


def _columns(manifest: VersionManifest) -> str:
    return (
        f"## Columns\n\nThe unified rollout schema, version {manifest.schema_version}: one row per decision; `!` marks"
        f" columns without null.\n\n<details><summary>All columns</summary>\n\n{markdown_table()}\n</details>\n"
    )
