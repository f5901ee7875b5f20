"""Checks what the door of a worker takes from the programs of one sandbox: keys, connections and bodies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from playing import ScriptModel
from sandboxes import until

from ray_gym.agents import door, listener
from ray_gym.agents.door import AgentDoor, Entrance
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Thread
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest, Model
from ray_gym.play.agent_call import AgentCall
from ray_gym.play.commands import AgentAnswer

KEY = "rg-key"
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Sitting:
    """Sits for a participant whose model repeats how long the last message is."""

    participant = Participant.from_config("policy", ParticipantSection(model="m"), LimitsSection())

    def __init__(self, model: Model | None = None) -> None:
        thread = Thread("policy", self.participant, model or ScriptModel([]), "e", 0)
        self.episode = SimpleNamespace(threads={"policy": thread})

    async def ask(self, call: AgentCall) -> AgentAnswer:
        return AgentAnswer(Completion(Message("assistant", f"{len(call.messages[-1].content)}")), "policy", 1)


class Counter(ScriptModel):
    """Counts the characters of the messages and the tools, in place of a prompt's tokens."""

    counts_tokens = True

    async def count_tokens(self, request: CompletionRequest) -> int:
        return sum(len(one.content) for one in request.messages) + len(request.tools)


@asynccontextmanager
async def opened(model: Model | None = None) -> AsyncIterator[tuple[AgentDoor, Entrance]]:
    """Gives a door, and an entrance at which `KEY` holds. `model`: counts tokens, if any does."""
    here = AgentDoor()
    try:
        entrance = await here.open()
        entrance.seats[KEY] = Sitting(model)  # type: ignore[assignment]
        yield here, entrance
    finally:
        await here.close()


async def connected(entrance: Entrance) -> Line:
    return await asyncio.open_unix_connection(str(entrance.path))


def request(text: str, more: str = "", header: str = "") -> bytes:
    body = (
        json.dumps({"model": "policy", "messages": [{"role": "user", "content": text}]})[:-1] + f"{more}}}"
    ).encode()
    head = f"POST /openai/chat/completions HTTP/1.1\r\nHost: x\r\nx-api-key: {KEY}\r\nContent-Length: {len(body)}\r\n{header}\r\n"
    return head.encode() + body


async def sent(line: Line, path: str, body: Any, method: str = "POST", key: str = KEY) -> tuple[int, Any]:
    """Sends a body to a path, and returns the status and the body of the response."""
    data = json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {key}\r\nContent-Length: {len(data)}\r\n\r\n"
    line[1].write(head.encode() + data)
    return await answer(line)


async def answer(line: Line) -> tuple[int, Any]:
    """Reads a response, and returns its status and its body."""
    head = await line[0].readuntil(b"\r\n\r\n")
    length = next(
        int(each.split(b":")[1]) for each in head.split(b"\r\n") if each.lower().startswith(b"content-length")
    )
    return int(head.split()[1]), json.loads(await line[0].readexactly(length))


async def asked(line: Line, text: str) -> tuple[int, Any]:
    line[1].write(request(text))
    return await answer(line)


