"""Checks what black-box agents do to a conversation, over HTTP on the running service: each call is one step of the
record, token by token.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from black_box import Agent, BreaksTheFirst, Json, cut_off, result, samples, shopping, user
from conftest import eventually
from served import Served

from examples import langgraph_agent

pytestmark = [pytest.mark.ray, pytest.mark.services]


@pytest.fixture
def agent(service: Served) -> Iterator[Agent]:
    with shopping(service) as agent:
        yield agent


OPENING = "system: You are a customer.\nuser: What would you like, a pen or a book?\n"
FIRST = OPENING + "assistant: re: What would you like, a pen or a book?\n"


def test_echoes_without_reasoning_and_with_arguments_written_anew(service: Served, agent: Agent) -> None:
    first = agent.ask()
    assert first.reasoning == "I think"
    agent.past += [{"role": "assistant", "content": [{"type": "text", "text": first.content}]}, user("aloud")]
    aloud = agent.ask()
    assert (aloud.content, aloud.reasoning) == ("re: aloud", "I think\nhm")
    agent.past += [{"role": "assistant", "content": aloud.content, "name": "shopper"}, user("buy and buy")]
    one, other = agent.ask().tool_calls
    said = [
        {"id": f"mine-{number}", "type": "function", "function": {"name": "take", "arguments": json.dumps(arguments)}}
        for number, arguments in enumerate([json.loads(one.function.arguments)] * 2)
    ]
    assert said[0]["function"]["arguments"] != one.function.arguments == other.function.arguments
    agent.past += [{"role": "assistant", "content": None, "tool_calls": said}]
    for call in said:
        told = agent.session.call_tool("take", call["function"]["arguments"], call_id=call["id"])
        agent.past += [result(call["id"], [{"type": "text", "text": told.content}])]
    agent.ask()
    call = "take(" + one.function.arguments + ")"
    assert samples(service, agent) == [
        (
            "policy",
            None,
            f"{FIRST}user: aloud\nassistant: <think>hm</think>\nre: aloud\nuser: buy and buy\nassistant: {call} {call}\n"
            'tool: {"taken": 1}\ntool: {"taken": 2}\nassistant: re: {"taken": 2}\n',
        )
    ]


def test_an_answer_without_words_may_be_left_out(service: Served, agent: Agent) -> None:
    assert agent.ask(user("hush")).content == ""
    agent.past += [user("hush")]
    agent.ask({"role": "assistant", "content": ""}, user("more"))
    agent.ask(user("more"), {"role": "assistant", "content": "re: more"}, user("and more"))
    [(thread, reason, text)] = samples(service, agent)
    assert (thread, reason) == ("policy", None)
    assert (
        text
        == f"{OPENING}user: hush\nassistant: \nuser: more\nassistant: re: more\nuser: and more\nassistant: re: and more\n"
    )


def test_the_last_words_may_be_said_without_the_thought(service: Served, agent: Agent) -> None:
    said = agent.ask(user("aloud")).content
    heard = agent.session.say(said.rpartition("</think>")[2].strip()).messages
    agent.past += [user("aloud"), {"role": "assistant", "content": said}]
    agent.past += [{"role": message.role, "content": message.content} for message in heard]
    agent.ask()
    [(thread, reason, text)] = samples(service, agent)
    assert (thread, reason) == ("policy", None) and text.count("assistant:") == 2


def test_an_edited_history_forks_and_leaves_the_old_sample_alone(service: Served, agent: Agent) -> None:
    first = agent.ask()
    agent.past += [{"role": "assistant", "content": first.content}]
    agent.ask(user("more"))
    agent.ask(user("less"))
    agent.ask(user("less"), {"role": "assistant", "content": "re: less"}, user("even less"))
    agent.ask({"role": "user", "content": "more"}, tools=[])
    assert samples(service, agent) == [
        ("policy", None, f"{FIRST}user: more\nassistant: re: more\n"),
        (
            "policy/1",
            "edited_history",
            f"{FIRST}user: less\nassistant: re: less\nuser: even less\nassistant: re: even less\n",
        ),
        ("policy/2", "tools_changed", f"{FIRST}user: more\nassistant: re: more\n"),
    ]


async def test_two_calls_at_once_have_threads_of_their_own(service: Served, agent: Agent) -> None:
    first = agent.ask()
    agent.past += [{"role": "assistant", "content": first.content}]
    one = asyncio.create_task(asyncio.to_thread(agent.ask, user("wait one")))
    await asyncio.to_thread(agent.until_asked, "wait one")
    other = asyncio.create_task(asyncio.to_thread(agent.ask, user("wait other")))
    await asyncio.to_thread(agent.until_asked, "wait other")
    agent.let_go("other")
    await other
    agent.let_go("one")
    await one
    on = asyncio.gather(
        *(
            asyncio.to_thread(
                agent.ask, user(f"wait {name}"), {"role": "assistant", "content": f"re: wait {name}"}, user("on")
            )
            for name in ("one", "other")
        )
    )
    await on
    assert await asyncio.to_thread(samples, service, agent) == [
        (thread, reason, f"{FIRST}user: wait {name}\nassistant: re: wait {name}\nuser: on\nassistant: re: on\n")
        for thread, reason, name in (("policy", None, "one"), ("policy/1", "edited_history", "other"))
    ]


@pytest.mark.parametrize("headers", [{}, {"x-stainless-retry-count": "1"}])
@pytest.mark.parametrize("has_finished", [True, False])
def test_a_call_that_was_cut_off_and_is_sent_again_counts_once(
    service: Served, agent: Agent, has_finished: bool, headers: dict[str, str]
) -> None:
    words = [*agent.past, user("wait gate")]
    body = {"model": "policy", "messages": words, "tools": agent.tools}
    cut_off(service, agent, body)
    if has_finished:
        agent.let_go("gate")
        eventually(lambda: len(agent.session.info().participants["policy"].messages) > len(words), 20)
    timer = threading.Timer(0.5, agent.let_go, ["gate"])
    timer.start()
    again = agent.ask(user("wait gate"), extra_headers=headers)
    timer.join()
    assert again.content == "re: wait gate" and agent.asked("wait gate") == 1
    agent.ask(user("wait gate"), {"role": "assistant", "content": again.content}, user("on"))
    assert samples(service, agent) == [
        ("policy", None, f"{OPENING}user: wait gate\nassistant: re: wait gate\nuser: on\nassistant: re: on\n")
    ]


def test_the_official_clients_own_retry_counts_once(service: Served, agent: Agent) -> None:
    url = httpx.URL(agent.session.openai_base_url)
    with BreaksTheFirst((url.host, url.port or 80), lambda: agent.until_asked("wait gate")) as port:
        client = openai.OpenAI(base_url=str(url.copy_with(port=port)), api_key=agent.session.api_key, max_retries=2)
        timer = threading.Timer(2, agent.let_go, ["gate"])
        timer.start()
        with client:
            said = client.chat.completions.create(
                model="policy",
                messages=[*agent.past, user("wait gate")],
                tools=agent.tools,  # type: ignore[arg-type]
            )
        timer.join()
    assert said.choices[0].message.content == "re: wait gate" and agent.asked("wait gate") == 1
    assert [text for *_, text in samples(service, agent)] == [f"{OPENING}user: wait gate\nassistant: re: wait gate\n"]


def test_langgraph_tells_the_model_of_arguments_that_it_cannot_read(service: Served, agent: Agent) -> None:
    def call_tool(name: str, arguments: dict[str, Any] | str, call_id: str | None = None) -> str:
        return agent.session.call_tool(name, arguments, call_id=call_id).content

    past = [*agent.past, user("garble")]
    said = langgraph_agent.agent(agent.session.openai_base_url, agent.session.api_key, past, agent.tools, call_tool)
    assert said.startswith("re: ") and "JSON" in said
    assert (
        langgraph_agent.agent(
            agent.session.openai_base_url, agent.session.api_key, [*past, user("on")], agent.tools, call_tool
        )
        == "re: on"
    )
    [(thread, reason, text)] = samples(service, agent)
    assert (thread, reason) == ("policy", None) and text.count("assistant: ") == 3


def test_streamed_calls_are_steps_too(service: Served, agent: Agent) -> None:
    body: Json = {"model": "policy", "messages": agent.past, "tools": agent.tools}
    *chunks, last = agent.client.chat.completions.create(
        stream=True, stream_options={"include_usage": True}, **{**body, "messages": [*agent.past, user("Hello")]}
    )
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert said == "re: Hello" and last.usage.completion_tokens == len(said) + 1
    agent.past += [user("Hello"), {"role": "assistant", "content": said}]
    with agent.client.chat.completions.stream(**{**body, "messages": [*agent.past, user("buy")]}) as stream:
        bought = stream.get_final_completion().choices[0].message
    [call] = bought.tool_calls
    agent.past += [user("buy"), bought, result(call.id)]
    items = [
        *agent.past[:-2],
        {
            "type": "function_call",
            "call_id": "fc",
            "name": "take",
            "arguments": json.dumps(json.loads(call.function.arguments)),
        },
        {"type": "function_call_output", "call_id": "fc", "output": "one pen"},
    ]
    flat = [{"type": "function", "strict": False, **tool["function"]} for tool in agent.tools]
    with agent.client.responses.stream(model="policy", input=items, tools=flat) as events:
        kinds = [event.type for event in events]
        final = events.get_final_response()
    assert "response.output_text.delta" in kinds and final.output_text == "re: one pen"
    assert [item.type for item in final.output] == ["reasoning", "message"]
    items += [*final.output, user("on")]
    assert agent.client.responses.create(model="policy", input=items, tools=flat).output_text == "re: on"
    assert samples(service, agent) == [
        (
            "policy",
            None,
            f"{OPENING}user: Hello\nassistant: re: Hello\nuser: buy\nassistant: take({call.function.arguments})\n"
            "tool: one pen\nassistant: re: one pen\nuser: on\nassistant: re: on\n",
        )
    ]


def test_after_the_end_no_model_is_called(service: Served, agent: Agent) -> None:
    agent.ask()
    for _ in range(3):
        last = agent.session.call_tool("take", {"item": "pen", "count": 1})
    assert last.stop is not None
    for stream in (False, True):
        body: Json = {"model": "policy", "messages": [*agent.past, user("anyone?")]}
        given = agent.client.chat.completions.create(**body, stream=stream)
        [choice] = [chunk.choices[0].delta for chunk in given][:1] if stream else [given.choices[0].message]
        assert not choice.content and not choice.tool_calls
    assert agent.client.responses.create(model="policy", input="anyone?").output_text == ""
    assert agent.asked("anyone?") == 0
    assert agent.session.score().score.reward == 1
    assert agent.ask(user("anyone?")).content == "" and agent.asked("anyone?") == 0
    assert [text for *_, text in samples(service, agent)] == [FIRST]


def test_a_call_outlives_the_sessions_worker(service: Served, agent: Agent) -> None:
    first = agent.ask()
    agent.session.call_tool("take", {"item": "pen", "count": 1})
    agent.past += [{"role": "assistant", "content": first.content}]
    said: list[Any] = []
    caller = threading.Thread(target=lambda: said.append(agent.ask(user("wait gate"))))
    caller.start()
    agent.until_asked("wait gate")
    service.kill_workers()
    agent.let_go("gate")
    caller.join()
    assert said[0].content == "re: wait gate"
    agent.ask(user("wait gate"), {"role": "assistant", "content": said[0].content}, user("on"))
    assert agent.asked(agent.past[1]["content"]) == 1, "what was answered before is not asked again"
    assert samples(service, agent) == [
        ("policy", None, f"{FIRST}user: wait gate\nassistant: re: wait gate\nuser: on\nassistant: re: on\n")
    ]
    assert agent.session.info().score.reward == pytest.approx(1 / 3)
