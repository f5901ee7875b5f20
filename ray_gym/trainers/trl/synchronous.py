"""Gives groups of a stream to TRL's `GRPOTrainer`, as its `rollout_func`, and its weights to the stream's model.

    with open_stream("config.yaml", max_staleness=0, groups_per_version=8) as stream:
        rollouts = Rollouts(stream, forks="longest")
        trainer = GRPOTrainer(
            model=..., args=args, reward_funcs=rollouts.reward, rollout_func=rollouts, train_dataset=placeholder_dataset()
        )
        rollouts.attach(trainer)
        trainer.train()

TRL drives: it asks for as many rows as it trains on, rank 0 takes that many whole groups from the stream, and the rows
go to all ranks.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

from ray_gym.errors import RunFailed, UserError
from ray_gym.stream import BlockingStream, Group
from ray_gym.trainers.compatibility import check_package
from ray_gym.trainers.counts import add_and_say
from ray_gym.trainers.engine import check_stream
from ray_gym.trainers.one_row import ForkChoice, Limits
from ray_gym.trainers.rows import why_nothing_trains
from ray_gym.trainers.trl.acknowledgement import AfterSteps
from ray_gym.trainers.trl.checkpoint import SaveCursor
from ray_gym.trainers.trl.first_step import MAX_DIFFERENCE, FirstStep
from ray_gym.trainers.trl.publisher import Publisher
from ray_gym.trainers.trl.sequences import OneSequence, sequences_of
from ray_gym.trainers.trl.tested import TESTED


@dataclass(frozen=True, slots=True)
class Taken:
    """Holds the rows of a generation batch, for all ranks."""

    rows: list[OneSequence]
    counts: Counter[str]


class Rollouts:
    """Plays groups for a `GRPOTrainer`. It is the trainer's `rollout_func`."""

    def __init__(
        self,
        stream: BlockingStream | None,
        *,
        model: str = "policy",
        participant: str = "policy",
        forks: ForkChoice = "refuse",
        longest: int | None = None,
        pushes: bool = True,
        max_difference: float | None = MAX_DIFFERENCE,
        any_version: bool = False,
    ) -> None:
        """Takes an open stream on rank 0, and None on the other ranks.

        `model`: name of the trained model in the stream's config. `participant`: the one that is trained. `forks`: see
        `ForkChoice`. `longest`: most tokens of a sequence; None means the context of the trainer's model. `pushes`:
        False leaves the weights to TRL, whose own vLLM server is the model's endpoint then. `max_difference`: largest
        mean difference of logprobs at the first step (`MAX_DIFFERENCE`); None means no check. `any_version`: True
        accepts versions of TRL that the bridge was not tested with. Errors: UserError for another version.
        """
        check_package("trl", TESTED, any_version=any_version)
        self._stream = stream
        self._model = model
        self._participant = participant
        self._forks: ForkChoice = forks
        self._longest = longest
        self._pushes = pushes
        self._max_difference = max_difference
        self._due: deque[tuple[int, list[Group]]] = deque()
        """Groups that are being trained on, each batch with the step after which it is no more."""
        self.counts = Counter[str]()
        """Counts of what was taken and left out since the start; `sequences_of` names them."""

    def attach(self, trainer: Any) -> None:
        """Connects the trainer: its weights go to the stream's model before each rollout, groups are acknowledged once
        they were trained on, and checkpoints have the cursor.

        Errors: UserError if trainer and stream don't fit, before anything is trained.
        """
        args, accelerator = trainer.args, trainer.accelerator
        if accelerator.is_main_process == (self._stream is None):
            raise UserError(
                f"Rollouts: rank {accelerator.process_index} was given {'no' if self._stream is None else 'a'} stream; "
                "rank 0 needs one, and the others None (on CPUs, accelerate.PartialState(cpu=True) tells ranks)"
            )
        if self._pushes and args.use_vllm:
            raise UserError("use_vllm: the stream's own model plays; leave it out, or pass Rollouts(pushes=False)")
        if not self._pushes and not (args.use_vllm and args.vllm_mode == "server"):
            raise UserError('pushes=False: TRL moves the weights with use_vllm=True and vllm_mode="server" only')
        if self._pushes and hasattr(accelerator.unwrap_model(trainer.model), "peft_config"):
            raise UserError("peft_config: this bridge does not push adapters; train all weights, or pass pushes=False")
        if str(args.save_strategy.value) == "steps" and args.save_steps % steps_of_batch(trainer):
            raise UserError(
                f"save_steps: {args.save_steps} is no multiple of {steps_of_batch(trainer)}, the steps that train on one "
                "generation batch, so that a checkpoint would have part of a batch"
            )
        trainer.add_callback(FirstStep(trainer, "sampling/sampling_logp_difference/mean", self._max_difference))
        if self._stream is not None:
            tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
            check_stream(
                self._stream, self._model, tokenizer, args.temperature, args.num_generations, "num_generations"
            )
            trainer.add_callback(AfterSteps(self._acknowledge))
            trainer.add_callback(SaveCursor(self._stream, lambda step: step))
        if self._pushes:
            weights = None if self._stream is None else self._stream.weights(self._model)
            trainer.vllm_generation = Publisher(trainer, weights, self._model)
            trainer._last_loaded_step = -1
            trainer.use_vllm = True  # else TRL ignores the recorded logprobs; set in the config, it would start vLLM

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        """Returns the rows of this rank: one for each prompt, of which only the number counts.

        Errors: UserError and RunFailed, on all ranks.
        """
        from accelerate.utils import broadcast_object_list

        accelerator = trainer.accelerator
        total = len(prompts) * accelerator.num_processes
        box = [self._take(total, trainer) if accelerator.is_main_process else None]
        [taken] = broadcast_object_list(box, from_process=0)
        if isinstance(taken, Exception):
            raise taken
        for name, count in taken.counts.items():
            trainer._metrics["train"][f"ray_gym/{name}"].append(float(count))
        own = taken.rows[accelerator.process_index * len(prompts) :][: len(prompts)]
        fields = ("prompt_ids", "completion_ids", "env_mask", "logprobs", "reward")
        return {field: [getattr(row, field) for row in own] for field in fields}

    def reward(self, completions: list[Any], reward: list[float | None], **_: Any) -> list[float | None]:
        """Returns the rewards that came with the rows: the trainer's reward function."""
        return reward

    def _take(self, total: int, trainer: Any) -> Taken | Exception:
        """Takes whole groups for `total` rows, or returns the error, which all ranks have to raise."""
        try:
            if not trainer.model.training:
                raise UserError("evaluation: groups of a stream are for training; evaluate with stream.evaluate")
            return self._take_groups(total, trainer)
        except (UserError, RunFailed) as error:
            return error

    def _take_groups(self, total: int, trainer: Any) -> Taken:
        stream, step = self._stream, trainer.state.global_step
        assert stream is not None, "rank 0 has it: see attach"
        if not self._pushes and step > stream.version:
            stream.advance(step)
        groups, made, counts = list[Group](), list[OneSequence](), Counter[str]()
        size = trainer.args.num_generations
        while len(made) < total:
            group = next(stream, None)
            if group is None:
                raise UserError(
                    f"the stream ended after {self.counts['groups']} groups; give it more epochs, or fewer max_steps"
                )
            limits = Limits(self._longest or _context_of(trainer), trainer.args.max_completion_length)
            rows, found = sequences_of(
                group, size, self._forks, limits, trainer._tokenizer.eos_token_id, self._participant
            )
            groups.append(group)
            made += rows
            counts += found
        if not any(1 in row.env_mask for row in made):
            raise UserError(
                f"step {step}: no token of the batch can be trained on: {why_nothing_trains(groups)}; {dict(counts)}"
            )
        counts["groups"] = len(groups)
        self._due.append((step + steps_of_batch(trainer), groups))
        add_and_say(self.counts, counts)
        return Taken(made, counts)

    def _acknowledge(self, step: int) -> None:
        """Acknowledges the groups of the batches that were trained on after this step."""
        while self._stream is not None and self._due and self._due[0][0] <= step:
            self._stream.acknowledge(*self._due.popleft()[1])


def steps_of_batch(trainer: Any) -> int:
    """Returns the number of optimiser steps that train on one generation batch, at least 1."""
    args = trainer.args
    passes = int(args.steps_per_generation) * int(args.num_iterations)
    return max(1, math.ceil(passes / int(args.gradient_accumulation_steps)))


def _context_of(trainer: Any) -> int | None:
    """Returns the number of tokens that the trainer's model can take; None if its config does not say."""
    config = trainer.accelerator.unwrap_model(trainer.model).config.get_text_config()
    found: int | None = getattr(config, "max_position_embeddings", None)
    return found