async def test_a_key_holds_at_the_door_of_its_own_sandbox_alone() -> None:
    async with opened() as (here, entrance):
        other = await here.open()
        own, foreign = await connected(entrance), await connected(other)
        assert (await asked(own, "abc"))[0] == 200
        status, told = await asked(foreign, "abc")
        assert (status, told["error"]["code"]) == (401, "invalid_api_key")
        assert (entrance.refused.counts, other.refused.counts) == ({}, {"invalid_api_key": 1})
        here.shut(entrance)
        assert await own[0].read() == b"" and not entrance.path.exists()
        assert (await asked(foreign, "abc"))[0] == 401
        folder = other.path.parent
    assert not folder.exists()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"bearer {KEY}", "x-api-key": "another service's"}, 200),
        ({"Authorization": f"BEARER  {KEY} "}, 200),
        ({"X-Api-Key": KEY}, 200),
        ({"Authorization": "Bearer another", "x-api-key": KEY}, 401),
        ({"Authorization": KEY}, 401),
        ({}, 401),
    ],
)
async def test_the_key_is_that_of_authorization_or_else_of_x_api_key(headers: dict[str, str], status: int) -> None:
    """The gateway has the same rule."""
    async with opened() as (_, entrance):
        line = await connected(entrance)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        line[1].write(f"GET /openai/models HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
        assert (await answer(line))[0] == status


async def test_a_sandbox_has_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MOST_CONNECTIONS", 2)
    async with opened() as (_, entrance):
        first, second, third = [await connected(entrance) for _ in range(3)]
        assert await third[0].read() == b""
        assert (await asked(first, "ab"))[1]["choices"][0]["message"]["content"] == "2"
        second[1].close()
        await until(lambda: len(entrance.listener) == 1, "it is counted no more")
        assert (await asked(await connected(entrance), "abc"))[0] == 200


async def test_one_large_body_is_read_at_a_time_and_small_ones_beside_it() -> None:
    large = "x" * door.LARGE_BYTES
    async with opened() as (_, entrance):
        half, whole, small = [await connected(entrance) for _ in range(3)]
        half[1].write(request(large)[:-10])
        await until(entrance.reading.locked, "the first is being read")
        waiting = asyncio.create_task(asked(whole, large))
        assert (await asked(small, "abc"))[0] == 200 and not waiting.done()
        half[1].write(request(large)[-10:])
        for status, told in (await answer(half), await waiting):
            assert (status, told["choices"][0]["message"]["content"]) == (200, f"{len(large)}")


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ('"a": 1e999', "bad_json"),
        (f'"a": {2**70}', "bad_json"),
        (f'"a": {"[" * 100}', "too_deep"),
    ],
)
async def test_json_that_others_could_not_write_is_refused(field: str, code: str) -> None:
    """Sends what no journal takes: it would end the episode as if its worker were to blame."""
    async with opened() as (_, entrance):
        line = await connected(entrance)
        line[1].write(request("abc", f", {field}"))
        status, told = await answer(line)
        assert (status, told["error"]["code"]) == (400, code)


async def test_half_of_a_surrogate_pair_is_taken() -> None:
    async with opened() as (_, entrance):
        line = await connected(entrance)
        line[1].write(request("abc", ', "user": "\\ud800"'))
        assert (await answer(line))[0] == 200


async def test_a_body_that_may_unpack_to_any_size_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with opened() as (_, entrance):
        for encoding in ("gzip", "br", "zstd", "of-my-own"):
            line = await connected(entrance)
            line[1].write(request("abc", header=f"Content-Encoding: {encoding}\r\n"))
            status, told = await answer(line)
            assert (status, told["error"]["code"]) == (415, "compressed_body")
    assert not caplog.records


HEAD = f"POST /openai/responses HTTP/1.1\r\nHost: x\r\nx-api-key: {KEY}\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "GET / HTTP/1.1\r\nBad Header\r\n\r\n",
        f"GET /{'a' * 9000} HTTP/1.1\r\n\r\n",
        f"{HEAD}Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
    ids=["header", "long", "chunk"],
)
async def test_what_is_no_http_fills_no_log(text: str, caplog: pytest.LogCaptureFixture) -> None:
    async with opened() as (_, entrance):
        reader, writer = await connected(entrance)
        writer.write(text.encode())
        assert (await reader.readline()).split()[1] == b"400"
    assert not caplog.records


async def test_a_program_that_leaves_amid_its_call_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async with opened() as (_, entrance):
        for half in (f"{HEAD}Content-Length: 9\r\n\r\n{{", f"{HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{{"):
            _, writer = await connected(entrance)
            writer.write(half.encode())
            await asyncio.sleep(0)
            writer.close()
            await until(lambda: not len(entrance.listener), "the connection has ended")
    assert not caplog.records


