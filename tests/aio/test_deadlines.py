"""Checks that everything an episode waits for has a deadline, and who is to blame when it passes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import pytest
from playing import Alone, Game, Reply, ScriptModel, Talk, bare, calls, play_script

from ray_gym import Episode, Participant, tool
from ray_gym.aio.clock import running_clock
from ray_gym.aio.deadlines import note_lost_try
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant as Cast
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import play


async def never(*_: Any) -> Any:
    await asyncio.Event().wait()


def ended(game: Game) -> tuple[str, str, str, str]:
    failure = game.played.failure
    assert failure is not None and game.played.score is None
    return game.played.status, failure.kind.value, bare(failure.where), failure.message


class Waits(Talk):
    """Waits for ever in one of its hooks."""

    hook = ""

    async def setup(self, task: Any, episode: Episode) -> dict[str, Any]:  # type: ignore[override]
        return await never() if self.hook == "setup" else {}

    @tool()
    async def look(self, state: Any, caller: Participant) -> str:
        return str(await never())

    async def run(self, episode: Episode) -> None:
        await (never() if self.hook == "run" else super().run(episode))

    async def score(self, state: Any, episode: Episode) -> float:
        return float(await never() if self.hook == "score" else 1)


def waiting(hook: str) -> Waits:
    environment = Waits()
    environment.hook = hook
    return environment


async def test_setup() -> None:
    game = await play_script(waiting("setup"), [], limits={"call_deadline_s": 0.02})
    told = "TimeoutError: no result within call_deadline_s (0.02 s)"
    assert ended(game) == ("failed", "environment", "Waits.setup", told) and game.stop == ("failed", told)


async def test_a_tool_call() -> None:
    game = await play_script(Waits(), [calls("look")], limits={"tool_deadline_s": 0.02})
    told = "TimeoutError: no result within tool_deadline_s (0.02 s)"
    assert ended(game) == ("failed", "environment", "tool look", told)


class Asks(Talk):
    """Has a tool whose model is not free at first, and which then never ends if it is told so."""

    @tool()
    async def look(self, state: Any, caller: Participant, for_ever: bool) -> str:
        with running_clock().count_wait():
            await asyncio.sleep(0.06)
        return str(await never()) if for_ever else "seen"


async def test_a_tool_call_does_not_count_the_wait_for_a_model() -> None:
    limits = {"tool_deadline_s": 0.03, "max_turns": 1}
    game = await play_script(Asks(), [calls("look", for_ever=False), "a"], ["b"], limits=limits)
    assert game.played.status == "completed" and game.played.failure is None
    game = await play_script(Asks(), [calls("look", for_ever=True)], limits=limits)
    assert ended(game)[3] == "TimeoutError: no result within tool_deadline_s (0.03 s)"


async def test_scoring() -> None:
    game = await play_script(waiting("score"), ["a"], ["b"], limits={"score_deadline_s": 0.02, "max_turns": 1})
    told = "TimeoutError: no result within score_deadline_s (0.02 s)"
    assert ended(game) == ("failed", "environment", "Waits.score", told)
    assert game.stop[0] == "max_turns", "why it ended is kept"


async def test_a_timeout_of_the_authors_own_is_not_taken_for_a_deadline() -> None:
    class Own(Talk):
        async def run(self, episode: Episode) -> None:
            async with asyncio.timeout(0.01):
                await never()

    game = await play_script(Own(), [])
    assert ended(game) == ("failed", "environment", "Own.run", "TimeoutError")


async def test_the_episodes_deadline_also_ends_what_a_tool_waits_for() -> None:
    game = await play_script(Waits(), [calls("look")], limits={"episode_deadline_s": 0.05})
    assert game.stop == ("deadline", "0.05 s") and game.played.status == "completed" and game.played.failure is None


async def test_scoring_has_its_own_time_after_the_episodes_deadline() -> None:
    class Slow(Waits):
        async def score(self, state: Any, episode: Episode) -> float:
            await asyncio.sleep(0.1)
            return 1.0

    slow = Slow()
    slow.hook = "run"
    game = await play_script(slow, [], limits={"episode_deadline_s": 0.02})
    assert game.stop[0] == "deadline" and game.played.status == "completed" and game.played.score is not None


def failing(times: int, answer: str) -> list[Reply]:
    async def fail(request: CompletionRequest) -> Completion:
        raise EpisodeFailure(FailureKind.INFRA, "model", "gone")

    return [*[fail] * times, answer]


async def test_the_pauses_after_a_models_failures_are_not_the_episodes_time() -> None:
    """Two pauses of more than 0.75 s in all, each longer than what is left to the episode."""
    began = time.monotonic()
    game = await play_script(Alone(), failing(2, "42"), limits={"episode_deadline_s": 0.2})
    assert game.played.status == "completed" and game.stop[0] == "completed", game.stop
    assert time.monotonic() - began > 0.7 and game.played.active_s < 0.2


async def test_nor_are_they_the_scorings() -> None:
    game = await judged(failing(1, "fine"), score_deadline_s=0.15)
    assert game.played.status == "completed", game.played.failure


async def test_a_judge_that_does_not_answer_is_the_machines_fault_and_is_asked_again() -> None:
    game = await judged([never, "fine"], call_deadline_s=0.05)
    assert game.played.status == "completed" and len(game.models["judge"].requests) == 2
    game = await judged([never, never], call_deadline_s=0.02, retries={"infra": 1})
    assert ended(game) == ("failed", "infra", "model judge", "no answer within call_deadline_s (0.02 s)")
    assert game.stop[0] == "completed"


async def test_a_late_call_says_why_its_last_try_was_lost() -> None:
    async def lose_tries(request: CompletionRequest) -> Completion:
        note_lost_try("HTTP 500: boom")
        await asyncio.sleep(0)
        note_lost_try("HTTP 503: overloaded")
        return Completion(await never())

    game = await judged([lose_tries], call_deadline_s=0.02, retries={"infra": 0})
    told = "no answer within call_deadline_s (0.02 s); last: HTTP 503: overloaded"
    assert ended(game) == ("failed", "infra", "model judge", told)
    note_lost_try("outside of any call, it is nobody's")
    game = await judged([lose_tries, never], call_deadline_s=0.02, retries={"infra": 1})
    assert ended(game)[3] == "no answer within call_deadline_s (0.02 s)", "each call has its own"


async def test_a_judge_that_raises_is_the_judges_fault() -> None:
    async def broken(request: CompletionRequest) -> Completion:
        raise EpisodeFailure(FailureKind.ENVIRONMENT, "scripted player", "no grade")

    game = await judged([broken])
    assert ended(game) == ("failed", "judge", "judge", "scripted player: no grade")


async def test_a_judge_that_waits_beyond_the_scorings_deadline() -> None:
    game = await judged([never], score_deadline_s=0.05)
    assert ended(game) == ("failed", "judge", "judge", "no result within score_deadline_s (0.05 s)")


class Impatient(Alone):
    """Gives a judge up of its own accord; then it is slow itself, or the judge is asked again."""

    auxiliary = ("judge",)

    def __init__(self, asks_again: bool) -> None:
        super().__init__()
        self.asks_again = asks_again

    async def score(self, state: Any, episode: Episode) -> float:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(episode.ask("judge", "quick?"), 0.01)
        if self.asks_again:
            await asyncio.wait([asyncio.create_task(episode.ask("judge", "at your leisure?"))])
        await asyncio.Event().wait()
        return 1.0


@pytest.mark.parametrize(("asks_again", "fault"), [(False, "environment"), (True, "judge")])
async def test_only_a_judge_that_is_waited_for_at_the_deadline_is_to_blame(asks_again: bool, fault: str) -> None:
    game = await judged([never, never], Impatient(asks_again), score_deadline_s=0.2)
    assert game.played.failure is not None and game.played.failure.kind == fault


async def test_a_simulator_that_the_episodes_deadline_cut_off_is_not_to_blame_for_the_scoring() -> None:
    class Cut(Judged):
        async def run(self, episode: Episode) -> None:
            await episode.ask("judge", "?")

        async def score(self, state: Any, episode: Episode) -> float:
            return await asyncio.Event().wait()  # type: ignore[return-value]

    game = await judged([never], Cut(), episode_deadline_s=0.05, score_deadline_s=0.05)
    assert game.stop[0] == "deadline"
    assert game.played.failure is not None and bare(game.played.failure.where) == "Cut.score"


class Judged(Alone):
    auxiliary = ("judge",)

    async def score(self, state: Any, episode: Episode) -> float:
        return float(len((await episode.ask("judge", "was it good?")).content))


async def judged(replies: list[Any], environment: Alone | None = None, **limits: Any) -> Game:
    section = LimitsSection(**limits)
    models = {"policy": ScriptModel(["hello"]), "judge": ScriptModel(list(replies))}
    cast = {name: Cast.from_config(name, ParticipantSection(model=name), section) for name in models}
    spec = EpisodeSpec("e", "g", "t", 0, 0, "{}")
    return Game(await play(spec, Stage(environment or Judged(), cast, models, section)), models)
