"""Makes a tiny Llama, and groups of episodes whose tokens it has drawn itself, one of them with a fork."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from examples.grpo.learner import Learner
from examples.grpo.loss import distributions
from examples.grpo.settings import LossSettings, OptimizerSettings, Settings
from ray_gym.record.schema import SCHEMA
from ray_gym.stream import Group

VOCABULARY = 32


def tiny_llama(seed: int = 0) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    options = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1}
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, initializer_range=0.5, **options)).float()


def settings_of(**changes: Any) -> Settings:
    given = {"rollouts": "none.yaml", "model": {}, "optimizer": OptimizerSettings(lr=0.01), "loss": LossSettings()}
    return Settings.model_validate({**given, **changes})


def learner_of(model: Any, **changes: Any) -> Learner:
    """Makes a learner whose earlier versions all have the weights that the model has now."""
    settings = settings_of(**changes.pop("settings", {}))
    start = tiny_llama()
    start.load_state_dict(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.optimizer.lr, weight_decay=0.0)
    given = {"start": start, "weights_of": lambda version: start, "settings": settings, "temperature": 1.0}
    return Learner(model, optimizer, **{**given, **changes})


def sample(model: Any, prompt: list[int], drawn: int, *, seed: int, version: int = 0, temperature: float = 1.0) -> Any:
    """Returns a sample of the record: a prompt and `drawn` tokens, then two tokens that were told, and as many again."""
    ids, mask = list(prompt), [0] * len(prompt)
    generator = torch.Generator().manual_seed(seed)
    for is_last in (False, True):
        for _ in range(drawn):
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1] / temperature
            ids.append(int(torch.multinomial(torch.softmax(logits, -1), 1, generator=generator)))
            mask.append(1)
        if not is_last:
            ids, mask = [*ids, 5, 6], [*mask, 0, 0]
    at = torch.tensor([mask]).bool()
    with torch.no_grad():
        logprobs = torch.zeros(len(ids))
        logprobs[at[0]] = distributions(model, torch.tensor([ids]), at, temperature).of_chosen
    spans = [{"event_seq": 0, "start": 0, "end": len(ids), "generated": True, "kind": "plain", "sampling": None}]
    return {
        **{"thread": "policy", "participant": "policy", "model": "policy", "trainable": True, "fork_reason": None},
        **{"token_ids": ids, "loss_mask": mask, "logprobs": logprobs.tolist(), "spans": spans},
        "versions": [{"version": version, "start": len(prompt), "end": len(ids)}],
    }


def group_of(model: Any, number: int, rewards: list[float], **options: Any) -> Group:
    """Makes a group with an episode for each reward. The first of them has a fork, which is a second sample."""
    rows = []
    for repeat, reward in enumerate(rewards):
        seed = 100 * number + 10 * repeat
        samples = [sample(model, [1, 2, 3 + repeat], 2, seed=seed, **options)]
        if repeat == 0:
            samples.append({**sample(model, [4, 2], 1, seed=seed + 1, **options), "fork_reason": "branched"})
        rows.append(
            {
                **{"episode_id": f"g{number}-{repeat}", "group_id": f"g{number}", "task_id": f"t{number}"},
                **{"status": "completed", "repeat": repeat, "reward": reward, "stop_reason": "finished"},
                "rewards": [{"participant": "policy", "name": "reward", "value": reward}],
                "samples": [{**each, "reward": reward} for each in samples],
                "usage": {"generated_tokens": 4, "prompt_tokens": 0, "cached_tokens": 0, "model_calls": 1},
                "events": [],
            }
        )
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return Group(number, f"g{number}", f"t{number}", options.get("version", 0), table)


def batch_of(model: Any, **options: Any) -> Group:
    """Makes a batch of two groups with a spread of rewards and one without."""
    rewards = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [1.0, 1.0, 1.0])
    return Group.joined([group_of(model, number, of_group, **options) for number, of_group in enumerate(rewards)])
