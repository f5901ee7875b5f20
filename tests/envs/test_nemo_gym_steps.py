"""Checks servers of the gymnasium style: every message of the policy is a step, whatever is in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nemo_double import NemoDouble
from nemo_playing import TOOLS, add, failure_of, play_completions, play_row, playing
from playing_tasks import call_of, reward_of, says

from ray_gym import Message, ToolCall
from ray_gym.models.base import Completion, CompletionRequest, FinishReason
from ray_gym.play.play import Played

ROUTES = {"/reset": True, "/step": True}
ROW = {"responses_create_params": {"input": [{"role": "system", "content": "Play."}], "tools": TOOLS}, "level": 3}


def step(observation: str | None = None, reward: float = 0, **more: Any) -> dict[str, Any]:
    return {"observation": observation, "reward": reward, "terminated": False, "truncated": False, "info": {}} | more


def server(*steps: dict[str, Any], reset: Any = None, **routes: bool) -> NemoDouble:
    started = {"observation": "Your move.", "info": {}} if reset is None else reset
    return NemoDouble(paths={**ROUTES, **routes}, answers={"/reset": started, "/step": list(steps)})


def conversation(played: Played) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in played.episode.threads["policy"].messages]


async def test_observations_are_told_and_rewards_add_up_until_the_server_ends_it() -> None:
    async with server(step("Go on.", 0.25), step(None, 0.5, terminated=True, info={"result": "won"})) as double:
        played = await play_row(double, ROW, says("left", "right"))
    assert reward_of(played) == 0.75
    assert conversation(played) == [
        ("system", "Play."),
        ("user", "Your move."),
        ("assistant", "left"),
        ("user", "Go on."),
        ("assistant", "right"),
    ]
    stop = played.episode.stop
    assert stop is not None and (stop.reason, stop.text) == ("finished", "terminated")
    assert double.called("/reset")[0].body == ROW and double.called("/verify") == []
    first, second = (call.body for call in double.called("/step"))
    assert first["level"] == 3 and first["responses_create_params"] == ROW["responses_create_params"]
    assert [one["response"]["output"][0]["content"][0]["text"] for one in (first, second)] == ["left", "right"]
    assert all(len(one["response"]["output"]) == 1 for one in (first, second)), "a step is its own message only"
    (verdict,) = [event for event in played.episode.events if event.kind == "verdict"]
    assert "won" in verdict.content


async def test_a_messages_calls_are_one_step_and_answered_by_it() -> None:
    two = Message("assistant", tool_calls=(ToolCall("b", "get_counter_value", "{}"), *add(4, "a").tool_calls))
    outputs = [{"call_id": "a", "output": "added"}, {"call_id": "b", "output": {"name": "你好"}}]
    answers = (step("Well?", 1, info={"tool_outputs": outputs}), step(None, 2, truncated=True))
    async with server(*answers) as double:
        played = await play_row(double, ROW, says(two, "Done."))
    assert reward_of(played) == 3 and played.episode.stop is not None and played.episode.stop.text == "truncated"
    assert conversation(played)[2:] == [
        ("assistant", ""),
        ("tool", '{"name": "你好"}'),
        ("tool", "added"),
        ("user", "Well?"),
        ("assistant", "Done."),
    ]
    assert len(double.called("/step")) == 2


async def test_a_call_that_ends_the_episode_ends_it_at_once() -> None:
    two = Message("assistant", tool_calls=(*add(4, "a").tool_calls, *add(4, "b").tool_calls))
    async with server(step(None, 1, terminated=True)) as double:
        played = await play_row(double, ROW, says(two, "never said"))
    assert reward_of(played) == 1 and len(double.called("/step")) == 1
    assert [role for role, _ in conversation(played)].count("assistant") == 1


async def test_calls_that_nobody_could_carry_out_are_a_step_all_the_same() -> None:
    wrong = [call_of("no_such_tool", "{}"), call_of("increment_counter", "{")]
    async with server(step("What?", -1), step("What?", -1), step(None, 0, terminated=True)) as double:
        played = await play_row(double, ROW, says(*wrong, "I give up."), reward_range=(-5, 0))
    assert reward_of(played) == -2 and len(double.called("/step")) == 3
    assert [call["name"] for call in double.called("/step")[0].body["response"]["output"]] == ["no_such_tool"]


@pytest.mark.parametrize(
    ("ends", "words", "reason"),
    [
        ("length", "le", "max_output_tokens"),
        ("context_full", "", "max_output_tokens"),
        ("content_filter", "le", "content_filter"),
        ("content_filter", "", "content_filter"),
    ],
)
async def test_a_message_that_was_cut_is_the_last_step(ends: FinishReason, words: str, reason: str) -> None:
    async def cut(request: CompletionRequest) -> Completion:
        return Completion(Message("assistant", words), finish_reason=ends)

    async with server(step("Go on.", 0.5)) as double, playing(double.url) as environment:
        played = await play_completions(environment, ROW, cut)
    assert reward_of(played) == 0.5 and len(double.called("/step")) == 1
    response = double.called("/step")[0].body["response"]
    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": reason})


async def test_max_turns_leaves_the_rewards_that_there_were() -> None:
    async with server(step("a", 1), step("b", 1), step("c", 1)) as double:
        played = await play_row(double, ROW, says("go"), limits={"max_turns": 2})
    assert reward_of(played) == 2 and len(double.called("/step")) == 2
    assert played.episode.stop is not None and played.episode.stop.reason == "max_turns"


async def test_a_deadline_does_not_step_again() -> None:
    async with server(step("a", 1)) as double:
        double.fail("/step", 200, "hang")
        played = await play_row(double, ROW, says("go"), limits={"episode_deadline_s": 1})
    assert reward_of(played) == 1 and len(double.called("/step")) == 2
    assert played.episode.stop is not None and played.episode.stop.reason == "deadline"


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_lost_step_is_made_again_only_where_the_server_can_tell(idempotent: bool) -> None:
    reset = {"observation": "Your move.", "info": {"supports_step_idempotency": idempotent}}
    async with server(step("first", 1), step(None, 1, terminated=True), reset=reset) as double:
        double.fail("/step", "drop")
        played = await play_row(double, ROW, says("go"))
    keys = [call.body.get("_ng_step_request_id") for call in double.called("/step")]
    if idempotent:
        assert reward_of(played) == 1 and len(keys) == 2 and keys[0] == keys[1] and keys[0]
    else:
        assert failure_of(played)[0] == "infra" and keys == [None]


async def test_what_a_step_may_answer_wrong() -> None:
    for wrong, message in ((step(reward="1"), "no reward"), ([], "HTTP 200: []")):  # type: ignore[arg-type]
        async with server(wrong) as double:  # type: ignore[arg-type]
            kind, said = failure_of(await play_row(double, ROW, says("go")))
        assert kind == "environment" and message in said
    async with server() as double:
        double.fail("/step", 400)
        assert failure_of(await play_row(double, ROW, says("go"))) == (
            "environment",
            'HTTP 400: {"detail": "it said 400"}',
        )


async def test_nothing_to_answer_is_the_tasks_fault_and_a_reset_may_say_nothing() -> None:
    empty = {"responses_create_params": {"input": []}}
    async with server(reset={"observation": None}) as double:
        kind, message = failure_of(await play_row(double, empty, says("go")))
    assert kind == "data" and "says anything" in message
    asked = {"responses_create_params": {"input": "Guess."}}
    async with server(step(None, 1, terminated=True), reset={"observation": None, "info": None}) as double:
        assert reward_of(await play_row(double, asked, says("go"))) == 1


async def test_the_style_may_be_given_and_sessions_are_closed() -> None:
    async with server(step(None, 1, terminated=True), **{"/close": False}) as double:
        assert reward_of(await play_row(double, ROW, says("go"))) == 1
    assert len(double.closed) == 1
    async with server(step(None, 1, terminated=True)) as double:
        double.paths = None
        assert reward_of(await play_row(double, ROW, says("go"), style="gymnasium")) == 1


async def test_many_at_once_keep_to_their_own_steps() -> None:
    ended = [step(None, 1, terminated=True)] * 30
    async with server(*([step("again", 1)] * 30), *ended) as double, playing(double.url) as environment:

        async def go(request: CompletionRequest) -> Completion:
            await asyncio.sleep(0)
            return Completion(Message("assistant", "go"))

        all_played = await asyncio.gather(*(play_completions(environment, ROW, go) for _ in range(30)))
    assert sum(reward_of(played) for played in all_played) == 60
