from __future__ import annotations

from pathlib import Path

import pytest

from rollmill.config import load_pipeline
from rollmill.demo import parse_scales, write_demo
from rollmill.errors import ConfigError


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
