"""Checks that a name which no participant or conversation of an episode has is refused where the episode is given it."""

from __future__ import annotations

from typing import Any

import pytest
from playing import Alone, Talk, play_script

from ray_gym import Task
from ray_gym.testing import play_group, play_task, says

KNOWN = "there is no participant {!r}; there are: policy, user"


class Judged(Talk):
    auxiliary = ("judge",)


@pytest.mark.parametrize("name", ["assistant", "User", "polcy"])
@pytest.mark.parametrize("asked", ["messages_of", "turns_of"])
async def test_a_reward_is_not_made_of_the_words_of_nobody(asked: str, name: str) -> None:
    class Scoring(Talk):
        def score(self, state: Any, episode: Any) -> float:
            getattr(episode, asked)(name)
            return 1.0

    game = await play_script(Scoring(), ["yes"], ["ok"], policy={"max_turns": 1})
    assert game.played.failure is not None and game.played.failure.where.startswith("Scoring.score (test_unknown")
    assert f"{asked}: {KNOWN.format(name)}" in game.played.failure.message


@pytest.mark.parametrize("asked", ["messages_of", "turns_of", "turn"])
async def test_an_auxiliary_participant_has_no_turns(asked: str) -> None:
    class Running(Judged):
        async def run(self, episode: Any) -> None:
            await getattr(episode, asked)("judge")

    players = {"policy": says("yes"), "user": says("ok"), "judge": says("1")}
    game = await play_task(Running(), Task(), players)
    assert game.failure is not None
    assert f"{asked}: 'judge' is auxiliary, and has no turns: `episode.ask` returns" in game.failure.message


async def test_words_of_another_conversation_are_read_by_its_name() -> None:
    class Drafting(Alone):
        async def run(self, episode: Any) -> None:
            draft = episode.open_thread("policy")
            episode.tell(draft, "Draft it.")
            await episode.reply(draft)
            episode.state["drafts"] = [event.content for event in episode.messages_of(draft)]
            await episode.turn("policy")

    game = await play_script(Drafting(), ["a draft", "the answer"])
    assert game.played.failure is None and game.episode.state["drafts"] == ["a draft"]
    assert game.episode.turns_of("policy") == 1


@pytest.mark.parametrize(
    ("command", "told"),
    {
        "turn": (lambda episode: episode.turn("polcy"), f"turn: {KNOWN.format('polcy')}"),
        "a thread's turn": (
            lambda episode: episode.turn(episode.open_thread("policy")),
            f"turn: {KNOWN.format('policy/1')}",
        ),
        "open_thread": (lambda episode: episode.open_thread("polcy"), f"open_thread: {KNOWN.format('polcy')}"),
        "tell": (
            lambda episode: episode.tell("polcy", "x"),
            "tell: there is no thread 'polcy'; there are: policy, user",
        ),
        "reply": (lambda episode: episode.reply("polcy"), "reply: there is no thread 'polcy'; there are: policy, user"),
    }.values(),
    ids=["turn", "a thread's turn", "open_thread", "tell", "reply"],
)
async def test_commands_refuse_unknown_names(command: Any, told: str) -> None:
    class Running(Talk):
        async def run(self, episode: Any) -> None:
            made = command(episode)
            if not isinstance(made, str | None):
                await made

    game = await play_script(Running(), ["yes"], ["ok"])
    assert game.played.failure is not None and f"ValueError: {told}" in game.played.failure.message


async def test_an_end_for_no_reason_is_refused() -> None:
    class Ending(Alone):
        async def run(self, episode: Any) -> None:
            episode.end("done")

    game = await play_script(Ending(), [])
    assert game.played.failure is not None
    assert "end: expected a StopReason, found 'done'" in game.played.failure.message


async def test_a_tests_player_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no participant 'polcy'; there are: policy, user, judge"):
        await play_task(Judged(), Task(), {"polcy": says("no")})
    with pytest.raises(ValueError, match="there is no participant 'judges'"):
        await play_task(Judged(), Task(), {}, judges={"judge": says("yes")})
    with pytest.raises(ValueError, match="there is no participant 'polcy'"):
        await play_group(Judged(), Task(), [{"polcy": says("no")}])
    with pytest.raises(ValueError, match="there is no participant 'jugde'"):
        await play_group(Judged(), Task(), [{}], judges={"jugde": says("yes")})
