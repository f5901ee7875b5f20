"""Gives groups of a stream to TRL's `AsyncGRPOTrainer`, as its rollout worker, and its weights to the stream's model.

    with open_stream("config.yaml", max_staleness=2) as stream:
        rollouts = AsyncRollouts(stream)
        trainer = AsyncGRPOTrainer(
            model=..., args=args, train_dataset=placeholder_dataset(), rollout_worker=rollouts.worker, weight_transfer=rollouts.transfer
        )
        rollouts.attach(trainer)
        trainer.train()

The stream plays ahead within its own bounds, and TRL takes rows from it as from a queue. All rows of a group, forks
among them, have the group's id, and the advantages of `ray_gym.advantages`.
"""

from __future__ import annotations

from typing import Any

from ray_gym.advantages import Baseline, Forks, group_normalised
from ray_gym.errors import UserError
from ray_gym.stream import BlockingStream
from ray_gym.trainers.compatibility import check_package
from ray_gym.trainers.engine import check_stream
from ray_gym.trainers.trl.acknowledgement import AfterMicroBatches, MicroBatches
from ray_gym.trainers.trl.checkpoint import SaveCursor
from ray_gym.trainers.trl.first_step import MAX_DIFFERENCE, FirstStep
from ray_gym.trainers.trl.tested import TESTED
from ray_gym.trainers.trl.transfer import WeightTransfer
from ray_gym.trainers.trl.worker import RolloutWorker

MAX_BARREN_GROUPS = 32
"""Default of the number of groups without a trainable token that may come in a row."""


class AsyncRollouts:
    """Plays groups for an `AsyncGRPOTrainer`."""

    def __init__(
        self,
        stream: BlockingStream | None,
        *,
        model: str = "policy",
        baseline: Baseline = group_normalised,
        forks: Forks = "copied",
        pushes: bool = True,
        max_barren_groups: int = MAX_BARREN_GROUPS,
        max_difference: float | None = MAX_DIFFERENCE,
        any_version: bool = False,
    ) -> None:
        """Takes an open stream on rank 0, and None on the other ranks, where TRL has no worker.

        `model`: name of the trained model in the stream's config. `baseline` and `forks`: those of `Group.advantages`.
        `pushes`: False leaves the weights to TRL, which sends them to its own vLLM server, the model's endpoint then.
        `max_barren_groups`: number of groups in a row without a trainable token after which the training ends with an
        error. `max_difference`: largest mean KL of the recorded logprobs to the trainer's at the first step; None means
        no check. `any_version`: True accepts versions of TRL that the bridge was not tested with. Errors: UserError for
        another version, and for a stream whose `max_staleness` is 0: TRL takes a micro-batch ahead.
        """
        check_package("trl", TESTED, any_version=any_version)
        self._stream = stream
        self._model = model
        self._max_difference = max_difference
        self.worker: RolloutWorker | None = None
        """Worker for the trainer's `rollout_worker`."""
        self.transfer: WeightTransfer | None = None
        """Transfer for the trainer's `weight_transfer`. It is None without `pushes`: TRL has its own."""
        if stream is None:
            return
        if stream.options.max_staleness == 0:
            raise UserError(
                "max_staleness: 0, but this trainer takes a micro-batch ahead of the one that it trains on, so it would "
                "wait for ever; give at least 1, or take the synchronous trainer"
            )
        weights = stream.weights(model) if pushes else None
        base = stream.version if weights is None else weights.version
        self.worker = RolloutWorker(stream, base, baseline, forks, max_barren_groups, tells=weights is None)
        if weights is not None:
            self.transfer = WeightTransfer(weights, base)

    def attach(self, trainer: Any) -> None:
        """Connects the trainer: groups are acknowledged once an optimiser step was made from all of their rows, and
        checkpoints have the cursor.

        Errors: UserError if trainer and stream don't fit, before anything is trained.
        """
        trainer.add_callback(FirstStep(trainer, "kl", self._max_difference))
        if self._stream is None or self.worker is None:
            return
        args = trainer.args
        check_stream(self._stream, self._model, trainer.processing_class, args.temperature)
        self.worker.limit(args.max_staleness, longest_of(trainer), len(trainer.model.get_input_embeddings().weight))
        trainer._trained_groups = batches = MicroBatches()
        trainer.add_callback(AfterMicroBatches(batches, self.worker.note_trained))
        trainer.add_callback(SaveCursor(self._stream, lambda step: self._version_at(step, args.weight_sync_steps)))

    def _version_at(self, step: int, every: int) -> int:
        """Returns the version of the weights after a step, which are pushed after `every` steps: a new one in between."""
        assert self.worker is not None
        return self.worker.served + (step % every != 0)


def longest_of(trainer: Any) -> int | None:
    """Returns the most tokens of a row that the trainer can take: its token budget and the context of its model. None
    means no limit.
    """
    config = trainer.model.config.get_text_config()
    limits = [trainer.args.token_budget, getattr(config, "max_position_embeddings", None)]
    return min((limit for limit in limits if limit is not None and limit > 0), default=None)
