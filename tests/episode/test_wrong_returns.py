"""Checks that a hook which returns something wrong is named, with what it returned and what is expected."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from playing import Alone, bare, play_script

from ray_gym import Episode, Message, Opening, Score
from ray_gym.config.sections import LimitsSection
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure, FailureKind
from ray_gym.graders.grader import Grader, Verdict
from ray_gym.messages import ToolCall
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.play.play import score_group


def returning(hook: str, value: Any) -> Alone:
    """Makes an environment of which one hook returns this value."""
    environment: Alone = type("Odd", (Alone,), {hook: lambda self, *given: value})()
    return environment


@pytest.mark.parametrize("value", [False, True, 0, [], ["over"], "", " \n"])
async def test_an_outcome_is_a_text_or_none(value: Any) -> None:
    game = await play_script(returning("finished", value), ["42"])
    failure = game.played.failure
    assert failure is not None and failure.kind is FailureKind.ENVIRONMENT and bare(failure.where) == "Odd.finished"
    assert failure.message == (
        f"it returned {value!r}, a {type(value).__name__}; expected a text, or None while the episode goes on"
    )


@pytest.mark.parametrize(
    ("hook", "value", "told"),
    [
        ("next_speaker", "usr", "it returned 'usr', a str; expected one of policy, or None to end"),
        ("next_speaker", True, "it returned True, a bool; expected one of policy, or None to end"),
        ("run", None, "it returned None, a NoneType; expected a coroutine: write it with async def"),
        ("tools_for", None, "it returned None, a NoneType; expected a list of Tool, which tool_by_schema() makes"),
        ("tools_for", ["look"], "it returned ['look'], a list; expected a list of Tool"),
        ("opening", None, "it returned None, a NoneType; expected an Opening"),
        ("opening", Opening(messages={"policy": 5}), "it returned {'policy': 5}"),  # type: ignore[dict-item]
        ("opening", Opening(messages={"policy": [5]}), "it returned {'policy': [5]}"),  # type: ignore[list-item]
        (
            "opening",
            Opening(messages="hi"),
            """it returned 'hi', a str; expected texts by participant, as {"policy": ...}""",
        ),  # type: ignore[arg-type]
        ("opening", Opening(system="You are"), "it returned 'You are', a str; expected texts by participant"),  # type: ignore[arg-type]
        ("opening", Opening(system=["You"]), "it returned ['You'], a list; expected texts by participant"),  # type: ignore[arg-type]
        ("opening", Opening(system={"policy": None}), "it returned {'policy': None}"),  # type: ignore[dict-item]
    ],
)
async def test_the_hook_is_named(hook: str, value: Any, told: str) -> None:
    failure = (await play_script(returning(hook, value), ["42"])).played.failure
    assert failure is not None and bare(failure.where) == f"Odd.{hook}" and failure.message.startswith(told)
    assert failure.where.startswith(f"Odd.{hook} (test_wrong_returns.py:")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": "1"}, "TypeError: score() returned a str for a; expected a number: '1'"),
        ({"a": None}, "TypeError: score() returned a NoneType for a; expected a number: None"),
        ({"a": 1.0, "b": float("nan")}, "ValueError: score() returned nan for b, which is no reward"),
        (
            {},
            "ValueError: score() returned no parts, of which the reward would be the sum; return 0.0 for no reward",
        ),
        (Score("1"), "TypeError: score() returned a Score whose reward is a str; expected a number: '1'"),  # type: ignore[arg-type]
        (
            Score({"n": 0.5}),  # type: ignore[arg-type]
            "TypeError: score() returned a Score whose reward is named parts: return the parts alone, and the reward is "
            "their sum, or write Score(reward=..., parts=...) (found {'n': 0.5})",
        ),
        (
            Score(1.0, others={"usr": 1.0}),
            "ValueError: score() returned a reward for 'usr', and the participants are policy",
        ),
    ],
)
async def test_a_wrong_score_is_named(value: Any, told: str) -> None:
    failure = (await play_script(returning("score", value), ["42"])).played.failure
    assert failure is not None and failure.message == told
    assert failure.where.startswith("Odd.score (test_wrong_returns.py:")


def message_of(**fields: Any) -> Message:
    return Message(**{"role": "assistant", **fields})


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, "NoneType"),
        ("hello", "str"),
        (message_of(content=None), "Message that is none (Expected `str`, got `null` - at `$.content`)"),
        (message_of(content=object()), "Message that is none (unexpected object)"),
        (message_of(role="robot"), "Message that is none (Invalid enum value 'robot' - at `$.role`)"),
        (message_of(tool_calls=None), "Message that is none (Expected `array`, got `null` - at `$.tool_calls`)"),
        (
            message_of(tool_calls=(ToolCall("c", "t", {}),)),  # type: ignore[arg-type]
            "Message that is none (Expected `str`, got `object` - at `$.tool_calls[0].arguments`)",
        ),
    ],
)
async def test_a_player_returns_a_message(answer: Any, kind: str) -> None:
    def odd_player(request: CompletionRequest) -> Any:
        return answer

    failure = await failure_of(odd_player)
    assert failure.message.endswith(f"odd_player returned a {kind}; expected a Message with a text")
    assert failure.where == f"scripted player (test_wrong_returns.py:{odd_player.__code__.co_firstlineno})"


async def failure_of(player: Any) -> Failure:
    with pytest.raises(EpisodeFailure) as caught:
        await ScriptedModel(player, {}, 0.0).complete(CompletionRequest("t", [], Sampling(), seed=0))
    return caught.value.failure


class Wrong:
    def __call__(self, request: CompletionRequest) -> int:
        return 5


@pytest.mark.parametrize("player", [Wrong(), Wrong().__call__, partial(Wrong.__call__, Wrong()), partial(Wrong())])
async def test_the_place_of_a_player_is_that_of_its_code(player: Any) -> None:
    line = Wrong.__call__.__code__.co_firstlineno
    assert (await failure_of(player)).where == f"scripted player (test_wrong_returns.py:{line})"


async def test_a_player_with_other_parameters_is_named_by_its_place() -> None:
    def takes_three(a: Any, b: Any, c: Any) -> None: ...

    failure = await failure_of(takes_three)
    assert failure.where == f"scripted player (test_wrong_returns.py:{takes_three.__code__.co_firstlineno})"


async def test_texts_of_other_classes_are_texts() -> None:
    class Text(str): ...

    request = CompletionRequest("t", [], Sampling(), seed=0)
    said = await ScriptedModel(lambda request: message_of(content=Text("x")), {}, 0.0).complete(request)
    assert said.message == message_of(content="x") and type(said.message.content) is str


@pytest.mark.parametrize("value", [None, 1.0, {"a": 1.0}, "1"])
async def test_the_scores_of_a_group_are_a_list(value: Any) -> None:
    async def give(self: Alone, episodes: Any) -> Any:
        return value

    environment: Alone = type("Odd", (Alone,), {"score_group": give})()
    game = await play_script(environment, ["42"])
    failure = await score_group([game.played], Stage(environment, {}, {}, LimitsSection()))
    assert failure is not None and bare(failure.where) == "Odd.score_group"
    assert failure.message == (
        f"it returned {value!r}, a {type(value).__name__}; expected a list with a score for each episode"
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (float("nan"), "ValueError: for episodes[1], score_group() returned nan, which is no reward"),
        (
            None,
            "TypeError: for episodes[1], score_group() returned NoneType; expected a number, named parts or a Score",
        ),
        ({}, "ValueError: for episodes[1], score_group() returned no parts"),
        (
            {"a": 1.0, "b": "1"},
            "TypeError: for episodes[1], score_group() returned a str for b; expected a number: '1'",
        ),
        (
            Score(1.0, others={"usr": 1.0}),
            "ValueError: for episodes[1], score_group() returned a reward for 'usr', and the participants are policy",
        ),
    ],
)
async def test_a_wrong_score_of_a_group_is_told_with_its_place(wrong: Any, told: str) -> None:
    environment = returning("score_group", [1.0, wrong])
    group = [(await play_script(environment, ["42"])).played for _ in range(2)]
    failure = await score_group(group, Stage(environment, {}, {}, LimitsSection()))
    assert failure is not None and failure.message.startswith(told)
    assert failure.where.startswith("Odd.score_group (test_wrong_returns.py:")


class _Odd(Grader):
    def __init__(self, verdict: Any) -> None:
        self.given = verdict

    async def grade(self, episode: Episode) -> Verdict:
        verdict: Verdict = self.given
        return verdict


@pytest.mark.parametrize("verdict", [None, 1.0])
async def test_a_grader_returns_a_verdict(verdict: Any) -> None:
    async def score(self: Alone, state: Any, episode: Episode) -> Score:
        return await _Odd(verdict).score(episode)

    failure = (await play_script(type("Odd", (Alone,), {"score": score})(), ["42"])).played.failure
    assert failure is not None and bare(failure.where) == "_Odd.grade"
    assert failure.message.endswith("expected a Verdict")


@pytest.mark.parametrize("opening", [Opening(messages={"policy": ""}), Opening(messages={"policy": "  \n"}), Opening()])
async def test_an_opening_that_says_nothing_asks_nothing(opening: Opening) -> None:
    failure = (await play_script(returning("opening", opening), ["42"])).played.failure
    assert failure is not None and failure.message.endswith("so nobody was asked anything")
    assert failure.where.startswith("Odd.opening (test_wrong_returns.py:")
