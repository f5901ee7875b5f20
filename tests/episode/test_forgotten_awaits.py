"""Checks that a command which is called without `await` fails the episode by name: it does nothing, and would be scored."""

from __future__ import annotations

import asyncio
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playing import Alone, Talk, calls, play_script

from ray_gym import Episode, Participant, ToolCall, tool
from ray_gym.config.sections import LimitsSection
from ray_gym.episode.stage import Stage
from ray_gym.errors import Failure, FailureKind
from ray_gym.graders import ExactMatch, Grader, Judge, Verdict
from ray_gym.play.play import score_group

MARK = "# forgotten"
PAY = ToolCall("c", "pay", "{}")


def line_of(name: str) -> int:
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if f".{name}(" in line and line.endswith(MARK))


class Turns(Talk):
    async def run(self, episode: Episode) -> None:
        episode.turn("policy")  # type: ignore[unused-coroutine]  # forgotten


class Replies(Alone):
    async def run(self, episode: Episode) -> None:
        await episode.turn("policy")
        episode.reply(episode.open_thread("policy"))  # type: ignore[unused-coroutine]  # forgotten


class Pays(Alone):
    @tool()
    def pay(self, state: Any, caller: Participant) -> str:
        async def make(key: str) -> str:
            return "paid"

        state["episode"].effect("pay", make)  # forgotten
        return "paid"

    def setup(self, task: Any, episode: Episode) -> dict[str, Any]:
        return {"episode": episode}


class AsksInScore(Alone):
    auxiliary = ("judge",)

    async def score(self, state: Any, episode: Episode) -> float:
        episode.ask("judge", "right?")  # type: ignore[unused-coroutine]  # forgotten
        return 1.0


class Grades(Alone):
    def score(self, state: Any, episode: Episode) -> float:
        return 1.0 if Judge("right?", {"[[YES]]": 1, "[[NO]]": 0}).verdict(episode) else 0.0  # forgotten


class GradesGroups(Alone):
    def score_group(self, episodes: Any) -> list[float]:
        return [1.0 if ExactMatch("42").score(episodes[0]) else 0.0]  # forgotten


class AsksInFinished(Alone):
    auxiliary = ("judge",)

    def finished(self, state: Any, episode: Episode) -> str | None:
        return "yes" if episode.consult("judge", "done?") else None  # forgotten


class CallsInFinished(Alone):
    def finished(self, state: Any, episode: Episode) -> str | None:
        return "yes" if episode.turns and episode.call("policy", PAY) else None  # forgotten


class EndsByLimit(Alone):
    async def run(self, episode: Episode) -> None:
        while True:
            await episode.turn("policy")
            episode.in_thread(len, "abc")  # type: ignore[unused-coroutine]  # forgotten
            episode.tell("policy", "Again?")


class KeepsOne(Alone):
    """Ends by its limit of turns while two commands wait for theirs."""

    async def run(self, episode: Episode) -> None:
        turns = [episode.turn("policy"), episode.turn("policy")]
        for turn in [*turns, episode.turn("policy")]:
            await turn


async def failure_of(environment: Any) -> Failure:
    game = await play_script(environment, [calls("pay"), "42"], ["hi"], limits={"max_turns": 1})
    if environment.scores_groups():
        failure = await score_group([game.played], Stage(environment, {}, {}, LimitsSection()))
        assert failure is not None
        return failure
    assert game.played.status == "failed" and game.played.score is None and game.played.failure is not None
    return game.played.failure


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize(
    ("environment", "name", "where"),
    [
        (Turns, "turn", "Turns.run"),
        (Replies, "reply", "Replies.run"),
        (Pays, "effect", "Pays.pay"),
        (AsksInScore, "ask", "AsksInScore.score"),
        (Grades, "verdict", "Grades.score"),
        (AsksInFinished, "consult", "AsksInFinished.finished"),
        (CallsInFinished, "call", "CallsInFinished.finished"),
        (GradesGroups, "score", "GradesGroups.score_group"),
        (EndsByLimit, "in_thread", "EndsByLimit.run"),
    ],
)
async def test_it_is_named_with_its_line(environment: type[Alone], name: str, where: str) -> None:
    failure = await failure_of(environment())
    assert failure.kind is FailureKind.ENVIRONMENT
    assert failure.where == f"{where} (test_forgotten_awaits.py:{line_of(name)})"
    assert f"{name}(...)` without `await`, so nothing is done" in failure.message


class TakesTurns(Alone):
    async def run(self, episode: Episode) -> None:
        assert episode.turn("policy").text  # type: ignore[attr-defined]


