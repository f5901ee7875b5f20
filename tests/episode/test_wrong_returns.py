"""Checks that a hook which returns something wrong is named, with what it returned and what is expected."""

from __future__ import annotations

from typing import Any

import pytest
from playing import Alone, bare, play_script

from ray_gym import Episode, Message, Opening, Score
from ray_gym.config.sections import LimitsSection
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.grader import Grader, Verdict
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.play.play import score_group


def returning(hook: str, value: Any) -> Alone:
    """Makes an environment of which one hook returns this value."""
    environment: Alone = type("Odd", (Alone,), {hook: lambda self, *given: value})()
    return environment


@pytest.mark.parametrize("value", [False, True, 0, [], ["over"]])
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
        (Score("1"), "TypeError: score() returned a str; expected a number: '1'"),  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(None, "NoneType"), ("hello", "str"), (Message("assistant", None), "Message of a NoneType")],  # type: ignore[arg-type]
)
async def test_a_player_returns_a_message(answer: Any, kind: str) -> None:
    def odd_player(request: CompletionRequest) -> Any:
        return answer

    with pytest.raises(EpisodeFailure) as caught:
        await ScriptedModel(odd_player, {}, 0.0).complete(CompletionRequest("t", [], Sampling(), seed=0))
    assert caught.value.failure.message.endswith(f"odd_player returned a {kind}; expected a Message with a text")


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


class _Odd(Grader):
    def __init__(self, verdict: Any) -> None:
        self.given = verdict

    async def grade(self, episode: Episode) -> Verdict:
        verdict: Verdict = self.given
        return verdict


@pytest.mark.parametrize("verdict", [None, 1.0, Verdict("1"), Verdict(None)])  # type: ignore[arg-type]
async def test_a_grader_returns_a_verdict_with_a_number(verdict: Any) -> None:
    async def score(self: Alone, state: Any, episode: Episode) -> Score:
        return await _Odd(verdict).score(episode)

    failure = (await play_script(type("Odd", (Alone,), {"score": score})(), ["42"])).played.failure
    assert failure is not None and bare(failure.where) == "_Odd.grade"
    assert failure.message.endswith("expected a Verdict whose value is a number")
