"""Makes Llamas of a few million parameters with the small model's tokenizer and random weights that all differ."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ray_gym.deployments.small_model import checkpoint_dir

TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json")
TARGETS = ("q_proj", "v_proj")
RANK, ALPHA = 8, 16


def make_llama(folder: Path, seed: int, hidden_size: int = 64) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=49_152,
        hidden_size=hidden_size,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=2,
        initializer_range=0.2,
    )
    LlamaForCausalLM(config).float().save_pretrained(folder)
    for name in TOKENIZER:
        shutil.copy(checkpoint_dir() / name, folder)
    return folder


def make_adapter(folder: Path, seed: int, hidden_size: int = 64) -> Path:
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    tensors = {}
    for layer in range(2):
        for target in TARGETS:
            name = f"base_model.model.model.layers.{layer}.self_attn.{target}"
            tensors[f"{name}.lora_A.weight"] = 0.3 * torch.randn(RANK, hidden_size)
            tensors[f"{name}.lora_B.weight"] = 0.3 * torch.randn(hidden_size, RANK)
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    described: dict[str, Any] = {"r": RANK, "lora_alpha": ALPHA, "target_modules": list(TARGETS), "peft_type": "LORA"}
    described |= {"task_type": "CAUSAL_LM", "bias": "none", "base_model_name_or_path": None}
    (folder / "adapter_config.json").write_text(json.dumps(described))
    return folder


def merged(base: Path, adapter: Path, folder: Path) -> Path:
    """Writes a checkpoint that computes what the base model with the adapter computes, and returns its folder."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(base, folder)
    weights, deltas = load_file(base / "model.safetensors"), load_file(adapter / "adapter_model.safetensors")
    for name in [name for name in deltas if ".lora_A." in name]:
        target = name.removeprefix("base_model.model.").replace(".lora_A.", ".")
        weights[target] += ALPHA / RANK * deltas[name.replace(".lora_A.", ".lora_B.")] @ deltas[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
