"""Defines the methods of an environment that an episode and its driver call. `ray_gym.environment.Environment` has
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ray_gym.episode.participant import Participant
from ray_gym.episode.turn import Turn
from ray_gym.messages import ToolSchema
from ray_gym.rendering import Rendered
from ray_gym.task import Task
from ray_gym.tools.tool import Tool


class Rules(Protocol):
    """Describes an environment to the episode; `ray_gym.environment.Environment` says what each method does.

    `state` has the environment's own type. `episode` is a `ray_gym.episode.episode.Episode`, which this module can't
    import.
    """

    participants: tuple[str, ...]
    auxiliary: tuple[str, ...]

    uses_sandbox: bool

    @property
    def task_type(self) -> type[Task]: ...

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    @property
    def opening_observes(self) -> bool: ...

    def setup(self, task: Any, episode: Any) -> Any: ...

    async def furnish(self, state: Any, episode: Any) -> None: ...

    def tools_for(self, task: Any, state: Any) -> Sequence[Tool]: ...

    def opening(self, task: Any, state: Any) -> Any: ...

    async def run(self, episode: Any) -> None: ...

    def next_speaker(self, state: Any, episode: Any, turn: Turn) -> str | None: ...

    def relay(self, state: Any, episode: Any, turn: Turn, listener: Participant) -> str | None: ...

    @classmethod
    def narrows(cls) -> bool: ...

    def narrow(self, tool: ToolSchema, state: Any, caller: Participant) -> ToolSchema: ...

    def finished(self, state: Any, episode: Any) -> str | None: ...

    @classmethod
    def renders(cls) -> bool: ...

    def render(self, state: Any, episode: Any) -> Rendered | None: ...

    def score(self, state: Any, episode: Any) -> Any: ...

    def scores_groups(self) -> bool: ...

    async def score_group(self, episodes: Any) -> Sequence[Any]: ...

    async def close(self) -> None: ...
