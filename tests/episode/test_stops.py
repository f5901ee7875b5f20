"""Checks why an episode ends (its environment, turns, steps, words, silence), and that nothing happens afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playing import Alone, Game, Reply, ScriptModel, Talk, calls, play_script

from ray_gym import Environment, Episode, Message, Opening, Participant, Task, Turn, tool
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import play
from ray_gym.stop import EpisodeOver, StopReason


class Counting(Talk):
    """The episode is over when three was counted, by a tool or in words."""

    def setup(self, task: Any, episode: Episode) -> dict[str, Any]:
        return {"count": 0}

    @tool()
    def count(self, state: dict[str, Any], caller: Participant) -> int:
        state["count"] += 1
        return int(state["count"])

    def finished(self, state: dict[str, Any], episode: Episode) -> str | None:
        said = any(event.kind == "message" and "three" in event.content for event in episode.events)
        return "counted" if said or state["count"] >= 3 else None


def scored(game: Game) -> bool:
    return game.played.status == "completed" and game.played.failure is None and game.played.score is not None


async def never(request: CompletionRequest) -> Completion:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def test_finished_by_a_tool_ends_within_the_message() -> None:
    two = Message("assistant", "", tool_calls=calls("count").tool_calls * 2)
    game = await play_script(Counting(), [two, two])
    assert game.stop == ("finished", "counted") and scored(game)
    assert game.episode.state["count"] == 3, "the fourth call came after the end"
    assert game.episode.events[-1].kind == "stop" and len(game.models["policy"].requests) == 2


async def test_finished_by_words_of_either_side_ends_before_the_other_answers() -> None:
    game = await play_script(Counting(), ["one", "and three"], ["two"])
    assert game.stop == ("finished", "counted") and scored(game)
    game = await play_script(Counting(), ["one"], ["three"])
    assert game.stop == ("finished", "counted") and game.episode.turns_of("policy") == 1


async def test_a_control_flow_that_comes_to_its_end_is_completed() -> None:
    game = await play_script(Alone(), ["42"])
    assert game.stop == ("completed", "") and scored(game)


async def test_max_turns_counts_those_of_each_participant() -> None:
    game = await play_script(Talk(), ["a", "b"], ["x", "y"], limits={"max_turns": 2})
    assert game.stop == ("max_turns", "policy") and scored(game)
    assert [turn.speaker for turn in game.episode.turns] == ["policy", "user", "policy", "user"]
    game = await play_script(Talk(), ["a", "b"], ["x"], user={"max_turns": 1})
    assert game.stop == ("max_turns", "user") and [turn.speaker for turn in game.episode.turns] == [
        "policy",
        "user",
        "policy",
    ]


async def test_a_turn_has_its_steps_and_no_more() -> None:
    game = await play_script(Counting(), [calls("count"), calls("count")], ["three"], policy={"max_steps_per_turn": 2})
    assert [turn.steps for turn in game.episode.turns] == [2, 1] and game.episode.state["count"] == 2


class OneStepATurn(Counting):
    """Its control flow looks at every message, and gives a turn fewer steps than the config allows."""

    participants = ("policy",)

    async def run(self, episode: Episode) -> None:
        await episode.turn("policy", max_steps=1)
        episode.tell("policy", "go on")
        await episode.turn("policy", max_steps=5)


async def test_a_control_flow_may_give_a_turn_fewer_steps_but_never_more() -> None:
    count = calls("count")
    game = await play_script(OneStepATurn(), [count, count, "two"], policy={"max_steps_per_turn": 3})
    assert [turn.steps for turn in game.episode.turns] == [1, 2] and game.texts("relay") == ["go on"]
    game = await play_script(OneStepATurn(), [count, count], policy={"max_steps_per_turn": 1})
    assert [turn.steps for turn in game.episode.turns] == [1, 1]


async def test_stop_text_of_any_participant_is_kept_in_the_record() -> None:
    game = await play_script(Talk(), ["hello"], ["thanks ###STOP###"], user={"stop_text": "###STOP###"})
    assert game.stop == ("stop_text", "thanks ###STOP###") and scored(game)
    game = await play_script(Talk(), ["bye for now"], policy={"stop_text": "bye"})
    assert game.stop == ("stop_text", "bye for now")


@pytest.mark.parametrize(
    ("stop_text", "passed_over", "heard"),
    [
        ("END", "Enjoy the WEEKEND.", "That is it. END"),
        ("resolved", "It is unresolved.", "Now it is resolved."),
        ("<done>", "done", "ok<done>ok"),
    ],
)
async def test_a_stop_text_stands_by_itself(stop_text: str, passed_over: str, heard: str) -> None:
    game = await play_script(Talk(), [passed_over, heard], ["go on"], policy={"stop_text": stop_text})
    assert game.stop == ("stop_text", heard)


async def test_stop_text_of_one_does_not_count_for_the_other() -> None:
    game = await play_script(Talk(), ["bye"], ["bye"], policy={"max_turns": 1}, user={"stop_text": "bye"})
    assert game.stop == ("stop_text", "bye") and game.episode.turns_of("user") == 1


async def test_a_participant_who_was_told_nothing_is_not_asked() -> None:
    game = await play_script(Talk(), [""])
    assert game.stop[0] == "nothing_said" and "user" in game.stop[1] and scored(game)
    assert game.models["user"].requests == []


class Unopened(Alone):
    opening = Environment.opening


class Deaf(Talk):
    """The user speaks first, and the policy is told nothing of it."""

    def opening(self, task: Any, state: dict[str, Any]) -> Opening:
        return Opening(system={"user": "You are in a hurry."}, first="user")

    def relay(self, state: Any, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return None


class Blank(Talk):
    def opening(self, task: Any, state: dict[str, Any]) -> Opening:
        return Opening(first="user")


@pytest.mark.parametrize(
    ("environment", "where", "message"),
    [
        (
            Unopened(),
            "Unopened.opening",
            "neither it nor the task's `messages` tell policy, who speaks first, anything",
        ),
        (Blank(), "Blank.opening (test_stops.py:", "neither it nor the task's `messages` tell user, who speaks first"),
        (
            Deaf(),
            "Deaf.relay (test_stops.py:",
            "it tells policy nothing of what was said, so the policy was asked nothing",
        ),
    ],
)
async def test_an_environment_that_asks_the_policy_nothing_has_failed(
    environment: Alone, where: str, message: str
) -> None:
    game = await play_script(environment, [], ["hello"])
    failure = game.played.failure
    assert failure is not None and not scored(game) and game.models["policy"].requests == []
    assert (game.played.status, failure.kind, game.stop[0]) == ("failed", "environment", "failed")
    assert failure.where.startswith(where) and message in failure.message


async def test_a_trained_user_may_begin_with_silence() -> None:
    game = await play_script(Deaf(), [], [""], user={"trainable": True})
    assert game.stop[0] == "nothing_said" and scored(game)


async def test_silence_is_not_answered_later_either() -> None:
    """A user's silence is a failure of the user: the policy has nothing new to answer, and is not charged for it."""
    game = await play_script(Talk(), ["hello"], [""])
    assert game.played.failure is not None and game.played.failure.kind == "user" and game.played.score is None


