"""Answers the prompts that verl asks for with groups of a stream, as verl's agent loop manager."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from verl.utils.tensordict_utils import get_non_tensor_data

from ray_gym.errors import UserError
from ray_gym.stream import BlockingStream, Group
from ray_gym.trainers.counts import LEFT_OUT, add_and_say
from ray_gym.trainers.rows import why_nothing_trains
from ray_gym.trainers.verl.trajectories import trajectories_of
from ray_gym.trainers.verl.transfer import put_group

GROUPS_KEPT = 8
"""Number of the last groups that are kept for an error to speak of."""

LOSSES = {
    **LEFT_OUT,
    "silent": "completed episodes have no trainable token, and count in the baseline only",
    "too_long": "samples are longer than data.max_prompt_length and data.max_response_length together, and left out whole",
    "alone": "samples are left out: no other episode of their group has a reward",
}
"""Counts of what is left out, and what a line says of each."""


@dataclass(frozen=True, slots=True)
class Source:
    """Holds what verl's trainer hands to the manager where its own would get a client of language models."""

    stream: BlockingStream
    longest: int | None
    """Most tokens of a sample; None: no limit."""
    end: int
    """Token id of rows that train nothing."""
    forks: bool
    """False refuses episodes with several samples."""


class Manager:
    """Gives verl one group of the stream for each prompt: its key is verl's, all else is the stream's.

    verl names the class in `actor_rollout_ref.rollout.agent.agent_loop_manager_class`. A thread waits for the groups, as
    verl wants its call to return at once. A group is acknowledged when its rows are in TransferQueue, which verl saves
    in its checkpoints.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._asked: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._handing_over = threading.Lock()
        self._last = list[Group]()
        self.counts = Counter[str]()
        """Counts of groups and of what was left out since the start; `trajectories_of` names them."""
        threading.Thread(target=self._answer_all, name="ray_gym groups", daemon=True).start()

    @classmethod
    def create(cls, config: Any, llm_client: Any, **_: Any) -> Manager:
        """Makes the manager. `llm_client`: the source that `ray_gym`'s trainer gives. Errors: UserError for another."""
        if not isinstance(llm_client, Source):
            raise UserError("trainer.v1.trainer_mode: this agent loop manager needs the trainer of its bridge, ray_gym")
        return cls(llm_client)

    def generate_sequences(self, prompts: Any) -> None:
        """Asks for a group for each prompt, and returns at once. `prompts`: TensorDict with `uid` and `global_steps`.

        Errors: UserError for uids with an underscore and for validation; what the stream raised for earlier prompts.
        """
        self.check()
        if get_non_tensor_data(prompts, "validate", False):
            raise UserError("validation: groups of a stream are for training; evaluate with ray_gym's stream.evaluate")
        uids = [str(uid) for uid in prompts["uid"]]
        if wrong := [uid for uid in uids if "_" in uid]:
            raise UserError(f"uid {wrong[0]!r}: verl takes what is before the first underscore; give uids without one")
        for uid in uids:
            self._asked.put((uid, int(prompts["global_steps"])))

    def check(self) -> None:
        """Raises the error that has ended the answers, if there is one."""
        if self._error is not None:
            raise self._error

    def why_nothing_trains(self) -> str:
        """Describes the last groups, of which nothing could be trained on."""
        return f"{why_nothing_trains(self._last)}; left out so far: {dict(self.counts)}"

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keeps rows from going into TransferQueue meanwhile, so that a checkpoint has them if the cursor does."""
        with self._handing_over:
            yield

    def _answer_all(self) -> None:
        try:
            while True:
                self._answer(*self._asked.get())
        except BaseException as error:  # the trainer's thread raises it
            self._error = error

    def _answer(self, uid: str, step: int) -> None:
        source = self._source
        group = next(source.stream, None)
        if group is None:
            raise UserError(
                f"the stream ended after {self.counts['groups']} groups; give it more epochs, or verl fewer steps"
            )
        made, counts = trajectories_of(group, uid, longest=source.longest, end=source.end, forks=source.forks)
        counts["groups"] = 1
        self._last = [*self._last, group][-GROUPS_KEPT:]
        with self._handing_over:
            put_group(uid, made, step)
            source.stream.acknowledge(group)
            add_and_say(self.counts, counts, LOSSES, prefix="ray_gym/")
