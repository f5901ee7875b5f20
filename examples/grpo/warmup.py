"""Makes a new model that knows the format of a task: scripted games are played and exported, and it imitates them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from examples.grpo.settings import Settings, WarmupSettings
from examples.grpo.tokens import Conversation, encode, padded_vocabulary, train_tokenizer
from ray_gym.deployments.small_model import NAME as SMALL_MODEL
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.errors import UserError

TOKENIZER_LINES = 1000
"""Number of conversations that the tokenizer is trained on."""


def make_start_model(settings: Settings, folder: Path) -> Path:
    """Returns the folder of a model to begin with: one that the settings name, or `folder/model`, made unless it is
    there already.

    Errors: UserError for settings without games or a warm-up.
    """
    if isinstance(settings.model, str):
        return checkpoint_dir() if settings.model == SMALL_MODEL else Path(settings.model)
    made = folder / "model"
    if made.exists():
        return made
    if settings.games is None or settings.warmup is None:
        raise UserError("warmup: a new model needs the settings games and warmup")
    conversations = play_and_export(settings.games, folder, settings.seed)
    began = time.monotonic()
    tokenizer = train_tokenizer(conversations[:TOKENIZER_LINES])
    torch.manual_seed(settings.seed)
    model = new_model(settings.model, tokenizer)
    torch.set_num_threads(settings.threads)  # two on busy cores wait for each other: ten times the CPU time was seen
    imitate(model, [encode(one, tokenizer) for one in conversations], settings.warmup, settings.seed)
    scratch = made.with_suffix(".new")
    model.save_pretrained(scratch)
    tokenizer.save_pretrained(scratch)
    scratch.rename(made)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"warm-up: {size:,} parameters, {len(tokenizer)} tokens, {time.monotonic() - began:.0f} s", flush=True)
    return made


def play_and_export(games: Path, folder: Path, seed: int) -> list[Conversation]:
    """Plays scripted games by `ray-gym rollout`, exports them by `ray-gym export`, and returns the lines.

    What is there already is not played again. Errors: UserError if a command fails, which says why itself.
    """
    lines = folder / "games.jsonl"
    if not lines.exists():
        if not (folder / "games" / "summary.json").exists():
            there = (folder / "games" / "run.yaml").exists()
            place = [f"run.seed={seed}", "run.name=games", f"output.dir={folder}"]
            _ray_gym("rollout", *(["--resume", str(folder / "games")] if there else [str(games), *place]))
        _ray_gym("export", str(folder / "games"), "--form", "sft", "--min-reward", "0", "--out", str(lines))
    return [json.loads(line) for line in lines.read_text().splitlines()]


def _ray_gym(*arguments: str) -> None:
    if subprocess.run([sys.executable, "-m", "ray_gym", *arguments], check=False).returncode != 0:
        raise UserError(f"warmup: ray-gym {arguments[0]} failed, see above")


def new_model(options: dict[str, Any], tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Returns a Llama with random weights in float32. `options`: of `transformers.LlamaConfig`."""
    ids = {name: getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    config = LlamaConfig(
        vocab_size=padded_vocabulary(tokenizer),
        tie_word_embeddings=True,
        max_position_embeddings=2048,
        **{f"{name}_token_id": value for name, value in ids.items()},
        **options,
    )
    return LlamaForCausalLM(config).float()


def imitate(
    model: LlamaForCausalLM, data: list[tuple[list[int], list[bool]]], settings: WarmupSettings, seed: int
) -> None:
    """Trains a model on conversations: token ids, and which of them the policy said."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr, betas=(0.9, 0.98), weight_decay=0.01)
    data = sorted(data, key=lambda one: len(one[0]))  # neighbours are about as long, so little of a batch is padding
    drawn, losses = random.Random(seed), list[float]()
    for step in range(settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * min(1, (step + 1) / 30) * max(0.05, 1 - step / settings.steps)
        first = drawn.randint(0, max(0, len(data) - settings.batch))
        own, rest = imitation_loss(model, data[first : first + settings.batch])
        optimizer.zero_grad()
        (own + settings.rest * rest).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(own.item())
        if (step + 1) % 50 == 0:
            print(f"warm-up {step + 1}: loss {sum(losses[-50:]) / 50:.4f} on the policy's tokens", flush=True)


def imitation_loss(
    model: LlamaForCausalLM, batch: list[tuple[list[int], list[bool]]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the mean cross-entropy of the tokens that the policy said, and that of the others."""
    width = max(len(ids) for ids, _ in batch)
    ids = torch.tensor([row + [0] * (width - len(row)) for row, _ in batch])
    own = torch.tensor([mask + [False] * (width - len(mask)) for _, mask in batch])[:, 1:]
    real = torch.arange(width - 1) < torch.tensor([[len(row) - 1] for row, _ in batch])
    logits = model(input_ids=ids).logits[:, :-1]  # padding is on the right, where a causal model does not look
    losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return losses[own].mean(), losses[real & ~own].mean()
