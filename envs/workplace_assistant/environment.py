"""Has the policy assist in an office. The tables should be as the request wants them at the end, and otherwise
unchanged.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from ray_gym import Environment, Episode, Opening, Score
from ray_gym.envs.workplace_assistant.clock import NOW, TODAY, spell_out_day
from ray_gym.envs.workplace_assistant.players import player_of_calls
from ray_gym.envs.workplace_assistant.requests import make_request
from ray_gym.envs.workplace_assistant.task import WorkplaceTask, carry_out_calls
from ray_gym.envs.workplace_assistant.tools import Toolbox
from ray_gym.envs.workplace_assistant.workplace import Workplace
from ray_gym.graders import FinalState
from ray_gym.models.player import Player


class WorkplaceAssistant(Toolbox, Environment[WorkplaceTask, Workplace]):
    """The policy does what the user asks with the tools of an office, and nothing else."""

    pattern = "multi-step"
    scoring = "final state"

    def generate(self, rng: random.Random, index: int) -> WorkplaceTask:
        wanted = make_request(rng)
        return WorkplaceTask(request=wanted.request, expected_calls=(*wanted.lookups, *wanted.actions))

    def setup(self, task: WorkplaceTask, episode: Episode) -> Workplace:
        """Makes the office as the calls in the task's messages left it. The model does not make them again."""
        return task.open_workplace()

    def opening(self, task: WorkplaceTask, state: Workplace) -> Opening:
        return Opening(system={"policy": _instructions(state)}, messages={"policy": task.request})

    def perfect(self, task: WorkplaceTask) -> Mapping[str, Player]:
        return {
            "policy": player_of_calls(
                task.expected_calls, sum(message.role == "assistant" for message in task.messages)
            )
        }

    async def score(self, state: Workplace, episode: Episode) -> Score:
        """Returns 1 if the tables have changed exactly as the expected calls change them, else 0."""
        task: WorkplaceTask = episode.task
        return await FinalState(
            state.changes(), carry_out_calls(task.expected_calls, task.open_workplace()).changes()
        ).score(episode)


def _instructions(workplace: Workplace) -> str:
    user = workplace.user
    return (
        f"You are the office assistant of {user.name} ({user.address}). It is {spell_out_day(TODAY)}, {NOW:%H:%M}.\n"
        "Do what you are asked with the tools, without asking back, and change nothing else. If the request has a "
        "condition that does not hold, or nothing fits it, change nothing.\n"
        "Look up ids and addresses; never guess them. You have six steps; one step may hold several calls.\n"
        "Dates are YYYY-MM-DD, moments YYYY-MM-DD HH:MM, and both days of a period belong to it. "
        "Texts that are given in quotes are used as they are. "
        "Overdue tasks are due before today and not Completed."
    )
