"""Runs servers with a route a tool: what is sent, what the policy is told, and whose fault a failure is."""

from __future__ import annotations

import asyncio
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import free_port
from nemo_double import NemoDouble
from nemo_playing import add, adds, counter_row, failure_of, play_completions, play_row, playing
from playing_tasks import call_of, play_task, reward_of, says

from ray_gym import Message, ToolCall
from ray_gym.check.all_checks import carry_out
from ray_gym.check.command import read_subject
from ray_gym.check.other_process import OtherProcess
from ray_gym.envs.nemo_gym import NemoGym
from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.errors import UserError
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.openai_api.conversation import read_conversation
from ray_gym.play.play import Played

EXAMPLES = Path(__file__).parents[2] / "envs" / "nemo_gym" / "example.jsonl"


def tool_results(played: Played) -> list[tuple[str, str | None]]:
    return [(event.content, event.error) for event in played.episode.events if event.kind == "tool_result"]


async def test_the_row_goes_to_the_server_as_it_is_and_so_does_the_conversation() -> None:
    row = counter_row(3, 10, temperature=0.5) | {"uuid": "u", "nested": {"a": [1, None]}, "task_id": 7, "messages": "x"}
    async with NemoDouble() as double:
        played = await play_row(double, row, says(add(4, "a"), add(3, "b"), "It is at 10."))
    assert reward_of(played) == 1
    (seeded,), (asked,) = double.called("/seed_session"), double.called("/verify")
    assert seeded.body == row
    assert {name: value for name, value in asked.body.items() if name != "response"} == row
    response = asked.body["response"]
    assert [item["type"] for item in response["output"]] == [
        *("function_call", "function_call_output") * 2,
        "message",
    ]
    assert response["status"] == "completed" and response["incomplete_details"] is None
    assert [tool["name"] for tool in response["tools"]] == ["increment_counter", "get_counter_value"]
    (read,) = [one for one in read_conversation(response["output"]) if one["content"] == "It is at 10."]
    assert read["role"] == "assistant"


@pytest.mark.parametrize("line", EXAMPLES.read_text().splitlines())
async def test_the_example_rows_are_played(line: str) -> None:
    row = json.loads(line)
    async with NemoDouble() as double:
        short = row["expected_count"] - row["initial_count"]
        assert reward_of(await play_row(double, row, adds(short))) == 1
        assert reward_of(await play_row(double, row, adds(short + 1))) == 0


async def test_every_session_has_its_own_cookies_and_sends_the_newest() -> None:
    """The double refuses a cookie that is not the newest of its session."""
    async with NemoDouble() as double, playing(double.url) as environment:
        tasks = [NemoRow.model_validate(counter_row(number, 2 * number)) for number in range(20)]
        all_played = await asyncio.gather(
            *(play_task(environment, task, {"policy": adds(task.row["initial_count"])}) for task in tasks)
        )
    assert [reward_of(played) for played in all_played] == [1] * 20
    assert len(double.counters) == 20


async def test_the_policy_is_told_what_the_server_says_and_it_judges_the_arguments() -> None:
    async with NemoDouble() as double:
        wrong = [add("seven"), call_of("increment_counter", "{"), call_of("reset", "{}"), add(7, "b")]
        double.fail("/get_counter_value", 500)
        crash = call_of("get_counter_value", "{}")
        played = await play_row(double, counter_row(), says(*wrong, crash, "Done."))
    assert reward_of(played) == 1
    (refused, malformed, unknown, fine, crashed) = tool_results(played)
    detail = '{"detail": [{"loc": ["body", "count"], "msg": "not a number"}]}'
    assert refused[0] == detail and "HTTP 422" in str(refused[1])
    assert "bad arguments" in malformed[0] and "no tool 'reset'" in unknown[0]
    assert fine == ('{"success": true}', None)
    assert crashed[0] == '{"detail": "it said 500"}' and "HTTP 500" in str(crashed[1])
    assert len(double.called("/increment_counter")) == 2 and len(double.called("/get_counter_value")) == 1
    assert played.episode.usage.tool_errors == 4


@pytest.mark.parametrize("path", ["/seed_session", "/verify"])
async def test_seeding_and_verifying_are_asked_again(path: str) -> None:
    async with NemoDouble() as double:
        double.fail(path, 503, 500, 429, "drop", "hang")
        played = await play_row(double, counter_row(), adds(7), timeout_s=1)
    assert reward_of(played) == 1 and len(double.called(path)) == 6


