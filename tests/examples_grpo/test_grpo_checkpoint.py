"""Checks that checkpoints are whole or not there, and hold all that a training continues from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from grpo_batches import tiny_llama  # noqa: E402

from examples.grpo import checkpoint  # noqa: E402
from examples.grpo.checkpoint import State  # noqa: E402
from examples.grpo.settings import read_settings, settings_file  # noqa: E402
from examples.grpo.trainer import Trainer  # noqa: E402


class Tokenizer:
    """Stands for a tokenizer, of which a checkpoint only takes the files."""

    def save_pretrained(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text("{}")


class BrokenTokenizer:
    """Stands for a disk that is full when a checkpoint is half written."""

    def save_pretrained(self, folder: Path) -> None:
        raise OSError("no space left")


def optimizer_of(model: Any) -> Any:
    return torch.optim.AdamW(model.parameters(), lr=0.1)


def stepped() -> tuple[Any, Any]:
    model = tiny_llama()
    optimizer = optimizer_of(model)
    model(input_ids=torch.tensor([[1, 2, 3]])).logits.sum().backward()
    optimizer.step()
    return model, optimizer


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    model, optimizer = stepped()
    state = State(3, {"stream": "s", "next": 48}, [{"step": 3, "groups": [1, 2]}])
    torch.manual_seed(5)
    folder = checkpoint.save(tmp_path, model, Tokenizer(), optimizer, state)
    drawn = torch.rand(3)
    assert folder == checkpoint.newest(tmp_path) == tmp_path / "step-000003"
    assert checkpoint.load_state(folder) == state
    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    again = optimizer_of(loaded)
    checkpoint.load_trainer(folder, again)
    assert torch.equal(torch.rand(3), drawn)
    for old, new in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(old, new)
        assert torch.equal(optimizer.state[old]["exp_avg_sq"], again.state[new]["exp_avg_sq"])


def test_one_that_breaks_off_leaves_the_one_before(tmp_path: Path) -> None:
    model, optimizer = stepped()
    checkpoint.save(tmp_path, model, Tokenizer(), optimizer, State(1))
    with pytest.raises(OSError, match="no space"):
        checkpoint.save(tmp_path, model, BrokenTokenizer(), optimizer, State(2))
    assert checkpoint.newest(tmp_path) == tmp_path / "step-000001"
    assert checkpoint.save(tmp_path, model, Tokenizer(), optimizer, State(2)) == checkpoint.newest(tmp_path)
    assert (checkpoint.newest(tmp_path) / "tokenizer.json").exists()


def test_pruning_keeps_the_newest_and_those_that_are_needed(tmp_path: Path) -> None:
    for step in range(8):
        checkpoint.folder_of(tmp_path, step).mkdir()
    needed = [checkpoint.folder_of(tmp_path, step) for step in (0, 3)]
    checkpoint.prune(tmp_path, 2, needed)
    assert sorted(path.name[-1] for path in tmp_path.iterdir()) == ["0", "3", "6", "7"]


def test_without_a_checkpoint_there_is_none(tmp_path: Path) -> None:
    assert checkpoint.newest(tmp_path) is None
    (tmp_path / "step-000001.new").mkdir()
    assert checkpoint.newest(tmp_path) is None
    shutil.rmtree(tmp_path)
    assert checkpoint.newest(tmp_path) is None


@pytest.mark.parametrize("staleness", [0, 1, 4, 9])
def test_those_of_all_versions_that_are_trained_on_are_kept(tmp_path: Path, staleness: int) -> None:
    """Ratios are checked under a token's own weights. Tokens are up to `max_staleness` versions old, and few are older."""
    settings = read_settings(settings_file("guess"), [f"max_staleness={staleness}"])
    assert Trainer(settings, tmp_path, temperature=1.0).kept > staleness + 1
