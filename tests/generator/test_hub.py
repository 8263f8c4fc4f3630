from __future__ import annotations

from pathlib import Path

import pytest

from rollmill.generator import write_act_prm, write_ppo_critic


def test_the_library_that_pushes_such_files_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    critic = write_ppo_critic(tmp_path / "critic", scale=0.0005, splits=6)
    loaded = datasets.load_dataset(str(critic), cache_dir=str(tmp_path / "cache"))
    assert sorted(loaded) == ["train_1", "train_2", "train_89", "train_90", "train_91", "train_92"]
    assert list(loaded["train_1"].features) == ["prompt", "response", "pred", "target", "score"]

    steps = write_act_prm(tmp_path / "act", scale=0.002, files=2)
    loaded = datasets.load_dataset(str(steps), cache_dir=str(tmp_path / "cache"))
    assert {name: len(split) for name, split in loaded.items()} == {"train": 20}
    assert loaded["train"][0]["state"][0]["role"] == "system"
    features = datasets.Features.from_arrow_schema(loaded["train"].data.schema)
    assert loaded["train"].features == features