@pytest.mark.parametrize(
    ("how", "kind", "message", "calls"),
    [
        (503, "infra", "HTTP 503", 3),
        ("drop", "infra", "ServerDisconnectedError", 3),
        ("hang", "infra", "TimeoutError", 3),
        (500, "environment", "it said 500", 3),
        (404, "environment", "it said 404", 1),
        (422, "data", "it said 422", 1),
        (400, "data", "it said 400", 1),
    ],
)
@pytest.mark.parametrize("path", ["/seed_session", "/verify"])
async def test_whose_fault_it_is(path: str, how: Any, kind: str, message: str, calls: int) -> None:
    async with NemoDouble() as double:
        double.fail(path, *[how] * 9)
        failed = failure_of(
            await play_row(double, counter_row(), adds(7), retries=2, timeout_s=0.6 if how == "hang" else 30)
        )
    assert failed[0] == kind and message in failed[1], failed
    assert len(double.called(path)) == calls


@pytest.mark.parametrize(("how", "calls"), [("drop", 1), ("hang", 1), (502, 1), (504, 1)])
async def test_a_tool_call_that_may_have_been_carried_out_is_not_made_twice(how: Any, calls: int) -> None:
    async with NemoDouble() as double:
        double.fail("/increment_counter", how)
        kind, message = failure_of(
            await play_row(double, counter_row(), adds(7), timeout_s=0.6 if how == "hang" else 30)
        )
    assert kind == "infra" and "/increment_counter" in message
    assert len(double.called("/increment_counter")) == calls


async def test_a_tool_call_that_was_turned_away_is_made_again() -> None:
    async with NemoDouble() as double:
        double.fail("/increment_counter", 503, 429)
        assert reward_of(await play_row(double, counter_row(), adds(7))) == 1
    assert len(double.called("/increment_counter")) == 3


async def test_no_server_at_all_is_infrastructure() -> None:
    async with NemoDouble() as double:
        pass
    kind, message = failure_of(await play_row(double, counter_row(), adds(7), retries=1))
    assert kind == "infra" and "Cannot connect" in message and "tried 2 times" in message


@pytest.mark.parametrize("survives", [False, True])
async def test_a_server_that_was_down_has_forgotten_its_sessions(survives: bool) -> None:
    """Any of the sessions may be the one that notices."""
    task = NemoRow.model_validate(counter_row())
    double = NemoDouble()

    async def restart(request: CompletionRequest, rng: random.Random) -> Message:
        if request.messages[-1].role == "tool":
            return Message("assistant", "Done.")
        await double.__aexit__()
        failure_of(await play_task(environment, task, {"policy": adds(7)}, seed=1))
        await double.__aenter__()
        return add(7)

    await double.__aenter__()
    async with playing(double.url, survives_restart=survives, retries=1) as environment:
        played = await play_task(environment, task, {"policy": restart})
        after = await play_task(environment, task, {"policy": adds(7)}, seed=2)
    await double.__aexit__()
    assert reward_of(after) == 1
    if survives:
        assert reward_of(played) == 1
    else:
        assert failure_of(played)[0] == "infra" and "was down" in failure_of(played)[1]


async def test_an_answer_without_a_reward_and_one_that_was_taken_back() -> None:
    cases: list[tuple[Any, str, str]] = [
        ({"reward": None}, "environment", "no reward"),
        ({"reward": "1"}, "environment", "no reward"),
        ([1], "environment", "HTTP 200: [1]"),
        ({"reward": 0, "mask_sample": True}, "environment", "took its verdict back"),
        ({"reward": 0, "mask_sample": True, "failure_kind": "session_lost"}, "infra", "session_lost"),
        ({"reward": 0, "_ng_failure_class": "judge_failed", "failure_reason": "no key"}, "judge", "no key"),
    ]
    for answer, kind, message in cases:
        async with NemoDouble(answers={"/verify": [answer]}) as double:
            found = failure_of(await play_row(double, counter_row(), adds(7)))
        assert found[0] == kind and message in found[1], found


async def test_numbers_beside_the_reward_are_named_parts() -> None:
    answer = {
        "expected_count": 1,
        "reward": 0.5,
        "accuracy": True,
        "overlap": 0.25,
        "why": "late",
        "mask_sample": False,
    }
    async with NemoDouble(answers={"/verify": answer | {"reward_components": {"form": 1, "reward": 1}}}) as double:
        played = await play_row(double, counter_row(), adds(7))
    assert played.score is not None and played.score.reward == 0.5
    assert played.score.parts == {"accuracy": 1, "overlap": 0.25, "form": 1}
    (verdict,) = [event for event in played.episode.events if event.kind == "verdict"]
    assert '"why": "late"' in verdict.content and verdict.reward == 0.5


