"""The pages say what the program does: their examples run, their tables are held against the code."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pyarrow as pa
import pytest
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rollmill import errors
from rollmill.cli import app
from rollmill.config import Claims, Pipeline, Source, Validation, load_pipeline
from rollmill.dataset import DatasetCheck
from rollmill.declared import Comparison
from rollmill.demo import write_demo
from rollmill.errors import QuarantineLimitError, RollmillError
from rollmill.expectations import suite_for
from rollmill.expectations.suites.act_prm import STEP_ORDER
from rollmill.expectations.suites.dataset import CHECKPOINTS, SEQUENCES, SPLITS
from rollmill.expectations.suites.unified import UNIFIED
from rollmill.expectations.told import limit_of, lines
from rollmill.formats import JSON_TEXT_KEY
from rollmill.layouts import known_layouts
from rollmill.layouts.base import Origin
from rollmill.quarantine import quarantine_schema
from rollmill.reasons import KEEPABLE, NOT_KEEPABLE
from rollmill.report import Report, StageStats
from rollmill.schema import MESSAGE, SCHEMA, markdown_table, type_name
from tests.comparing import rows_of
from tests.conftest import Mill, write_lines
from tests.docs.pages import DOCS, PAGES, README, ROOT, anchors, blocks, links, section, sessions, table, unquoted

READER_REASONS = {"bad_json", "duplicate_key", "invalid_utf8"}
ANSWERS = [b'{"prompt": "1+1?", "response": "2"}', b'{"prompt": "2+2?", "response": " "}', b'{"prompt": "3+3?"']
TYPES = {
    "str": "text",
    "str | None": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "tuple[Source, ...]": "list of sources",
    "tuple[str, ...]": "list of text",
    "dict[str, str]": "mapping of text to text",
    "Validation": "mapping",
    "Claims": "mapping",
    "int | None": "whole number",
    "dict[str, int]": "mapping of text to whole number",
    "SuiteFile | None": "path",
    "tuple[Expectation, ...]": "list of expectations",
}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what README's commands leave: the demo's dataset, and the one with bad records."""
    work = tmp_path_factory.mktemp("workplace")
    demo = work / "rollmill-demo"
    mill = Mill(work)
    write_demo(demo, {})
    sources = [demo / "source" / name for name in ("steps", "critic", "reinforce")]
    mill(*sources, name="rollmill-demo", destination=str(demo / "dataset"), store=str(demo / "store"))
    answers = write_lines(work / "answers" / "train.jsonl", ANSWERS).parent
    mill(answers, name="sums", destination=str(work / "sums"), store=str(work / "store"))
    return work


