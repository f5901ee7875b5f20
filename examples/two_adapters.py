"""Trains two LoRA adapters on one base at once, each from its own samples only: `python -m examples.two_adapters`.

Policy and user say a digit each. The policy is paid for even ones, the user for odd ones, so neither could learn from
the other's samples. Nothing of the trainer is in ray_gym: it makes a tiny base that says any digit, takes groups, and
gives each line its next version.
"""

from __future__ import annotations

import json
import random
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from ray_gym import Environment, Episode, Opening, Task
from ray_gym.score import Score
from ray_gym.stream import Group, open_stream
from ray_gym.stream.tensors import Tensors, tensors_of

FOLDER = Path("runs/two_adapters")
LINES = ("policy", "user")
GROUPS = 4
RANK, ALPHA, RATE = 8, 16, 0.008
TEACHING = 300
"""Steps in which the base learns to say a digit."""
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
SPECIAL = ("[pad]", "[unk]", "[system]", "[user]", "[assistant]", "[end]")
TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}]{{ message.content }}[end]{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


class Asked(Task):
    letter: str


class Digits(Environment[Asked, str]):
    """The policy answers a letter with an even digit, and then the user the policy with an odd one."""

    participants = LINES

    def generate(self, rng: random.Random, index: int) -> Asked:
        return Asked(letter=rng.choice("abcdefgh"))

    def setup(self, task: Asked, episode: Episode) -> str:
        return task.letter

    def opening(self, task: Asked, state: str) -> Opening:
        return Opening(messages={"policy": state})

    def next_speaker(self, state: str, episode: Episode, turn: Any) -> str | None:
        return "user" if turn.speaker == "policy" else None

    def score(self, state: str, episode: Episode) -> Score:
        said = {turn.speaker: turn.text for turn in episode.turns}
        paid = {"policy": "02468", "user": "13579"}
        rewards = {name: float(len(text) == 1 and text in paid[name]) for name, text in said.items()}
        return Score(rewards["policy"], others={"user": rewards.get("user", 0.0)})


class LowRank(nn.Module):  # type: ignore[misc,unused-ignore]
    """Adds one of several low-rank changes to a linear layer, which stays as it is (Hu et al. 2022, LoRA)."""

    def __init__(self, base: nn.Linear, lines: Sequence[str]) -> None:
        super().__init__()
        self.base, self.line = base, ""
        self.down = nn.ParameterDict(
            {line: torch.randn(RANK, base.in_features) / base.in_features**0.5 for line in lines}
        )
        self.up = nn.ParameterDict({line: torch.zeros(base.out_features, RANK) for line in lines})

    def forward(self, inputs: Tensor) -> Tensor:
        changed = inputs @ self.down[self.line].T @ self.up[self.line].T
        return self.base(inputs) + ALPHA / RANK * changed  # type: ignore[no-any-return,unused-ignore]


class Adapters:
    """Holds one base, and an adapter with an optimiser of its own for each line."""

    def __init__(self, base: LlamaForCausalLM, lines: Sequence[str]) -> None:
        self.model = base.requires_grad_(False)
        named = [(name, layer) for name, layer in base.named_modules() if name.rpartition(".")[2] in TARGETS]
        self._layers = {name: LowRank(layer, lines) for name, layer in named}
        for name, layer in self._layers.items():
            parent, _, own = name.rpartition(".")
            setattr(base.get_submodule(parent), own, layer)
        self._optimisers = {line: torch.optim.Adam(self.parameters(line), lr=RATE) for line in lines}

    def parameters(self, line: str) -> list[nn.Parameter]:
        """Returns the trainable parameters of a line."""
        return [part[line] for layer in self._layers.values() for part in (layer.down, layer.up)]

    def logprobs(self, line: str, batch: Tensors) -> Tensor:
        """Returns the logprob of each generated token under a line's adapter: float32 [tokens]."""
        for layer in self._layers.values():
            layer.line = line
        logits = self.model(input_ids=batch.token_ids, attention_mask=batch.attention_mask).logits[:, :-1]
        every = torch.log_softmax(logits, -1).gather(2, batch.token_ids[:, 1:, None])[..., 0]
        return every[batch.loss_mask[:, 1:]]  # type: ignore[no-any-return,unused-ignore]

    def learn(self, line: str, batch: Tensors, version: int) -> float:
        """Does one step of policy gradient on a line's own samples, and returns the largest distance of a ratio from 1.

        Every token is of the version that serves, so ratios are 1 before the step; and no other line gets a gradient.
        """
        assert set(batch.versions[batch.loss_mask].tolist()) == {version}, "samples of other weights"
        ratios = (self.logprobs(line, batch) - batch.logprobs[batch.loss_mask]).exp()
        advantages = batch.advantages[batch.sample_of[batch.loss_mask]]
        self._optimisers[line].zero_grad()
        (-ratios * advantages).mean().backward()
        others = [one for other in self._optimisers if other != line for one in self.parameters(other)]
        assert all(one.grad is None for one in others), "a gradient of the other line's"
        nn.utils.clip_grad_norm_(self.parameters(line), 1.0)
        self._optimisers[line].step()
        self._optimisers[line].zero_grad()
        return float((ratios.detach() - 1).abs().max())

    def save(self, line: str, folder: Path) -> Path:
        """Writes a line's adapter as vLLM reads it, and returns its folder."""
        folder.mkdir(parents=True, exist_ok=True)
        parts = {"lora_A": "down", "lora_B": "up"}
        tensors = {
            f"base_model.model.{name}.{part}.weight": getattr(layer, own)[line].detach().clone()
            for name, layer in self._layers.items()
            for part, own in parts.items()
        }
        save_file(tensors, folder / "adapter_model.safetensors")
        described = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": ALPHA, "bias": "none"}
        (folder / "adapter_config.json").write_text(json.dumps({**described, "target_modules": list(TARGETS)}))
        return folder


def make_base(folder: Path) -> LlamaForCausalLM:
    """Makes a Llama of 0.1 million weights with a tokenizer of single characters, teaches it to say any digit, and saves
    both.
    """
    vocabulary = [*SPECIAL, *"0123456789abcdefghijklmnop"]
    inner = Tokenizer(models.WordLevel({token: number for number, token in enumerate(vocabulary)}, unk_token="[unk]"))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.Split(Regex("."), "isolated"), decoders.Fuse()
    special = {"pad_token": "[pad]", "unk_token": "[unk]", "eos_token": "[end]"}
    more = [token for token in SPECIAL if token not in special.values()]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, additional_special_tokens=more, **special)
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(
        vocab_size=len(vocabulary), **sizes, max_position_embeddings=64, initializer_range=0.1,
        bos_token_id=None, eos_token_id=SPECIAL.index("[end]"), pad_token_id=0,
    )  # fmt: skip
    model = LlamaForCausalLM(config).float()
    _teach(model, vocabulary)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def _teach(model: LlamaForCausalLM, vocabulary: Sequence[str]) -> None:
    """Teaches a model to answer one character with one digit, each as likely as the others."""
    user, assistant, end, zero = (vocabulary.index(token) for token in ("[user]", "[assistant]", "[end]", "0"))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(TEACHING):
        asked, digits = torch.randint(zero, len(vocabulary), (64,)), torch.randint(zero, zero + 10, (64,))
        columns = (user, asked, end, assistant, digits, end)
        rows = torch.stack([torch.as_tensor(column).expand(64) for column in columns], 1)
        labels = torch.where(torch.arange(rows.shape[1]) < 4, -100, rows)
        model(input_ids=rows, labels=labels).loss.backward()
        optimiser.step()
        optimiser.zero_grad()


