"""Has OpenRLHF's generator, in which a service plays, make a batch, and takes it through OpenRLHF's advantages and loss.

The tiny Llama stands for the policy's DeepSpeed actors, and the hand-made service for ray_gym's.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

from absent import pretend

pretend("vllm", "deepspeed", "flash_attn", "ring_flash_attn", "bitsandbytes")  # they need GPUs
pretend("wandb", "pylatexenc", "torchmetrics")  # they log, grade or measure

import torch
from handmade import END, handmade_groups, handmade_rows, tiny_model, tiny_tokenizer
from handmade_service import serving
from openrlhf.models.loss import PolicyLoss
from openrlhf.trainer.ppo_utils.experience import Experience
from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker

from ray_gym.errors import RunFailed, UserError
from ray_gym.trainers.one_row import OneRow
from ray_gym.trainers.openrlhf.samples import GroupSamples

REPEATS, GROUPS = 4, 2


def arguments() -> Any:
    """Returns the arguments that the parts under test read, as OpenRLHF parses them."""
    of = SimpleNamespace
    return of(
        vllm=of(num_engines=0, enable_sleep=False),
        rollout=of(n_samples_per_prompt=REPEATS, batch_size=GROUPS, micro_batch_size=3),
        algo=of(
            advantage=of(estimator="group_norm", gamma=1.0, lambd=1.0, no_std_norm=False, is_correction_level="token"),
            dynamic_filtering_enable=False,
            kl=of(use_loss=False),
        ),
        train=of(async_enable=False, dynamic_batch_enable=False),
        reward=of(remote_url=["ray_gym"], clip_range=None, overlong_buffer_len=None, stop_properly_penalty_coef=None),
    )


def items(labels: list[str]) -> list[Any]:
    """Returns what OpenRLHF's data loader of prompts gives, for batches of one."""
    return [(["default"], [f"prompt {number}"], [label], [None]) for number, label in enumerate(labels)]


def logprobs_under(model: torch.nn.Module, batch: Experience) -> torch.Tensor:
    """Returns the model's logprobs of each token but the first."""
    logits = model(input_ids=batch.sequences, attention_mask=batch.attention_mask).logits[:, :-1].float()
    return logits.log_softmax(-1).gather(2, batch.sequences[:, 1:, None])[..., 0]


def refused(generator: GroupSamples, **kwargs: Any) -> str:
    """Returns what the generator raises."""
    try:
        generator.generate_samples(**kwargs)
    except (UserError, RunFailed) as error:
        return str(error)
    return ""


def main() -> None:
    """Prints one JSON object."""
    model, tokenizer, args = tiny_model(), tiny_tokenizer(), arguments()
    strategy = SimpleNamespace(args=args)
    found: dict[str, Any] = {}
    drawn = {"max_len": 500, "temperature": 1.0}
    with serving(handmade_rows(model)) as service:

        def generator(labels: list[str], forks: Any = "longest") -> GroupSamples:
            return GroupSamples(strategy, items(labels), None, tokenizer, url=service.url, forks=forks)

        samples = generator(['{"secret": 1}', '{"secret": 2}', '{"secret": 3}'])
        rows, rate, consumed, is_at_end = samples.generate_samples(**drawn)
        found["first"] = [len(rows), rate, consumed, is_at_end]
        found["counts"] = dict(samples.counts)
        found["second"] = [len(samples.generate_samples(**drawn)[0]), samples.generate_samples(**drawn)[2]]
        found["requests"] = [{**request, "seed": 0} for request in service.requests]
        found["fork"] = refused(generator([""] * 2, "refuse"), **drawn)
        found["temperature"] = refused(generator([""] * 2), max_len=500, temperature=0.7)
        found["too_long"] = refused(generator([""] * 2), max_len=5, temperature=1.0)
        found["mixed"] = refused(generator(["", "{}"]), **drawn)

    maker = RemoteExperienceMaker(None, None, None, None, SimpleNamespace(value=0.0), strategy, tokenizer)
    batches = maker.split_rollout_samples(rows)
    for batch in batches:
        batch.kl = torch.zeros_like(batch.rollout_log_probs)
    made = maker.compute_advantages_and_returns(batches)
    kept = [row for group in handmade_groups(model) for row in OneRow("longest").of(group)[0]]
    advantages = [row for batch in made for row in zip(batch.advantages, batch.action_mask.bool(), strict=True)]
    found["advantages"] = [sorted({round(float(a), 5) for a in given[mask]}) for given, mask in advantages]
    found["generated"] = [0 if row is None else row.generated for row in kept]
    found["rewards"] = [None if row is None else row.reward for row in kept]
    found["fields"] = sorted(name for name, value in vars(made[0]).items() if value is not None)
    for name, is_by_token in (("token", True), ("sequence", False)):
        loss_of = PolicyLoss(
            token_level_loss=is_by_token,
            is_correction_level="token",
            is_correction_mode="clip",
            is_correction_threshold=[0.5, 2.0],
        )
        outcomes = []
        for batch in made:
            now = logprobs_under(model, batch)
            outcomes.append(loss_of(now, now.detach(), batch.advantages, batch.action_mask, batch.rollout_log_probs))
        losses = torch.stack([loss for loss, *_ in outcomes])
        found[name] = {
            "losses": losses.tolist(),
            "mismatch": max(abs(float(kl)) for *_, kl, _ in outcomes),
            "filtered": [float(share) for *_, share in outcomes],
        }
        losses.sum().backward()
    found["gradient"] = float(sum(p.grad.norm() for p in model.parameters() if p.grad is not None))
    found["end"] = END
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main())
