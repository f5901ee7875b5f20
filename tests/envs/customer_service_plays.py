"""Plays conversations of customer_service, with players in the place of its perfect ones."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from playing_tasks import generated, play_task

from ray_gym import Message
from ray_gym.envs.customer_service import CustomerService
from ray_gym.envs.customer_service.judging import GOOD, TRUE_TO_ROLE
from ray_gym.envs.customer_service.task import CustomerServiceTask
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.play.play import Played

STOP = "[END]"
MORE = Message("assistant", "There you are. Is there anything else?")


def environment(**options: Any) -> CustomerService:
    return CustomerService(CustomerService.Options(**options))


JUDGED, UNJUDGED = environment(), environment(judge=False)


@cache
def task_of(kind: str) -> CustomerServiceTask:
    tasks = (generated(JUDGED, index, seed=7) for index in range(1000))
    return next(task for task in tasks if task.goal.kind == kind)


def outage_of(days: int) -> CustomerServiceTask:
    row = task_of("outage_credit").model_dump()
    return CustomerServiceTask.model_validate(
        {**row, "goal": {"kind": "outage_credit", "days": days, "days_told": days}}
    )


async def played(
    task: CustomerServiceTask, playing: CustomerService = UNJUDGED, stop_text: str | None = STOP, **players: Player
) -> Played:
    section = {"stop_text": stop_text} if stop_text else {}
    return await play_task(playing, task, players, user=section)


def noting(player: Player, requests: list[CompletionRequest]) -> Player:
    """Returns the player, which then adds a copy of all that it is asked to `requests`."""

    def noted(request: CompletionRequest, rng: random.Random) -> Message:
        copy = CompletionRequest(list(request.messages), request.sampling, request.session_id, request.seed)
        copy.tools = request.tools
        requests.append(copy)
        message = player(request, rng)
        assert isinstance(message, Message)
        return message

    return noted


def judge_says(of_customer: str, of_agent: str = GOOD) -> Player:
    def player(request: CompletionRequest, rng: random.Random) -> Message:
        return Message("assistant", of_customer if TRUE_TO_ROLE in request.messages[0].content else of_agent)

    return player


def parts_of(one: Played) -> dict[str, float]:
    assert one.score is not None, one.failure
    return dict(one.score.parts)


def broken(one: Played) -> set[str]:
    return {name for name, value in parts_of(one).items() if value == 0}


def results_of(one: Played, name: str) -> list[str]:
    return [event.content for event in one.episode.events if event.kind == "tool_result" and event.participant == name]
