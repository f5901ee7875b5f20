"""Plays the episodes of a check, each of which is a scene, and compares their records."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_gym.check.casts import PERFECT, cast_of
from ray_gym.check.players import random_judge
from ray_gym.check.subject import Subject
from ray_gym.check.waiting import WAITS_S, limit_waiting
from ray_gym.config.sections import GroupsSection, LimitsSection, ParticipantSection, RetriesSection
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.environment import Environment
from ray_gym.episode.participant import Participant
from ray_gym.episode.rules import Rules
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import placed
from ray_gym.journal.history import HistoryReader
from ray_gym.journal.journal import Journal
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.models.player import Player
from ray_gym.play.play import Played
from ray_gym.record.rows import row_of
from ray_gym.record.schema import without_volatile
from ray_gym.run.lease import Lease
from ray_gym.run.worker.player import LeasePlayer
from ray_gym.sandbox.supply import SandboxSupply
from ray_gym.seeds import derive_seed
from ray_gym.tools.runner import ToolRunner

_LATER_S = 2 * WAITS_S
"""Seconds that a tool may take: more than `WAITS_S`, so that a tool that waits for ever is reported as such."""
_NO_RETRIES = RetriesSection(infra=0, user=0, judge=0, environment=0, nondeterminism=0)
LIMITS = LimitsSection(max_turns=4, max_steps_per_turn=3, tool_deadline_s=_LATER_S, retries=_NO_RETRIES)
PERFECT_LIMITS = LimitsSection(max_turns=30, max_steps_per_turn=30, tool_deadline_s=_LATER_S, retries=_NO_RETRIES)
COMPARED = 2
"""Number of episodes of a group whose episodes are scored together."""

Memory = dict[tuple[str, int], Message]
"""Messages of players, by thread and seed of the request."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene is one episode to play: the index of its task, and the name of its cast."""

    task: int
    cast: str

    def __str__(self) -> str:
        return f"task {self.task}, {self.cast}"


@dataclass(slots=True)
class Play:
    """Holds the result of playing a scene.

    `row` is the first episode's record, without what may differ between plays.
    """

    scene: Scene
    group: list[Played]
    """The scene's episode; COMPARED episodes if the environment scores whole groups."""
    stage: Stage
    row: dict[str, Any]
    memory: Memory
    answered: int
    """Number of model calls that were not answered from a journal."""

    @property
    def played(self) -> Played:
        """Returns the first episode of the group."""
        return self.group[0]

    @property
    def is_repeatable(self) -> bool:
        """Says whether another play of the scene must give the same record.

        It need not if a whole group was scored and failed: its comparisons run at the same time, and it is chance which
        of them fails first.
        """
        return len(self.group) == 1 or self.played.status == "completed"

    def random_judges(self) -> list[str]:
        """Returns the names of the judges that were asked and play at random. With any, the reward is chance."""
        models = self.stage.models.items()
        return [
            name for name, one in models if isinstance(one, RememberingModel) and one.is_random_judge and one.answered
        ]


