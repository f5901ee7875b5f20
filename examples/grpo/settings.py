"""Reads the settings of a training run: a YAML file, and `KEY=VALUE` words of the command line that go before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from omegaconf import OmegaConf
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ray_gym.errors import UserError

HERE = Path(__file__).parent
Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Section(BaseModel):
    """Holds settings. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EvaluationSettings(Section):
    """Says what is played to see how good the policy is."""

    episodes: Annotated[int, Field(ge=2)] = 200
    """Number of held-out tasks. Each is played once, and they are the same in every evaluation."""
    seed: int = 1000
    """Seed of the held-out tasks, which has to differ from the run's."""


class OptimizerSettings(Section):
    """Holds the options of AdamW (Loshchilov and Hutter 2019), without weight decay."""

    lr: Rate
    """Learning rate of the first step. It falls by the same amount every step."""
    falls_for: Count | None = None
    """Number of steps after which a tenth of it is left, and stays; None: it does not fall."""
    betas: tuple[Rate, Rate] = (0.9, 0.95)
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    """Largest norm of the gradient, which is scaled down to it."""

    def lr_at(self, step: int) -> float:
        """Returns the learning rate of a step, from 0."""
        return self.lr if self.falls_for is None else self.lr * max(0.1, 1 - 0.9 * step / self.falls_for)


class LossSettings(Section):
    """Holds the bounds between which an importance ratio keeps its gradient, and the weight of the divergence."""

    clip_low: Annotated[float, Field(gt=0, lt=1)] = 0.2
    clip_high: Annotated[float, Field(gt=0)] = 0.28
    kl: Rate = 0.0
    """Weight of the divergence from the start, which holds a policy back that would leave it in a few steps."""


class WarmupSettings(Section):
    """Says how the format is taught, by supervised learning on exported games."""

    steps: Count
    batch: Count = 32
    lr: Rate = 2e-3
    rest: Rate = 0.1
    """Weight of the loss on tokens that the policy did not say."""


class LoraSettings(Section):
    """Says which layers are trained by low-rank changes, and how."""

    rank: Count = 8
    alpha: Annotated[float, Field(gt=0)] = 16
    """Number that the change is multiplied by, after it was divided by the rank."""
    targets: tuple[str, ...] = ("q_proj", "v_proj")
    """Names of the layers."""


class Settings(Section):
    """Holds the settings of a training run."""

    rollouts: Path
    """Config of what the policy plays while it learns. Paths are relative to the file of the settings."""
    games: Path | None = None
    """Config of the scripted games whose export teaches the format; None for a model that knows it."""
    model: str | dict[str, Any]
    """Options of a new Llama (`transformers.LlamaConfig`), the folder of a checkpoint, or smollm2-135m-instruct."""
    lora: LoraSettings | None = None
    """Options of low-rank changes; None trains all weights."""
    seed: int = 0
    groups: Count = 16
    """Number of groups that an optimiser step takes."""
    max_staleness: Annotated[int, Field(ge=0)] = 1
    """Most versions that a token may be older than the weights that it trains."""
    steps: Annotated[int, Field(ge=0)] = 160
    """Number of the last optimiser step."""
    until_reward: Rate | None = None
    """Mean reward of the last five batches at which training ends before its last step; None: it does not."""
    evaluate_every: Count = 40
    """Number of steps between evaluations. There is one before the first step and one after the last."""
    tokens_per_pass: Count = 8192
    """Largest number of tokens, padding included, of a pass through the model."""
    threads: Count = 1
    """Number of threads of the trainer's torch, beside an engine that has as many."""
    optimizer: OptimizerSettings
    loss: LossSettings = LossSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    warmup: WarmupSettings | None = None


def settings_file(task: str) -> Path:
    """Returns the file of a task of the example, or the given path. Errors: UserError if there is neither."""
    for path in (HERE / task / "training.yaml", Path(task)):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.parent.name for path in HERE.glob("*/training.yaml")))
    raise UserError(f"{task}: there is no such task, and no such file; tasks: {known}")


def read_settings(file: Path, words: Sequence[str] = ()) -> Settings:
    """Reads settings. `words`: KEY=VALUE, with dots in the key. Errors: UserError that names the key."""
    try:
        merged = OmegaConf.merge(OmegaConf.load(file), OmegaConf.from_dotlist([_checked(word) for word in words]))
    except yaml.YAMLError as error:
        raise UserError(f"{file}: it is not YAML: {error}") from None
    data = OmegaConf.to_container(merged, resolve=True)
    try:
        settings = Settings.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if settings.evaluation.seed == settings.seed:
        raise UserError(
            f"{file}: evaluation.seed: it is the run's seed ({settings.seed}), so its tasks were trained on"
        )
    games = settings.games and file.parent / settings.games
    return settings.model_copy(update={"rollouts": file.parent / settings.rollouts, "games": games})


def _checked(word: str) -> str:
    if "=" not in word:
        raise UserError(f"{word}: settings are given as KEY=VALUE, e.g. steps=40")
    return word