@pytest.fixture
def at_work(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in that folder."""
    monkeypatch.chdir(workplace)
    return workplace


def run(codes: list[str], scope: dict[str, Any]) -> None:
    """Run blocks of a page in one scope. `print(…)  # value` must print that value."""
    for code in codes:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "page", "exec", dont_inherit=True), scope)
        assert printed.getvalue().splitlines() == re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)


@pytest.mark.parametrize("page", [README, DOCS / "quarantine.md", DOCS / "expectations.md"], ids=lambda page: page.name)
def test_the_python_examples_run(page: Path, at_work: Path) -> None:
    run([code for code in blocks(page, "python") if "load_dataset" not in code], {})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # while Great Expectations is imported
def test_the_example_of_the_engine_alone_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(blocks(DOCS / "gx-polars.md", "python"), {})


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # within datasets
def test_the_example_with_datasets_runs(at_work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    codes = [code for code in blocks(README, "python") if "load_dataset" in code]
    assert codes
    run(codes, {})


def test_the_example_of_a_layout_works() -> None:
    scope: dict[str, Any] = {"__name__": "example"}
    run(blocks(DOCS / "layouts.md", "python"), scope)
    layout = scope["QuestionAnswer"]()
    rows = {"question": ["a", "b"], "answer": ["1", "2"], "score": [0.5, None]}
    batch = pa.RecordBatch.from_pydict(rows)
    unified = layout.normalize(batch, pa.array([4, 5], pa.int64()), Origin("lab", "default", "train", "ab" * 32), {})
    unified.validate(full=True)
    assert unified.schema.equals(SCHEMA)
    assert rows_of(layout.restore(unified, batch.schema)) == rows_of(batch)


@pytest.mark.flow
def test_the_console_sessions_of_the_readme(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "rollmill"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nfrom rollmill.cli import main\n\nmain()\n")
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= {"XDG_DATA_HOME": str(tmp_path / "xdg"), "PREFECT_HOME": str(tmp_path / "prefect"), "COLUMNS": "100"}
    assert "$(BIN)/rollmill demo rollmill-demo\n" in (ROOT / "Makefile").read_text()
    for command, expected in sessions(README):
        line = command.replace("make demo", ".venv/bin/rollmill demo rollmill-demo")
        shell = ["/bin/sh", "-c", line]
        done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        shown = done.stdout.replace(f"{tmp_path}/", "…/").splitlines()
        assert [steady(text) for text in shown] == [steady(text) for text in expected], command


def steady(line: str) -> str:
    """Take off a printed line what differs from run to run: seconds, and digests (they move with library versions)."""
    line = re.sub(r"/[0-9a-f]{16}/index\.html", "/digest/index.html", line)
    cells = line.split()
    if cells and cells[0] in {"ingest", "validate", "normalize", "publish"} and len(cells) == 5:
        return " ".join(cells[:3] + cells[4:])
    return re.sub(r"\([0-9a-f]{12}\)", "(digest)", line).rstrip()


def test_the_message_of_the_limit_is_the_one_shown(mill: Mill, tmp_path: Path) -> None:
    records = [{"prompt": f"{i}?", "response": "" if i % 15 == 0 else str(i)} for i in range(100)]
    write_lines(tmp_path / "lab" / "train.jsonl", records)
    with pytest.raises(QuarantineLimitError) as refusal:
        mill(tmp_path / "lab", validation={})
    assert [refusal.value.message + "\n"] == blocks(DOCS / "quarantine.md", "text")


def test_the_table_of_columns_is_the_schema() -> None:
    page = (DOCS / "schema.md").read_text()
    assert markdown_table() in page
    assert type_name(MESSAGE) in page


def test_the_table_of_expectations_is_what_the_engine_serves() -> None:
    from rollmill.expectations.engine import gallery

    assert gallery.markdown_table() in (DOCS / "expectations.md").read_text()


def test_our_own_expectations_are_documented() -> None:
    from rollmill.expectations.engine.own import OWN

    documented = {unquoted(row[0]) for row in table(DOCS / "expectations.md", "## Our own")}
    assert documented == {kind.expectation_type for kind in OWN}


def commands() -> list[tuple[str, Any]]:
    from typer.main import get_command

    program: Any = get_command(app)
    return [("rollmill", program), *((f"rollmill {name}", of) for name, of in program.commands.items())]


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_option_is_documented(name: str, command: Any) -> None:
    text = section(DOCS / "cli.md", f"## `{name}`")
    options = [option for each in command.params for option in (*each.opts, *each.secondary_opts)]
    assert [option for option in options if f"`{option}`" not in text and option not in {"-h", "--help"}] == []
    first = re.findall(r"^\| (`-.*?) \|", text, re.MULTILINE)
    documented = {unquoted(cell) for cells in first for cell in cells.split(", ")}
    assert documented - {"-h", "--help"} == {option for option in options if option.startswith("--")} - {"--help"}


def test_no_command_is_documented_that_is_not_there() -> None:
    headings = re.findall(r"^## `(.*)`$", (DOCS / "cli.md").read_text(), re.MULTILINE)
    assert headings == [name for name, _ in commands()]


@pytest.mark.parametrize(
    ("model", "heading"),
    [
        (Pipeline, "## Keys"),
        (Source, "### `sources`"),
        (Claims, "### `claims`"),
        (Validation, "### `validation`"),
    ],
)
def test_every_key_of_the_pipeline_file_is_documented(model: type[BaseModel], heading: str) -> None:
    documented = table(DOCS / "pipeline-file.md", heading, columns=3)
    assert documented == [[f"`{name}`", kind_of(of), default_of(of)] for name, of in model.model_fields.items()]


def kind_of(field: FieldInfo) -> str:
    return TYPES[plain(field.annotation)]


def plain(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return plain(inner[0])
    if origin in {Union, UnionType}:
        return " | ".join(plain(each) for each in inner)
    if origin is not None:
        return f"{origin.__name__}[{', '.join(plain(each) for each in inner)}]"
    return {Ellipsis: "...", NoneType: "None"}.get(kind) or str(kind.__name__)


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "see below"
    if field.default_factory is not None and isinstance(value, int):
        return "one per CPU"
    plain = list(value) if isinstance(value, tuple) else value
    return "none" if plain is None else yaml.safe_dump(plain).removesuffix("...\n").strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pipeline_files_shown_can_be_read(page: Path, tmp_path: Path) -> None:
    for number, text in enumerate(blocks(page, "yaml")):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        assert load_pipeline(file).sources


def test_every_reason_code_in_use_is_documented() -> None:
    json_text = pa.field("reward", pa.string(), metadata={JSON_TEXT_KEY: b"1"})
    kinds = [pa.field("reward", kind) for kind in (pa.float64(), pa.int64(), pa.string(), pa.list_(pa.float64()))]
    texts = [pa.field("prompt", pa.string()), pa.field("response", pa.string())]
    suites = [suite_for("prompt_response", pa.schema([*texts, reward])) for reward in (*kinds, json_text)]
    suites += [suite_for("ppo_critic", pa.schema(texts)), suite_for("act_prm", pa.schema(texts)), STEP_ORDER]
    used = {check.reason for suite in suites for check in suite.checks if check.reason} | READER_REASONS
    documented = [unquoted(row[0]) for row in table(DOCS / "quarantine.md", "## Reason codes")]
    assert sorted(documented) == sorted(used)


def test_which_codes_can_be_kept_is_documented() -> None:
    documented = {unquoted(row[0]): row[2] for row in table(DOCS / "quarantine.md", "## Reason codes")}
    assert {code for code, can in documented.items() if can == "yes"} == set(KEEPABLE)
    assert {code for code, can in documented.items() if can == "no"} == set(NOT_KEEPABLE)


def test_the_columns_of_a_quarantine_file_are_documented() -> None:
    documented = [unquoted(row[0]) for row in table(DOCS / "quarantine.md", "## Where the records are")]
    assert documented == quarantine_schema(pa.schema([pa.field("prompt", pa.string())])).names


def test_the_members_of_the_report_are_documented() -> None:
    page = DOCS / "report.md"
    assert [unquoted(row[0]) for row in table(page, "# The report")] == list(Report("refused").as_json())
    assert [unquoted(row[0]) for row in table(page, "## Stages")] == list(StageStats.__annotations__)
    compared = [unquoted(row[0]) for row in table(page, "## Declared against observed")]
    assert compared == list(Comparison.__annotations__)


def test_the_checks_of_the_dataset_are_documented() -> None:
    page = DOCS / "dataset-checks.md"
    owed = [unquoted(row[0]) for row in table(page, "## What every layout owes")]
    assert owed == list(dict.fromkeys(check.reason for check in UNIFIED.checks))
    for heading, measures in {"Splits": SPLITS, "Checkpoints": CHECKPOINTS, "Sequences": SEQUENCES}.items():
        documented = [(unquoted(row[0]), *row[1:3]) for row in table(page, f"## {heading}")]
        assert documented == [(measure.code, measure.severity, limit_of(measure)) for measure in measures]
    members = [name for row in table(DOCS / "report.md", "## Checks of the dataset") for name in row[0].split(", ")]
    assert sorted(map(unquoted, members)) == sorted(DatasetCheck.__slots__)


def test_the_line_of_a_check_is_the_one_shown() -> None:
    cut = DatasetCheck("truncated_share", "warning", success=False, observed=0.34, at_most=0.2, source="critic")
    found = {"train_4": 0.34, "train_7": 0.3, "train_9": 0.25}
    checks = [replace(cut, config="default", split=split, observed=share) for split, share in found.items()]
    assert [line + "\n" for line in lines(checks)] == blocks(DOCS / "dataset-checks.md", "text")


def test_the_kinds_of_errors_and_their_exit_codes_are_documented() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, RollmillError)]
    kinds = {c.kind: str(c.exit_code) for c in classes if c is not RollmillError}
    text = section(DOCS / "report.md", "## Errors")
    documented = dict(re.findall(r"^\| `(\w+)` \| .* \| (\d) \|$", text, re.MULTILINE))
    assert documented == kinds
    in_readme = {row[0] for row in table(README, "## Exit codes")}
    assert in_readme == {"0", "1", "130"} | set(kinds.values())


def test_the_layouts_and_their_options_are_documented() -> None:
    documented = table(DOCS / "layouts.md", "# Layouts")
    found = {unquoted(row[0]): (row[2], row[3]) for row in documented}
    layouts = known_layouts()
    assert found.keys() <= layouts.keys()
    assert "prompt_response" in found
    for name, (options, grain) in found.items():
        assert (options, grain) == (", ".join(f"`{key}`" for key in layouts[name].options), layouts[name].grain)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_path_of_a_machine_is_shown(page: Path) -> None:
    assert not re.search(r"/(work|root|tmp|home)/", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_make_verbs_named_are_there(page: Path) -> None:
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:`|^ {4}|^\$ )make ([a-z-]+)", page.read_text(), re.MULTILINE)
    assert set(named) <= verbs