def batch_of(groups: Sequence[Group], line: str) -> Tensors:
    """Returns the samples of one model, with their advantages: each participant is compared with itself."""
    joined = Group.joined(groups)
    own = np.array([model == line for model in joined.samples.column("model").to_pylist()])
    return tensors_of(joined.samples.filter(pa.array(own)), joined.advantages()[own])


def train(steps: int, folder: Path = FOLDER, overrides: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Trains both lines for some steps, prints the mean rewards of each, and returns them."""
    folder = folder.absolute()  # the replicas have another working directory
    adapters, told = Adapters(make_base(folder / "base"), LINES), []
    begins = [f"run.name=two_adapters-{secrets.token_hex(4)}", f"output.dir={folder / 'runs'}"]  # a stream of its own
    begins += [f"models.base.model={folder / 'base'}", *overrides]
    with open_stream("examples/two_adapters.yaml", begins, max_staleness=0, groups_per_version=GROUPS) as stream:
        weights = {line: stream.weights(line) for line in LINES}
        for step in range(1, steps + 1):
            groups = [next(stream) for _ in range(GROUPS)]
            now: dict[str, Any] = {"step": step}
            for line in LINES:
                batch = batch_of(groups, line)
                far = adapters.learn(line, batch, weights[line].version)
                assert far < 1e-2, f"step {step}: a ratio of {line} is {far:.3f} away from 1"
                now[line] = {"reward": float(batch.rewards.mean()), "samples": len(batch.rows), "from_1": far}
            for line in LINES:  # with the same number: the stream's version is the older of the two
                weights[line].update(step, adapter=adapters.save(line, folder / line / str(step)))
            stream.acknowledge(*groups)
            told.append(now)
            print(f"step {step}: " + ", ".join(f"{line} {now[line]['reward']:.2f}" for line in LINES), flush=True)
    return told


if __name__ == "__main__":
    train(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
