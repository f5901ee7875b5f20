"""Checks that bodies are refused that are too large, too slow, no JSON, or JSON that is meant to hurt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from gateway_app import Waiting, client, make, problem

from ray_gym.deployments.gateway.guards.body import BODIES
from ray_gym.openai_api.json_body import DEEPEST, depth, parse_json
from ray_gym.openai_api.refused import Refused

JSON = {"Content-Type": "application/json"}


def nested(levels: int) -> bytes:
    """Returns an item whose body is nested to this many levels."""
    return b'{"name": "x", "more": {"a": ' + b"[" * (levels - 2) + b"]" * (levels - 2) + b"}}"


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_body_gets_through_whole_in_one_piece_or_many() -> None:
    body = json.dumps({"name": "é" * 200_000}).encode()
    async with client(make()) as http:
        for content in (body, chunks(body[:7], b"", body[7:])):
            response = await http.post("/v1/items", content=content, headers=JSON)
            assert response.json()["item"]["name"] == "é" * 200_000


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(announced: bool) -> None:
    app = make(max_body_mb=0.001)
    most = int(0.001 * 2**20)
    body = b'"' + b"x" * (most - 1) + b'"'
    async with client(app) as http:
        content = body if announced else chunks(*(body[i : i + 100] for i in range(0, len(body), 100)))
        response = await http.post("/v1/items", content=content, headers=JSON)
        assert problem(response, 413)["code"] == "body_too_large" and response.headers["connection"] == "close"
        fits = await http.post("/v1/items", content=body[1:], headers=JSON)
        assert fits.status_code == 400  # for being no JSON


@pytest.mark.parametrize("length", ["-1", "1e3", "1_000", "9" * 30])
async def test_a_length_that_is_none_is_refused(length: str) -> None:
    async with client(make()) as http:
        response = await http.post("/v1/items", content=b"{}", headers={**JSON, "Content-Length": length})
        assert response.status_code == (413 if length.isdigit() else 400)


async def test_a_body_that_does_not_arrive_is_given_up() -> None:
    async def stalling() -> AsyncIterator[bytes]:
        yield b'{"name": '
        await asyncio.Event().wait()

    async with client(make(body_deadline_s=0.05)) as http:
        response = await http.post("/v1/items", content=stalling(), headers=JSON)
        assert problem(response, 408)["code"] == "body_too_slow" and response.headers["connection"] == "close"


async def test_bodies_in_memory_are_limited_and_given_back() -> None:
    app = make(max_body_mb=0.0001, body_deadline_s=30)
    most, waiting = int(0.0001 * 2**20), Waiting()

    async def held() -> AsyncIterator[bytes]:
        yield b" " * most
        await waiting.stay()

    async with client(app) as http, asyncio.TaskGroup() as group:
        for _ in range(BODIES):
            group.create_task(http.post("/v1/items", content=held(), headers=JSON))
        await waiting.until(BODIES)
        response = await http.post("/v1/items", content=b'{"name": "x"}', headers=JSON)
        assert problem(response, 503)["code"] == "unavailable" and response.headers["retry-after"] == "1"
        waiting.go.set()
    async with client(app) as http:
        assert (await http.post("/v1/items", content=b'{"name": "x"}', headers=JSON)).status_code == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
async def test_only_json_is_taken(kind: str | None) -> None:
    async with client(make()) as http:
        headers = {"Content-Type": kind} if kind else {}
        assert problem(await http.post("/v1/items", content=b"{}", headers=headers), 415)["param"] == "Content-Type"
        fine = await http.post(
            "/v1/items", content=b'{"name": "x"}', headers={"Content-Type": "application/json; charset=utf-8"}
        )
        assert fine.status_code == 200


async def test_deep_nesting_is_refused_before_it_is_parsed() -> None:
    async with client(make()) as http:
        for levels, status in ((DEEPEST, 200), (DEEPEST + 1, 400), (100_000, 400)):
            response = await http.post("/v1/items", content=nested(levels), headers=JSON)
            assert response.status_code == status
        assert problem(response, 400)["code"] == "too_deep"


def test_brackets_in_text_are_no_nesting() -> None:
    assert depth(rb'{"a": "[[[\"[[[", "b": [1, {"c": "\\"}]}') == 3
    assert depth(b'"[[[[') == 0 and depth(b"[]" * 1000) == 1 and depth(b"") == 0


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"a": NaN}',
        b"[Infinity]",
        b"[-Infinity]",
        b"[1e999]",
        b'["\\ud800"]',
        b'{"\\udc00": 1}',
        b'["\xff"]',
        '{"a": 1}'.encode("utf-16"),
        b"[" + b"1" * 5000 + b"]",
        b"[" + b"1" * 400 + b"]",
        b"[18446744073709551616]",
        b"[-9223372036854775809]",
        b'{"a": 1, "a": 1}',
        b'{"a": [{"b": 1, "c": 2, "b": 3}]}',
        b'{"a": 1} x',
        b"\x00",
    ],
)
def test_what_nothing_behind_could_take_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as caught:
        parse_json(body)
    assert caught.value.status == 400


def test_half_of_a_surrogate_pair_that_an_agent_repeats_is_taken() -> None:
    body = b'{"\\ud83d": ["x\\uDE00", "\\ud83d\\ude00"]}'
    assert parse_json(body, is_of_an_agent=True) == {"?": ["x?", "\U0001f600"]}
    for half in (body, b'"\\uDE00"', b'[1, "\\ud83d ok"]'):
        with pytest.raises(Refused, match=r"accepted: half a surrogate pair .* stands alone"):
            parse_json(half)
    with pytest.raises(Refused, match="UTF-8"):
        parse_json(b'["\xff\\ud83d"]')


def test_what_is_json_is_taken() -> None:
    assert parse_json(b'{"a": [1.5, 1e3, "\\u00e9\\ud83d\\ude00", null]}') == {"a": [1.5, 1e3, "é😀", None]}
    assert parse_json(b"[18446744073709551615, -9223372036854775808]") == [2**64 - 1, -(2**63)]
