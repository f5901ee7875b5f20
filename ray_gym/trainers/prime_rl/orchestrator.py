"""Stands in the place of prime-rl's orchestrator: takes groups of a stream, and exchanges files with its trainer.

    options = Options(...)  # first: it checks what it can before the models are loaded
    with open_stream("config.yaml", overrides, cursor=cursor, max_staleness=0, groups_per_version=32) as stream:
        Orchestrator(stream, options).run(steps=1000)

Step N, from 1 on, is trained on `rollouts/step_N/rank_<r>.bin`. The trainer then writes `broadcasts/step_N`, with
`STABLE` in it once it is whole; `step_0` has the weights that it starts with. Both sides only wait for files of the
other, so either may be started first, or again.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path

from ray_gym.advantages import Baseline, Forks, group_normalised
from ray_gym.deployments.chat.checkpoint import load_tokenizer
from ray_gym.errors import RunFailed, UserError
from ray_gym.stream import BlockingStream, Group
from ray_gym.trainers.checkout import check_commit
from ray_gym.trainers.compatibility import check_group_size, check_tokenizers, check_trainable
from ray_gym.trainers.counts import add_and_say, counts_of
from ray_gym.trainers.engine import engine_tokenizer
from ray_gym.trainers.prime_rl import TESTED
from ray_gym.trainers.prime_rl.micro_batches import grid_of, write_step
from ray_gym.trainers.prime_rl.resuming import save_cursor
from ray_gym.trainers.rows import Row, rows_of, without_longer

LOOK_S = 0.2
"""Seconds between two looks for a file of the trainer."""
RESERVED = "all"
"""Name under which prime-rl logs what concerns all environments."""


@dataclass(frozen=True, slots=True)
class Options:
    """Holds what the orchestrator has to know of prime-rl's trainer."""

    folder: Path
    """Run directory of prime-rl, which trainer, orchestrator and replicas of the model see: its `output_dir`."""
    ranks: int
    """Number of data-parallel ranks of the trainer."""
    most_tokens: int
    """Most tokens of a micro-batch: `model.seq_len` of the trainer."""
    groups: int
    """Number of groups of a step."""
    start: str
    """Model that the trainer begins with, whose tokenizer is compared with that of the stream's model."""
    checkout: Path | None = None
    """Folder of prime-rl, whose commit is checked; None is for `any_version`."""
    any_version: bool = False
    """True accepts a prime-rl of any commit."""
    model: str = "policy"
    """Name of the trained model in the stream's config."""
    multiple_of: int = 1
    """Number that divides the tokens of each micro-batch; prime-rl pads to multiples of its context parallelism."""
    silence_s: float = 3600.0
    """Seconds without the weights of a step after which the trainer is taken for dead."""
    baseline: Baseline = group_normalised
    forks: Forks = "copied"

    def __post_init__(self) -> None:
        """Checks what can be checked before models are loaded. Errors: UserError."""
        for name in ("ranks", "most_tokens", "groups", "multiple_of"):
            if (value := getattr(self, name)) < 1:
                raise UserError(f"{name}: {value}; give at least 1")
        check_commit("prime-rl", self.checkout, TESTED, any_version=self.any_version)


class Orchestrator:
    """Has prime-rl's trainer train on the groups of a stream."""

    def __init__(self, stream: BlockingStream, options: Options, first_step: int = 1) -> None:
        """Takes an open stream. `first_step`: the step that the trainer begins with, 1 more than that of its checkpoint.
        Errors: UserError if they don't fit.
        """
        self._stream = stream
        self._options = options
        self._next = first_step
        self._weights = stream.weights(options.model)
        self._lag = stream.options.max_staleness or 0
        """Number of steps that a batch is written ahead of the trainer."""
        self._out: deque[tuple[int, list[Group]]] = deque()
        """Groups of the steps that were written and are not trained on yet."""
        self.counts = Counter[str]()
        """Counts of what was taken and left out since the start; `counts_of` names them."""
        check_group_size(stream.config.tasks.repeats)
        if (theirs := engine_tokenizer(stream, options.model)) is not None:
            check_tokenizers(load_tokenizer(options.start).tokenizer, theirs, f"models.{options.model}")
        self._environment = stream.config.environment.id
        if self._environment == RESERVED:
            raise UserError(f"environment.id: prime-rl keeps the name {RESERVED!r} for itself; name it otherwise")

    def run(self, steps: int) -> None:
        """Writes the batches up to step `steps`, and returns once the last is trained on.

        Errors: RunFailed if the trainer is silent; those of the stream and of the updates of weights.
        """
        self._load(self._next - 1)
        for step in range(self._next, steps + 1):
            while self._out and self._out[0][0] <= step - 1 - self._lag:
                self._finish(*self._out.popleft())
            self._write(step)
        while self._out:
            self._finish(*self._out.popleft())

    def _write(self, step: int) -> None:
        """Takes the groups of a step, and writes their rows for the trainer."""
        groups, rows = list[Group](), list[Row]()
        while len(groups) < self._options.groups:
            group = next(self._stream, None)
            if group is None:
                raise UserError(
                    f"step {step}: the stream has ended; give it more epochs, or the orchestrator fewer steps"
                )
            kept, too_long = without_longer(
                rows_of(group, self._options.baseline, self._options.forks), self._options.most_tokens
            )
            add_and_say(self.counts, counts_of([group], kept, too_long))
            groups.append(group)
            rows += kept
        check_trainable(rows, groups)
        participants = self._stream.config.participants
        temperatures = [participants[row.participant].sampling.temperature for row in rows]
        options = self._options
        grid = grid_of(rows, temperatures, self._environment, options.ranks, options.most_tokens, options.multiple_of)
        write_step(options.folder, step, grid)
        self._out.append((step, groups))

    def _finish(self, step: int, groups: list[Group]) -> None:
        """Waits until a step is trained on, has the model serve its weights, and notes that its groups are done with."""
        self._load(step)
        self._stream.acknowledge(*groups)
        save_cursor(self._options.folder, step, self._stream.cursor)

    def _load(self, step: int) -> None:
        """Waits for the weights of a step, and has the model serve them, unless it does. The step is their version."""
        folder = self._options.folder.absolute() / "broadcasts" / f"step_{step}"
        ends = time.monotonic() + self._options.silence_s
        while not (folder / "STABLE").exists():
            if time.monotonic() > ends:
                raise RunFailed(
                    f"{folder}: no STABLE came within {self._options.silence_s:g} s; is prime-rl's trainer up?"
                )
            time.sleep(LOOK_S)
        if self._weights.version < step:
            self._weights.update(step, folder)