@dataclass(slots=True)
class RememberingModel:
    """Answers model calls by a player, and remembers the answers: every play of a scene that shares `memory` gets the
    same ones. Thus players that keep a state make no difference between plays.
    """

    player: Player
    memory: Memory
    goes_on: Callable[[], None]
    """Function that is called before each answer, which shows that the episode goes on."""
    answered: int = 0
    offered: set[str] = field(default_factory=set)
    """Names of the tools that the player was shown."""

    @property
    def is_random_judge(self) -> bool:
        return self.player is random_judge

    async def complete(self, request: CompletionRequest) -> Completion:
        """Lets other tasks of the event loop run first, then answers.

        Errors: EpisodeFailure if the player raises, or if the request has a `response_format`.
        """
        await asyncio.sleep(0)
        self.goes_on()
        self.answered += 1
        self.offered.update(tool.name for tool in (*request.tools, *request.allowed_tools))
        key = (request.thread, request.seed)
        if key not in self.memory:
            self.memory[key] = (await ScriptedModel(self.player, {}, 0).complete(request)).message
        return Completion(self.memory[key])

    async def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Theatre:
    """A theatre plays scenes of one subject."""

    subject: Subject
    runner: ToolRunner = field(default_factory=ToolRunner)
    sandboxes: SandboxSupply | None = None
    """Sandboxes of the episodes; None if the environment uses none."""
    bad_ends: list[str] = field(default_factory=list)
    """Errors that environments raised when they were closed."""

    @classmethod
    def of(cls, subject: Subject) -> Theatre:
        """Makes the theatre of a subject. Errors: UserError if it needs a sandbox, which this machine does not have."""
        return cls(subject, sandboxes=SandboxSupply.of_bubblewrap() if subject.make().uses_sandbox else None)

    async def close(self) -> None:
        await self.runner.close()
        if self.sandboxes is not None:
            await self.sandboxes.close()

    @asynccontextmanager
    async def environment(self) -> AsyncIterator[Environment[Any, Any]]:
        """Yields a fresh instance of the environment, and closes it at the end of the block. Errors: WaitsForEver."""
        environment = self.subject.make()
        try:
            yield environment
        finally:
            await self.close_environment(environment)

    async def close_environment(self, environment: Rules) -> None:
        """Closes an environment. An exception of its `close` is added to `bad_ends`. Errors: WaitsForEver."""
        async with limit_waiting(environment, "closing it"):
            try:
                closing: object = environment.close()
                if inspect.isawaitable(closing):
                    await closing
            except (Exception, SystemExit) as error:
                self.bad_ends.append(placed(error))

    def spec(self, scene: Scene, repeat: int = 0) -> EpisodeSpec:
        """Returns the spec of a scene's episode, with a seed of its own for each repeat (from 0)."""
        row = self.subject.tasks[scene.task]
        seed = derive_seed(self.subject.seed, row.task_id, scene.cast, repeat)
        return EpisodeSpec(f"{row.task_id}/{scene.cast}/{repeat}", row.task_id, row.task_id, repeat, seed, row.task)

    def stage(
        self,
        scene: Scene,
        environment: Environment[Any, Any],
        memory: Memory,
        goes_on: Callable[[], None] = lambda: None,
    ) -> Stage:
        """Returns the stage of a scene: its participants with their models, and limits.

        `memory` has the messages that players gave before. `goes_on` is called before each answer.
        """
        players: Mapping[str, Player] = cast_of(scene.cast, environment, self.subject.task(scene.task))
        limits = PERFECT_LIMITS if scene.cast == PERFECT else LIMITS
        cast = {name: Participant.from_config(name, ParticipantSection(model=name), limits) for name in players}
        models = {name: RememberingModel(player, memory, goes_on) for name, player in players.items()}
        return Stage(
            environment,
            cast,
            models,
            limits,
            self.runner,
            sandboxes=self.sandboxes,
            filled_in=self.subject.filled_in,
        )

    async def play(
        self,
        scene: Scene,
        environment: Environment[Any, Any] | None = None,
        memory: Memory | None = None,
        journal: Journal | None = None,
        adopted: Sequence[str] = (),
    ) -> Play:
        """Plays a scene on `environment`; None: on a fresh instance, which is closed at the end.

        `memory` has the messages that players gave in earlier plays; None: there are none. `journal` records the
        episode, and `adopted` names fenced journals that it continues. Exceptions of the environment's code are
        failures in the result. Errors: WaitsForEver.
        """
        if environment is None:
            async with self.environment() as fresh:
                return await self.play(scene, fresh, memory, journal, adopted)
        memory = {} if memory is None else memory
        async with limit_waiting(environment, str(scene)) as goes_on:
            return await self._play(scene, self.stage(scene, environment, memory, goes_on), memory, journal, adopted)

    async def _play(
        self, scene: Scene, stage: Stage, memory: Memory, journal: Journal | None, adopted: Sequence[str]
    ) -> Play:
        histories = HistoryReader(Path(journal.path).parent) if journal is not None else None
        player = LeasePlayer(stage, GroupsSection(), journal, histories)
        count = COMPARED if stage.environment.scores_groups() else 1
        leases = [Lease(self.spec(scene, repeat), tuple(adopted)) for repeat in range(count)]
        group = await player.close_group([await player.play(lease) for lease in leases])
        answered = sum(model.answered for model in stage.models.values() if isinstance(model, RememberingModel))
        return Play(scene, group, stage, record_of(group[0]), memory, answered)


def record_of(played: Played) -> dict[str, Any]:
    """Returns the row of an episode without the fields that may differ between two plays."""
    return without_volatile(row_of(played, "check", "checked"))


def as_json(row: dict[str, Any]) -> str:
    """Returns a row as JSON text with sorted keys, for comparison across processes."""
    return json.dumps(row, sort_keys=True, default=str)


def difference(one: Any, other: Any, place: str = "") -> str | None:
    """Returns a text that says where two values differ first, and how; None if they are equal.

    NaN equals NaN. In dictionaries, `events` are compared first. `place`: path of the values in their records.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        parts = [(f"{place}.{key}".lstrip("."), one.get(key), other.get(key)) for key in one.keys() | other.keys()]
        parts.sort(key=lambda part: (not part[0].startswith("events"), part[0]))
    elif isinstance(one, list) and isinstance(other, list):
        shorter = min(len(one), len(other))
        parts = [(f"{place}[{n}]", one[n], other[n]) for n in range(shorter)]
        if len(one) != len(other):
            parts.append((f"the number of {place}", len(one), len(other)))
    elif isinstance(one, str) and isinstance(other, str) and one != other:
        same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
        start = max(0, same - 20)
        return f"{place}: {_show(one[start:])} / {_show(other[start:])}"
    else:
        return None if one == other or (one != one and other != other) else f"{place}: {_show(one)} / {_show(other)}"
    return next((found for name, a, b in parts if (found := difference(a, b, name))), None)


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 70 else f"{text[:70]}..."