class Private(Talk):
    """Hides the results of the user's tool from others; if `loud`, they hear a remark about it."""

    def __init__(self, loud: bool = False) -> None:
        super().__init__()
        self.loud = loud

    @tool(participants=("user",))
    def look(self, state: dict[str, Any], caller: Participant) -> str:
        return "a secret"

    def relay(self, state: Any, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        if listener.name == turn.speaker:
            return None
        return turn.text or ("they are busy" if self.loud and turn.tool_results else None)


@pytest.mark.parametrize("last", ["", calls("look")])
async def test_nor_is_a_user_who_only_uses_tools_that_nobody_is_told_of(last: Any) -> None:
    user = {"max_steps_per_turn": 2, "max_turns": 1}
    game = await play_script(Private(), ["hello"], [calls("look"), last], user=user)
    assert game.played.failure is not None and game.played.score is None
    assert (game.played.failure.kind, game.played.failure.message) == ("user", "it used its tools, and said nothing")
    game = await play_script(Private(loud=True), ["hello", "take your time"], [calls("look"), last], user=user)
    assert game.stop[0] == "max_turns" and scored(game)
    assert game.models["policy"].seen(1)[-1] == ("user", "they are busy")


async def test_one_who_plays_for_itself_may_say_nothing() -> None:
    game = await play_script(
        Private(), ["hello"], [calls("look"), ""], user={"trainable": True, "max_steps_per_turn": 2}
    )
    assert game.stop[0] == "nothing_said" and scored(game)


async def test_a_system_prompt_is_enough_for_the_first_to_speak() -> None:
    class UserFirst(Talk):
        def opening(self, task: Any, state: dict[str, Any]) -> Opening:
            return Opening(system={"user": "You are in a hurry."}, first="user")

    game = await play_script(UserFirst(), ["hello"], ["hi"], policy={"max_turns": 1}, user={"max_turns": 1})
    assert game.models["user"].seen(0) == [("system", "You are in a hurry.")]
    assert game.models["policy"].seen(0) == [("user", "hi")] and game.stop[0] == "max_turns"


@pytest.mark.parametrize("command", ["turn", "step", "tell", "call"])
async def test_a_command_after_the_end_raises(command: str) -> None:
    class Pushy(Counting):
        raised: BaseException | None = None

        async def run(self, episode: Episode) -> None:
            turn = await episode.turn("policy")
            try:
                if command == "turn":
                    await episode.turn("user")
                elif command == "step":
                    await episode.step(turn)
                elif command == "tell":
                    episode.tell("user", "psst")
                else:
                    await episode.call("policy", calls("count").tool_calls[0])
            except EpisodeOver as error:
                self.raised = error
                raise

    environment = Pushy()
    game = await play_script(environment, ["three"])
    assert isinstance(environment.raised, EpisodeOver)
    assert game.stop == ("finished", "counted") and scored(game)
    assert game.episode.events[-1].kind == "stop" and game.episode.state["count"] == 0


class Asking(Talk):
    """Its tool asks a simulator, and so does `run`."""

    auxiliary = ("simulator",)

    @tool()
    async def look(self, state: dict[str, Any], caller: Participant) -> str:
        if state.get("ends"):
            state["episode"].end(StopReason.FINISHED, "seen")
        return (await state["episode"].ask("simulator", "What is there?")).content

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {"episode": episode}


async def test_nobody_is_asked_after_the_end_but_by_who_scores() -> None:
    class Late(Asking):
        async def run(self, episode: Episode) -> None:
            assert (await episode.ask("simulator", "before")).content == "a"
            episode.end(StopReason.FINISHED, "done")
            await episode.ask("simulator", "after")

        async def score(self, state: Any, episode: Episode) -> float:
            return float((await episode.ask("simulator", "how good?")).content == "b")

    game = await asked(Late(), [], ["a", "b"])
    assert game.stop == ("finished", "done") and scored(game)
    assert [model.seen(call)[-1][1] for model in [game.models["simulator"]] for call in (0, 1)] == [
        "before",
        "how good?",
    ]


async def test_a_tool_that_asks_after_the_end_only_ends() -> None:
    class Ends(Asking):
        def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
            return {"episode": episode, "ends": True}

    game = await asked(Ends(), [calls("look")], [])
    assert game.stop == ("finished", "seen") and scored(game) and game.played.failure is None


async def asked(environment: Asking, policy: list[Reply], simulator: list[Reply]) -> Game:
    models = {"policy": ScriptModel(policy), "user": ScriptModel([]), "simulator": ScriptModel(simulator)}
    section = LimitsSection()
    cast = {name: Participant.from_config(name, ParticipantSection(model=name), section) for name in models}
    return Game(await play(EpisodeSpec("e", "g", "t", 0, 0, "{}"), Stage(environment, cast, models, section)), models)


async def test_a_run_that_ignores_the_end_is_unwound_and_scored() -> None:
    class Endless(Counting):
        async def run(self, episode: Episode) -> None:
            while True:
                await episode.turn("policy")
                await episode.turn("user")

    game = await play_script(Endless(), ["one", "three"], ["two"])
    assert game.stop == ("finished", "counted") and scored(game)
    assert [len(model.requests) for model in game.models.values()] == [2, 1]


async def test_an_environment_may_end_the_episode_itself_and_the_first_reason_counts() -> None:
    class Ending(Talk):
        async def run(self, episode: Episode) -> None:
            episode.end(StopReason.FINISHED, "no more")
            episode.end(StopReason.DEADLINE, "late")

    game = await play_script(Ending(), [])
    assert game.stop == ("finished", "no more") and game.texts("stop") == ["no more"] and scored(game)


async def test_an_opening_alone_may_be_the_end() -> None:
    """An episode is over before anyone is asked if its task starts from a finished state."""

    class Over(Counting):
        def opening(self, task: Any, state: dict[str, Any]) -> Opening:
            state["count"] = 3
            return super().opening(task, state)

    game = await play_script(Over(), [])
    assert game.stop == ("finished", "counted") and game.models["policy"].requests == []


class Together(Alone):
    """Plays in a group of tasks, until a limit ends it."""

    async def run(self, episode: Episode) -> None:
        async def play() -> None:
            while True:
                await episode.turn("policy")
                episode.tell("policy", "And once more?")

        async with asyncio.TaskGroup() as group:
            group.create_task(play())


async def test_a_limit_that_ends_a_group_of_tasks_is_no_failure() -> None:
    game = await play_script(Together(), ["42", "42"], limits={"max_turns": 2})
    assert (game.stop[0], game.played.status, game.played.failure) == ("max_turns", "completed", None)
    assert game.played.score is not None
