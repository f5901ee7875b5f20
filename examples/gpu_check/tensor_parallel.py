"""Checks the parity of logprobs with two tensor-parallel ranks: `python -m examples.gpu_check.tensor_parallel`.

The small model's nine heads can't be shared by two ranks. So a new Llama with random weights and the small model's
tokenizer is played; under a grammar it makes legal moves, too. The comparison is that of `benchmarks.parity`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from benchmarks import parity
from benchmarks.command import not_negative, positive
from ray_gym.deployments.small_model import checkpoint_dir

SHAPE = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4}
"""Shape of the Llama, with heads of 64."""
CASE = ["--dtypes", "float32", "--cases", "constrained-0.7-top-p", "--tensor-parallel", "2"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns the exit code of `benchmarks.parity`."""
    given = parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ray_gym_two_ranks_") as folder:
        model = make_llama(Path(folder) / "model", checkpoint_dir())
        numbers = ["--json", str(given.json)] if given.json else []
        size = ["--episodes", str(given.episodes), "--gpus", str(given.gpus)]
        return parity.main([*CASE, "--model", str(model), *size, *numbers])


def make_llama(folder: Path, like: Path) -> Path:
    """Writes a Llama with random weights, which has the tokenizer of the checkpoint `like`, and returns its folder."""
    tokenizer = AutoTokenizer.from_pretrained(like)
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), initializer_range=0.1, tie_word_embeddings=True, **SHAPE, **ids)
    LlamaForCausalLM(config).float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shutil.copy(like / "generation_config.json", folder)
    return folder


def parser() -> argparse.ArgumentParser:
    """Makes the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m examples.gpu_check.tensor_parallel", description=__doc__)
    made.add_argument("--episodes", type=positive, default=16, help="number of episodes (default 16)")
    made.add_argument("--gpus", type=not_negative, default=0, help="GPUs of each rank (default 0: CPU)")
    made.add_argument("--json", metavar="FILE", help="write all numbers to this file as well")
    return made


if __name__ == "__main__":
    sys.exit(main())
