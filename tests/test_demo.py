from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rollmill.aside import PublishedAside
from rollmill.config import load_pipeline
from rollmill.demo import FAULTS, SCALES, SPLITS, parse_scales, write_demo
from rollmill.errors import ConfigError
from rollmill.generator import Fault, plan_act_prm, plan_ppo_critic, plan_prompt_response
from tests.conftest import Mill


def test_a_number_is_the_scale_of_every_source() -> None:
    assert parse_scales("0.5") == {"act_prm": 0.5, "ppo_critic": 0.5, "prompt_response": 0.5}


def test_sources_may_have_scales_of_their_own() -> None:
    assert parse_scales("act_prm=1, ppo_critic=0.05") == {"act_prm": 1.0, "ppo_critic": 0.05}


@pytest.mark.parametrize("text", ["", "much", "0", "-1", "11", "act_prm", "act_prm=x", "act_prm=1=2", "nan"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--scale"):
        parse_scales(text)


def test_a_source_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"ppo_critics.*act_prm, ppo_critic, prompt_response"):
        parse_scales("ppo_critics=1")


def test_the_pipeline_file_reads_the_sources_beside_it(tmp_path: Path) -> None:
    path = write_demo(tmp_path, {"act_prm": 0.001, "prompt_response": 0.001})
    pipeline = load_pipeline(path)
    assert [source.slug for source in pipeline.sources] == ["steps", "critic", "reinforce"]
    assert all(Path(source.uri, "README.md").exists() for source in pipeline.sources)
    assert len(list((tmp_path / "source" / "critic" / "data").iterdir())) == 12


def planned() -> dict[str, tuple[Fault, ...]]:
    """The faults of the demo by the name of their source."""
    of: dict[str, Any] = {name: {"scale": SCALES[name], "faults": FAULTS[name]} for name in SCALES}
    return {
        "steps": plan_act_prm(**of["act_prm"]).faults,
        "critic": plan_ppo_critic(**of["ppo_critic"], splits=SPLITS).faults,
        "reinforce": plan_prompt_response(**of["prompt_response"]).faults,
    }


def test_each_fault_and_nothing_else_is_put_aside_for_its_reason(mill: Mill, tmp_path: Path) -> None:
    """With its whole rollout, where rows are steps."""
    pipeline = load_pipeline(write_demo(tmp_path, {}, faults=True))
    milled = mill(*(Path(source.uri) for source in pipeline.sources), validation=pipeline.validation)
    starts: dict[tuple[str, str], dict[str, int]] = {}
    for source in milled.plan.sources:
        for file in source.ingested.snapshot.files:
            files = starts.setdefault((source.name, file.split), {"": 0})
            files[file.path] = files.pop("")
            files[""] = files[file.path] + source.ingested.inspection(file).rows
    index = PublishedAside(milled.version, milled.store).index
    found = {
        (source, split, starts[source, split][file] + record): tuple(reasons)
        for source, split, file, record, reasons in index.select("source", "split", "file", "record", "reasons").rows()
    }
    assert found == {
        (source, fault.split, row): (fault.reason,)
        for source, faults in planned().items()
        for fault in faults
        for row in fault.rows
    }
    assert {reason for reasons in found.values() for reason in reasons} == {
        code for of in FAULTS.values() for code in of
    }
    assert milled.version.total.rows_in == milled.version.total.rows_published + len(found)


def test_faults_need_records_to_spoil(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--faults"):
        write_demo(tmp_path, {"act_prm": 0.001}, faults=True)
