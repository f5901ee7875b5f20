"""Asks an environment for the tools that the policy's prompts showed, as rows that were written before version 0.2 do
not have them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from ray_gym.data.first_prompt import NoModel
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, UserError
from ray_gym.export.conversation import POLICY
from ray_gym.export.finished import Row
from ray_gym.messages import ToolSchema
from ray_gym.play.play import new_episode, set_up
from ray_gym.run.directory.directory import CONFIG, RunDirectory
from ray_gym.run.directory.reading import Run
from ray_gym.run.plan import cast_of, has_tools

WAY_OUT = "--no-tools writes the conversations without tools"
"""Hint for users, at the end of errors."""


class ToolsAsked:
    """Finds the policy's tools by its environment. If tasks bring tools, it sets their episodes up again, without
    playing them.
    """

    def __init__(self, run: Run) -> None:
        """Makes the run's environment. Errors: UserError if the run's config can't be read, or if the environment does
        not exist (any more), or gets its tools from outside.
        """
        directory = RunDirectory(run.storage)
        try:
            config = directory.read_config()
        except OSError as error:
            raise UserError(f"{run.location}: {CONFIG} can't be read ({error.strerror or error}); {WAY_OUT}") from None
        file = str(directory.config_file)
        try:
            environment, participants = cast_of(config, file)
        except UserError as error:
            raise UserError(f"the tools of the policy are asked of its environment: {error}; {WAY_OUT}") from None
        models = dict.fromkeys({participant.model for participant in participants.values()}, NoModel())
        self.environment = environment
        self._stage = Stage(environment, participants, models, config.limits)
        self._shows_any = has_tools(environment, participants[POLICY])
        self._brought = self._shows_any and environment.brings_tools()
        if self._brought and environment.opens_outside:
            raise UserError(
                f"{run.location}: the tools of {config.environment.id} come from outside, and its record, which is of before 0.2, "
                f"doesn't hold them; {WAY_OUT}"
            )
        self._runner = asyncio.Runner()
        self._of_task: tuple[str, list[dict[str, Any]]] | None = None

    def close(self) -> None:
        """Closes the environment and its tools."""
        with self._runner:
            self._runner.run(self._stage.tool_runner.close())
            self._runner.run(self.environment.close())

    def of(self, row: Row) -> list[dict[str, Any]]:
        """Returns the tools of a row's policy, in OpenAI's form; [] if its prompts showed none. Rows of one task in
        succession share a list. Errors: UserError if the task can't be set up.
        """
        if not self._shows_any:
            return []
        if not self._brought:
            tools = self.environment.tools.values()
            return _as_openai(tool.schema for tool in tools if tool.offered_to(POLICY))
        if self._of_task is None or self._of_task[0] != row["task"]:  # a group has one task
            self._of_task = row["task"], self._runner.run(self._set_up(row))
        return self._of_task[1]

    async def _set_up(self, row: Row) -> list[dict[str, Any]]:
        spec = EpisodeSpec(
            row["episode_id"], row["group_id"], row["task_id"], row["repeat"], row["seed"], row["task"], row["try"]
        )
        try:
            episode = new_episode(spec, self._stage)
            await set_up(episode)
        except EpisodeFailure as error:
            what = f"{error.failure.where}: {error.failure.message}"
            raise UserError(f"episode {spec.episode_id} can't be set up for its tools: {what}; {WAY_OUT}") from None
        return _as_openai(episode.tools_of(episode.participants[POLICY])[0])


def _as_openai(schemas: Iterable[ToolSchema]) -> list[dict[str, Any]]:
    return [schema.as_openai() for schema in schemas]
