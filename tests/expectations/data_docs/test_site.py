"""Data Docs: pages of what was found, rendered once, that need no network and quote no record."""

import html
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollmill.expectations import Check, Frames, Suite
from rollmill.expectations.data_docs import site
from rollmill.expectations.data_docs.place import existing_index
from rollmill.expectations.data_docs.site import Entry, build_site, entries_of
from rollmill.expectations.engine.session import run
from rollmill.generator import write_act_prm
from rollmill.store import FolderStore
from tests.conftest import Mill, write_lines

FRAME = pl.DataFrame({"prompt": ["top secret", None], "<b>odd</b>": [float("nan"), 1.0], "reward": [1.0, 2.0]})
CHECKS = (
    Check("expect_column_values_to_not_be_null", {"column": "prompt"}, reason="prompt_missing"),
    Check("expect_column_values_to_be_in_set", {"column": "prompt", "value_set": ["x"]}, severity="info"),
    Check("expect_column_values_to_be_finite", {"column": "<b>odd</b>"}, severity="warning"),
    Check("expect_column_mean_to_be_between", {"column": "gone", "min_value": 0}, severity="warning"),
    Check("expect_column_max_to_be_between", {"column": "reward", "max_value": 9}, severity="warning"),
    Check("expect_table_row_count_to_equal", {"value": 2}, severity="warning"),
)


def entry(key: str, *checks: Check, frame: pl.DataFrame = FRAME) -> Entry:
    found = run(Frames(frame.schema, [frame]), Suite("contract", checks), values=False, nan_is_null=False)
    return Entry(key, f"lab/default/{key}", frame.height, 1, found.result)


def words(page: Path) -> str:
    """Give what a reader sees, on one line."""
    text = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page.read_text(), flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


def test_a_page_tells_each_expectation_with_its_severity_and_reason(store: FolderStore) -> None:
    index = build_site(store, "lab", [entry("a", *CHECKS)])
    page = words(index.parent / "pages" / "a.html")
    assert "lab/default/a Suite contract : 4 of 6 expectations fail" in page
    assert "values must never be null. 1 unexpected values found. 50% of 2 total rows. 50% not null critical" in page
    assert "critical prompt_missing" in page
    assert "There is no column 'gone'. The columns are: prompt, <b>odd</b>, reward." in page
    assert "maximum value must be less than or equal to 9 . 2 warning" in page
    assert "<b>odd</b>" not in (index.parent / "pages" / "a.html").read_text()


def test_the_index_counts_by_severity_and_leads_to_the_pages(store: FolderStore) -> None:
    index = build_site(store, "lab", [entry("a", *CHECKS), entry("b", CHECKS[-1]), entry("c", *CHECKS[4:])])
    text = index.read_text()
    assert "3 units, 6 records, 3 of them with a reason" in words(index)
    assert "lab/default/a 2 1 1 2 1" in words(index)
    links = re.findall(r'href="([^"]+)"', text)
    assert links == ["pages/a.html", "pages/b.html", "pages/c.html"]
    assert all((index.parent / link).exists() for link in links)
    assert text.count('class="holds"') == 2


def test_pages_ask_nothing_of_the_network_and_quote_no_record(store: FolderStore) -> None:
    index = build_site(store, "lab", [entry("a", *CHECKS)])
    for page in index.parent.rglob("*.html"):
        text = page.read_text()
        assert "secret" not in text
        assert re.findall(r"""(?:src|href)=["']?+(?!pages/|\.\./index\.html|#)[^\s>]+""", text) == []
        assert not re.search(r"https?:|<script|@import|url\(", text)


def test_a_verdict_is_rendered_once_whatever_the_run(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build_site(store, "lab", [entry("a", CHECKS[0])])
    monkeypatch.setattr(site, "_render_missing", no_rendering)
    assert build_site(store, "lab", [entry("a", CHECKS[0])]) == first
    monkeypatch.undo()
    second = build_site(store, "lab", [entry("a", CHECKS[0]), entry("b", CHECKS[1])])
    assert second != first
    kept = first.parent / "pages" / "a.html"
    assert (second.parent / "pages" / "a.html").samefile(kept)


def no_rendering(*_: Any) -> None:
    raise AssertionError("rendered again")


def test_a_site_that_is_gone_is_not_named(store: FolderStore) -> None:
    index = build_site(store, "lab", [entry("a", CHECKS[0])])
    assert existing_index(store, "lab", ["a"]) == str(index)
    assert existing_index(store, "lab", ["a", "b"]) is None
    index.unlink()
    assert existing_index(store, "lab", ["a"]) is None


def test_a_run_s_verdicts_and_its_dataset_have_pages(mill: Mill, tmp_path: Path) -> None:
    records = [{"prompt": "1+1?", "response": "2"}, {"prompt": "2+2?", "response": " "}]
    made = mill(write_lines(tmp_path / "sums" / "train.jsonl", records).parent)
    judged = [(unit, made.verdicts[unit.validate_key]) for unit in made.plan.units]
    entries = entries_of(judged, made.dataset)
    assert (entries[0].name, entries[0].records, entries[0].failing) == ("sums/default/train#0", 2, 1)
    assert [entry.name for entry in entries[1:]] == [result["name"] for result in made.dataset.facts["results"]]
    index = build_site(made.store, "sums", entries)
    assert "1 units, 2 records, 1 of them" in words(index)


def test_the_order_of_steps_is_on_the_page_of_their_unit(mill: Mill, tmp_path: Path) -> None:
    made = mill(write_act_prm(tmp_path / "steps", scale=0.001))
    (unit, *_) = made.plan.units
    (found, *_) = entries_of([(unit, made.verdicts[unit.validate_key])], None)
    assert found.result["suite_name"] == "act_prm, step_order"
    types = {one["expectation_config"]["kwargs"].get("column") for one in found.result["results"]}
    assert {"action.content", "step_gap", "duplicate_step", "steps_after_end"} <= types
    assert found.result["statistics"]["evaluated_expectations"] == len(found.result["results"])
