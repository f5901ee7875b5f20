"""Makes what SkyRL's trainer takes, small enough for a CPU: its config, its dataset, and workers of one tiny Llama."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from handmade import GROUPS, REPEATS, tiny_tokenizer
from skyrl.backends.skyrl_train.distributed.dispatch import WorkerOutput
from skyrl.backends.skyrl_train.utils.ppo_utils import PolicyLossRegistry
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.dataset import PromptDataset

TASKS = [{"task_id": "t1"}, {"task_id": "t0"}]
"""Tasks of the two prompts, in another order than that in which the service answers."""


def config_of(checkpoint: str, steps: int = 1, **changes: Any) -> Any:
    """Returns SkyRL's config for the hand-made batch."""
    return SkyRLTrainConfig.from_cli_overrides(
        {
            "trainer.policy.model.path": checkpoint,
            "trainer.train_batch_size": GROUPS,
            "trainer.policy_mini_batch_size": GROUPS,
            "trainer.max_training_steps": steps,
            "trainer.epochs": steps,
            "trainer.eval_interval": -1,
            "trainer.eval_before_train": False,
            "trainer.ckpt_interval": -1,
            "trainer.hf_save_interval": -1,
            "trainer.resume_mode": "none",
            "trainer.placement.colocate_all": False,
            "trainer.print_example_interval": -1,
            "trainer.algorithm.advantage_estimator": "grpo",
            "trainer.algorithm.use_kl_loss": False,
            "generator.n_samples_per_prompt": REPEATS,
            "generator.step_wise_trajectories": True,
            "generator.inference_engine.enable_ray_prometheus_stats": False,
            "data.dataloader.num_workers": 0,
            **changes,
        }
    )


def dataset_in(folder: Path) -> PromptDataset:
    """Returns SkyRL's dataset of two prompts, read from a file as its users write it."""
    file = folder / "tasks.jsonl"
    rows = [{"prompt": [{"role": "user", "content": "-"}], "task": json.dumps(task)} for task in TASKS]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return PromptDataset([str(file)], tokenizer(), max_prompt_length=512, num_workers=1)


def tokenizer() -> Any:
    """Returns the tiny tokenizer, which pads on the left as SkyRL's entry point has it."""
    made = tiny_tokenizer()
    made.padding_side = "left"
    return made


def response_logprobs(policy: torch.nn.Module, data: Any) -> torch.Tensor:
    """Returns the policy's logprobs of the tokens of a batch's responses: float32 [rows, response length]."""
    ids, mask = data["sequences"].long(), data["attention_mask"].long()
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    logits = policy(input_ids=ids, attention_mask=mask, position_ids=positions).logits.float()
    drawn = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
    return drawn[:, -data.metadata["response_length"] :]


class LocalDispatch:
    """Stands for SkyRL's `WorkerDispatch`, whose workers need GPUs: it has the model in this process.

    Its losses are those of SkyRL's registry.
    """

    def __init__(self, cfg: Any, policy: torch.nn.Module) -> None:
        self.cfg = cfg
        self.policy = policy
        self.optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
        self.ratios: list[float] = []
        """Largest distance from 1 of an importance ratio of a trained token, of the rollout's logprobs, by step."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: {} if name == "get_timing_metrics" else None

    def get_lcm_dp_size(self) -> int:
        return 1

    def forward(self, model: str, data: Any) -> WorkerOutput:
        with torch.no_grad():
            rows = response_logprobs(self.policy, data).tolist()
        return WorkerOutput(loss_fn_outputs=[{"logprobs": row} for row in rows])

    def forward_from_staged(self, model: str, data: Any) -> WorkerOutput:
        return self.forward(model, data)

    def stage_data(self, model: str, data: Any, boundaries: list[tuple[int, int]]) -> list[Any]:
        return [data[start:end] for start, end in boundaries]

    def forward_backward_from_staged(self, model: str, data: Any) -> Any:
        algorithm = self.cfg.trainer.algorithm
        logprobs = response_logprobs(self.policy, data)
        ratios = (logprobs.detach() - data["rollout_logprobs"]).exp()[data["loss_mask"] == 1]
        self.ratios.append(float((ratios - 1).abs().max()))
        loss, metrics = PolicyLossRegistry.get(algorithm.policy_loss_type)(
            logprobs,
            data["action_log_probs"],
            data["advantages"],
            config=algorithm,
            loss_mask=data["loss_mask"],
            rollout_logprobs=data["rollout_logprobs"],
        )
        loss.backward()
        return SimpleNamespace(metrics={"policy_loss": float(loss.detach()), **metrics})

    def optim_step(self, model: str) -> float:
        norm = float(torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0))
        self.optimizer.step()
        self.optimizer.zero_grad()
        return norm

    def save_hf_model(self, model: str, export_dir: str, tokenizer: Any) -> None:
        self.policy.save_pretrained(export_dir)
        tokenizer.save_pretrained(export_dir)
