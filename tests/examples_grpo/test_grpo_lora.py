"""Checks low-rank training: what is frozen, and that the engine's merged weights compute what the trainer computes."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from grpo_batches import tiny_llama  # noqa: E402

from examples.grpo.lora import add_low_rank, load_low_rank, low_rank_layers, save_policy  # noqa: E402
from examples.grpo.settings import LoraSettings  # noqa: E402

IDS = torch.tensor([[1, 5, 7, 2]])
SETTINGS = LoraSettings(rank=2, alpha=4)


def test_it_begins_as_the_model_and_learns_only_its_own_layers() -> None:
    model = tiny_llama()
    before = model(input_ids=IDS).logits
    add_low_rank(model, SETTINGS)
    assert torch.equal(model(input_ids=IDS).logits, before)
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert set(low_rank_layers(model)) == {"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj"}
    assert trained == {f"{name}.{part}" for name in low_rank_layers(model) for part in ("down", "up")}


def test_the_checkpoint_is_the_merged_model_and_what_training_continues_from(tmp_path: Path) -> None:
    model = tiny_llama()
    start = {name: weight.clone() for name, weight in model.state_dict().items()}
    add_low_rank(model, SETTINGS)
    for layer in low_rank_layers(model).values():
        torch.nn.init.normal_(layer.up)
    save_policy(model, tmp_path)
    expected = model(input_ids=IDS).logits
    merged = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    assert merged.state_dict().keys() == start.keys()
    assert [path.name for path in tmp_path.glob("*.safetensors")] == ["model.safetensors"]  # engines load them all
    assert torch.allclose(merged(input_ids=IDS).logits, expected, atol=1e-5)
    again = tiny_llama()
    add_low_rank(again, SETTINGS)
    load_low_rank(again, tmp_path)
    assert torch.equal(again(input_ids=IDS).logits, expected)