async def test_a_session_is_closed_where_the_cookie_alone_closes_it() -> None:
    routes = {"/seed_session": True, "/verify": True}
    for close, body_needed, closed in (("/close_session", False, 1), ("/close", False, 1), ("/close_session", True, 0)):
        async with NemoDouble(paths={**routes, close: body_needed}) as double:
            assert reward_of(await play_row(double, counter_row(), adds(7))) == 1
            double.fail("/verify", 404)
            failure_of(await play_row(double, counter_row(), adds(7)))
        assert len(double.closed) == 2 * closed, "after its score, and after its failure"
    async with NemoDouble(paths={**routes, "/close": False}) as double:
        double.fail("/close", 404)
        assert reward_of(await play_row(double, counter_row(), adds(7))) == 1, "what becomes of it is nobody's fault"


async def test_a_session_that_cannot_be_played_is_closed() -> None:
    async with NemoDouble(paths={"/seed_session": True, "/verify": True, "/close_session": False}) as double:
        kind, message = failure_of(await play_row(double, counter_row(input=[]), adds(7)))
        assert kind == "data" and "says anything to the policy" in message
        assert len(double.closed) == 1


async def test_without_a_server_there_is_nothing_to_check(tmp_path: Path) -> None:
    """Its episodes would each try to reach it for long."""
    address, file = f"http://127.0.0.1:{free_port()}", tmp_path / "tasks.jsonl"
    file.write_text(json.dumps(counter_row()) + "\n")
    subject = read_subject("nemo_gym", [f"base_url={address}", "retries=0"], 5, 0, file)
    with OtherProcess() as other_process, pytest.raises(UserError, match=f"nothing can be checked now: .*{address}"):
        await carry_out(subject, other_process)


async def test_a_server_that_speaks_something_else_is_refused() -> None:
    async with NemoDouble(paths={"/seed_session": True, "/step": True, "/verify": True}) as double:
        kind, message = failure_of(await play_row(double, counter_row(), adds(7)))
    assert kind == "environment" and "no /reset" in message and double.calls == []


async def test_headers_are_sent_and_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEMO_TOKEN", "Bearer secret")
    headers = {"headers": {"X-Team": "blue"}, "header_env": {"Authorization": "NEMO_TOKEN"}}
    async with NemoDouble() as double:
        await play_row(double, counter_row(), adds(7), **headers)
    assert {(call.headers["X-Team"], call.headers["Authorization"]) for call in double.calls} == {
        ("blue", "Bearer secret")
    }
    with pytest.raises(UserError, match="header_env: the environment variable NOT_THERE is not set"):
        NemoGym(NemoGym.Options(base_url="http://h", header_env={"Authorization": "NOT_THERE"}))


async def test_one_client_serves_all_and_is_closed_and_pickled_without_its_connections() -> None:
    async with NemoDouble() as double, playing(double.url) as environment:
        task = NemoRow.model_validate(counter_row())
        await play_task(environment, task, {"policy": adds(7)})
        opened = environment.server._session
        await play_task(environment, task, {"policy": adds(7)})
        assert opened is not None and environment.server._session is opened
        copy = pickle.loads(pickle.dumps(environment))
        assert reward_of(await play_task(copy, task, {"policy": adds(7)})) == 1
        await copy.close()
        await environment.close()
        assert opened.closed


async def test_all_calls_of_a_message_are_made_and_a_message_that_was_cut_says_so() -> None:
    two = Message("assistant", tool_calls=(ToolCall("a", "increment_counter", '{"count": 3}'), *add(4, "b").tool_calls))

    async def cut(request: CompletionRequest) -> Completion:
        done = request.messages[-1].role == "tool"
        return Completion(Message("assistant", "Don") if done else two, finish_reason="length" if done else "stop")

    async with NemoDouble() as double, playing(double.url) as environment:
        played = await play_completions(environment, counter_row(), cut)
    assert reward_of(played) == 1
    assert [call.body["count"] for call in double.called("/increment_counter")] == [3, 4]
    response = double.called("/verify")[0].body["response"]
    assert response["status"] == "incomplete" and response["output"][-1]["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