@pytest.mark.parametrize(("header", "is_again"), [("1", True), ("", False)])
async def test_a_client_says_that_it_repeats_a_call(
    header: str, is_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []

    async def ask(self: Sitting, call: AgentCall) -> AgentAnswer:
        told.append(call.is_again)
        return AgentAnswer(Completion(Message("assistant", "")), "policy", 1)

    monkeypatch.setattr(Sitting, "ask", ask)
    async with opened() as (_, entrance):
        line = await connected(entrance)
        line[1].write(request("abc", header=f"x-stainless-retry-count: {header}\r\n"))
        assert (await answer(line))[0] == 200 and told == [is_again]


async def test_a_websocket_is_refused_so_that_the_client_falls_back() -> None:
    head = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n"
    async with opened() as (_, entrance):
        line = await connected(entrance)
        line[1].write(f"GET /openai/responses HTTP/1.1\r\nHost: x\r\nx-api-key: {KEY}\r\n{head}".encode())
        assert (await answer(line))[0] == 405


async def test_what_a_client_looks_for_hides_no_refusal_of_a_call() -> None:
    """Claude Code looks at its base URL, and MCP clients ask for a stream, before each turn's first call."""
    async with opened() as (_, entrance):
        for path, body, method in [("/mcp", {}, "GET"), ("/mcp", {}, "DELETE"), ("/anthropic", {}, "GET")]:
            assert (await sent(await connected(entrance), path, body, method))[0] in (404, 405)
        assert entrance.refused.take() is None
        await sent(await connected(entrance), "/openai/v1/completions", HELLO)
        await sent(await connected(entrance), "/anthropic/v1/messages", HELLO)
        assert entrance.refused.take() == (
            "1 invalid_request (max_tokens: Field required); "
            "1 not_found (there is no POST '/openai/v1/completions' here)"
        )


async def test_a_model_is_found_by_its_name() -> None:
    async with opened() as (_, entrance):
        for path in ("/openai/models", "/openai/v1/models", "/anthropic/v1/models"):
            assert [one["id"] for one in (await got(entrance, path))[1]["data"]] == ["policy"]
            assert await got(entrance, f"{path}/policy") == (200, (await got(entrance, path))[1]["data"][0])
            assert (await got(entrance, f"{path}/user"))[0] == 404


async def got(entrance: Entrance, path: str) -> tuple[int, Any]:
    line = await connected(entrance)
    line[1].write(f"GET {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {KEY}\r\n\r\n".encode())
    return await answer(line)


async def test_a_body_that_does_not_arrive_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "BODY_S", 0.02)
    async with opened() as (_, entrance):
        line = await connected(entrance)
        line[1].write(request("abc")[:-1])
        status, told = await answer(line)
        assert (status, told["error"]["code"], entrance.refused.counts) == (408, "body_too_slow", {"body_too_slow": 1})


COUNT = "/anthropic/v1/messages/count_tokens"
HELLO: Any = {"model": "policy", "messages": [{"role": "user", "content": "Hello"}]}


async def test_tokens_are_counted_by_the_participants_own_model() -> None:
    tools = [{"name": "take", "input_schema": {"type": "object"}}, {"type": "web_search_20250305", "name": "search"}]
    async with opened(Counter([])) as (_, entrance):
        line = await connected(entrance)
        assert await sent(line, COUNT, HELLO) == (200, {"input_tokens": 5})
        assert await sent(line, COUNT, {**HELLO, "system": "Be kind.", "tools": tools}) == (200, {"input_tokens": 14})
        assert not entrance.refused.counts


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "told"),
    [
        (COUNT, HELLO, 404, "not_found_error", "has no chat template here"),
        (COUNT, {**HELLO, "messages": 3}, 400, "invalid_request_error", "messages"),
        ("/anthropic/v1/messages", HELLO, 400, "invalid_request_error", "max_tokens"),
        ("/anthropic/v1/batches", HELLO, 404, "not_found_error", "there is no POST '/anthropic/v1/batches' here"),
        ("/anthropic", HELLO, 404, "not_found_error", "there is no POST '/anthropic' here"),
    ],
)
async def test_errors_below_anthropic_have_its_form(path: str, body: Any, status: int, kind: str, told: str) -> None:
    async with opened() as (_, entrance):
        line = await connected(entrance)
        found, error = await sent(line, path, body)
        assert (found, error["type"], error["error"]["type"]) == (status, "error", kind)
        assert told in error["error"]["message"]
        found, error = await sent(line, path, body, key="another")
        assert found == (404 if told.startswith("there is no") else 401) and error["type"] == "error"
        found, error = await sent(line, path, body, method="PUT")
        assert found in (404, 405) and error["type"] == "error"
        found, error = await sent(line, "/anthropics", body)
        assert found == 404 and error["error"]["code"] == "not_found", "OpenAI's form"


@pytest.mark.parametrize("kind", ["", "Content-Type: text/plain\r\n", "Content-Type: application/json\r\n"])
async def test_a_workers_door_reads_bodies_as_json_whatever_their_content_type(kind: str) -> None:
    async with opened() as (_, entrance):
        line = await connected(entrance)
        line[1].write(request("Hi", header=kind))
        assert (await answer(line))[0] == 200