class TakesVerdicts(Alone):
    async def score(self, state: Any, episode: Episode) -> float:
        verdict: Any = ExactMatch("42").verdict(episode)
        return float(verdict.value)


class ReturnsCommands(Alone):
    async def score(self, state: Any, episode: Episode) -> Any:
        return ExactMatch("42").score(episode)


class NamesParts(Alone):
    def score(self, state: Any, episode: Episode) -> Any:
        return {"right": ExactMatch("42").score(episode)}


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize(
    ("environment", "told"),
    [
        (TakesTurns, "'episode.turn(...) without await' object has no attribute 'text'"),
        (TakesVerdicts, "'ExactMatch.verdict(...) without await' object has no attribute 'value'"),
        (ReturnsCommands, "score() returned ExactMatch.score(...) without await; expected a number"),
        (NamesParts, "for right; expected a number: <ExactMatch.score(...) without await>"),
    ],
)
async def test_one_that_is_taken_for_its_result_is_named(environment: type[Alone], told: str) -> None:
    assert told in (await failure_of(environment())).message


@pytest.mark.filterwarnings("ignore:coroutine")
async def test_one_that_is_called_again_and_awaited_hides_no_other() -> None:
    class Twice(Alone):
        async def run(self, episode: Episode) -> None:
            episode.turn("policy")  # type: ignore[unused-coroutine]
            await episode.turn("policy")

    assert "without `await`" in (await failure_of(Twice())).message


async def test_commands_that_are_awaited_later_or_together_are_none() -> None:
    class Later(Alone):
        async def run(self, episode: Episode) -> None:
            later = episode.turn("policy")
            threads = [episode.open_thread("policy") for _ in range(2)]
            for thread in threads:
                episode.tell(thread, "And 7 times 8?")
            await later
            await asyncio.gather(*map(episode.reply, threads))

    game = await play_script(Later(), ["42", "56", "56"])
    assert game.played.status == "completed" and game.played.failure is None


async def test_commands_that_are_cancelled_or_closed_before_they_begin_are_not_forgotten() -> None:
    class Cancels(Alone):
        async def run(self, episode: Episode) -> None:
            later = asyncio.create_task(episode.turn("policy"))
            later.cancel()
            await asyncio.wait([later])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(episode.turn("policy"), 0)
            episode.turn("policy").close()
            with pytest.raises(ExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    group.create_task(episode.turn("policy"))
                    raise ValueError
            await asyncio.wait_for(episode.turn("policy"), 60)

    game = await play_script(Cancels(), ["42"])
    assert game.played.status == "completed" and game.played.failure is None


@pytest.mark.parametrize("name", ["turn", "step", "call", "reply", "ask", "consult", "effect", "isolated"])
def test_a_command_is_known_as_async_to_those_who_ask(name: str) -> None:
    is_async = inspect.iscoroutinefunction if sys.version_info >= (3, 12) else asyncio.iscoroutinefunction
    assert is_async(getattr(Episode, name)) and is_async(getattr(object.__new__(Episode), name))


async def test_commands_whose_turn_has_not_come_at_the_end_are_not_forgotten() -> None:
    game = await play_script(KeepsOne(), ["42"], limits={"max_turns": 1})
    assert game.stop[0] == "max_turns" and game.played.status == "completed"


async def test_a_grader_is_given_the_episode_by_its_name() -> None:
    class ByName(Alone):
        async def score(self, state: Any, episode: Episode) -> Any:
            await ExactMatch("42").verdict(episode=episode, name="again")
            return await ExactMatch("42").score(episode=episode)

    game = await play_script(ByName(), ["42"])
    assert game.played.score is not None and game.played.score.reward == 1.0


class GradesGroupsByName(Alone):
    def score_group(self, episodes: Any) -> list[float]:
        return [1.0 if ExactMatch("42").score(episode=episodes[0]) else 0.0]


@pytest.mark.filterwarnings("ignore:coroutine")
async def test_a_graders_command_by_the_episodes_name_is_not_forgotten_in_silence() -> None:
    failure = await failure_of(GradesGroupsByName())
    assert "score(...)` without `await`, so nothing is done" in failure.message


@pytest.mark.filterwarnings("error")
async def test_a_grader_judges_what_stands_for_an_episode() -> None:
    class Always(Grader):
        async def grade(self, episode: Any) -> Verdict:
            return Verdict(1.0, "")

    stand_in: Any = SimpleNamespace(record_verdict=lambda *given: None)
    assert (await Always().verdict(stand_in)).value == 1.0
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'episode'"):
        Always().verdict()  # type: ignore[call-arg, unused-coroutine]
