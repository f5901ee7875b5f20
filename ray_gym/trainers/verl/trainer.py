"""Defines verl's V1 trainer on groups of a stream: it opens the stream, pushes weights, and saves the cursor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ray
from omegaconf import OmegaConf
from verl.trainer.ppo.v1.trainer_base import PPOTrainer

from ray_gym.errors import UserError
from ray_gym.stream import open_stream
from ray_gym.trainers.engine import check_stream
from ray_gym.trainers.verl.checkpoint import opening, save_cursor
from ray_gym.trainers.verl.manager import Manager, Source
from ray_gym.trainers.verl.settings import NAME, settings_of
from ray_gym.trainers.verl.trajectories import LEAST_SCORED
from ray_gym.trainers.verl.transfer import TOKENS
from ray_gym.trainers.verl.weights import STATE


class StreamTrainer(PPOTrainer):  # type: ignore[misc]  # verl has no types
    """Trains with verl's own loop, on groups of a stream. `trainer.v1.trainer_mode=ray_gym` chooses it.

    verl makes no engines of its own: the stream's model plays, with the weights of the last step. Version n are the
    weights after step n.
    """

    _enable_hybrid_replicas = False

    def __init__(self, config: Any) -> None:
        """Takes verl's config. Errors: UserError if bridge and config don't fit, before anything is started."""
        self._settings = settings_of(OmegaConf.to_container(config, resolve=True))
        self._left = Counter[str]()
        self._opened = ExitStack()
        super().__init__(config)

    # ---- verl's hooks ----

    def on_init_end(self) -> None:
        """Opens the stream, on the checkpoint that verl has loaded, and has its model serve verl's weights."""
        stream = self._opened.enter_context(self._open())
        rollout = self.config.actor_rollout_ref.rollout
        option = "actor_rollout_ref.rollout.n"
        check_stream(stream, self._settings.model, self.tokenizer, rollout.temperature, rollout.n, option)
        data = self.config.data
        self._source = Source(
            stream,
            longest=data.max_prompt_length + data.max_response_length,
            end=self.tokenizer.eos_token_id,
            forks=self.config.algorithm.adv_estimator == "grpo",
        )
        self._weights = stream.weights(self._settings.model)
        self._push()

    def get_llm_client(self) -> Source:
        """Returns the source of groups, which verl hands to the manager."""
        return self._source

    def fit(self, agent_loop_manager: Any) -> None:
        """Trains, and closes the stream. Errors: UserError if the manager is not the bridge's; those of the stream."""
        with self._opened:
            if not isinstance(agent_loop_manager, Manager):
                raise UserError(
                    "actor_rollout_ref.rollout.agent.agent_loop_manager_class: it has to be "
                    f"{Manager.__module__}.{Manager.__name__}"
                )
            super().fit(agent_loop_manager)

    def on_step_end(self) -> None:
        """Pushes the weights of the step."""
        self._push()

    def on_sample_end(self) -> None:
        """Does nothing: verl has no engines on the trainer's GPUs to be put to sleep."""

    # ---- parts of verl's trainer that are replaced or extended ----

    def _build_replay_buffer(self) -> Any:
        """Returns verl's replay buffer, which raises an error of the stream instead of waiting for ever."""
        buffer = super()._build_replay_buffer()
        waits: Callable[..., float] = buffer._wait_for_next_poll

        def wait_for_next_poll(*given: Any) -> float:
            self.agent_loop_manager.check()
            return waits(*given)

        buffer._wait_for_next_poll = wait_for_next_poll
        return buffer

    def _balance_batch(self, batch: Any, metrics: dict[str, Any], **more: Any) -> Any:
        """Fills the batch up as verl does, and counts rows. Errors: UserError if no token of the batch can be trained."""
        tokens = [tag[TOKENS] for tag in batch.tags]
        manager: Manager = self.agent_loop_manager
        if not any(tokens):
            raise UserError(
                f"step {self.global_steps}: the batch has no trainable token: {manager.why_nothing_trains()}"
            )
        filled = super()._balance_batch(batch, metrics, **more)
        rollout = self.config.actor_rollout_ref
        each = rollout.actor.ppo_mini_batch_size * rollout.rollout.n
        counted = {
            "rows": len(tokens),
            "padded_rows": len(filled.keys) - len(tokens),
            "untrained_rows": tokens.count(0),
            "tokens": sum(tokens),
            "optimizer_steps": len(filled.keys) // each * rollout.actor.ppo_epochs,
        }
        since = Counter(manager.counts)
        since.subtract(self._left)
        self._left = Counter(manager.counts)
        metrics |= {f"{NAME}/{name}": count for name, count in {**since, **counted}.items()}
        return filled

    def _save_checkpoint(self) -> None:
        """Saves verl's checkpoint with the stream's cursor, which has the groups that are in TransferQueue or trained."""
        with self.agent_loop_manager.paused():
            folder = Path(self.config.trainer.default_local_dir) / f"global_step_{self.global_steps}"
            save_cursor(folder, self._source.stream.cursor)
            super()._save_checkpoint()

    # ---- the stream ----

    def _open(self) -> Any:
        settings = self._settings
        weights, cursor = opening(self._resumed_from(), settings.model, self.global_steps)
        return open_stream(
            settings.config,
            [*settings.overrides, *weights],
            cursor=cursor,
            max_staleness=settings.max_staleness,
            groups_per_version=None if settings.max_staleness is None else self.config.data.train_batch_size,
            min_group_size=LEAST_SCORED,
            max_open_groups=settings.max_open_groups,
            wait_s=settings.wait_s,
        )

    def _resumed_from(self) -> Path | None:
        """Returns the folder of the checkpoint that verl has loaded; None if it starts anew."""
        trainer = self.config.trainer
        if not self.global_steps:
            return None
        if trainer.resume_mode == "resume_path":
            return Path(trainer.resume_from_path).absolute()
        return (Path(trainer.default_local_dir) / f"global_step_{self.global_steps}").absolute()

    def _push(self) -> None:
        """Has the stream's model serve the weights of the last step, unless it does. Errors: UserError, RunFailed."""
        served, step = self._weights.version, self.global_steps
        if served > step:
            raise UserError(
                f"models.{self._settings.model}: it serves version {served}, and verl is at step {step}; leave "
                "weights_version out of the config, and resume from the checkpoint of its last step"
            )
        if served < step:
            answers = ray.get(self.actor_rollout_wg.update_weights(global_steps=step, mode=NAME))
            [[state]] = [answer[STATE] for answer in answers if STATE in answer]
            self._weights.update(step, state_dict=state)
