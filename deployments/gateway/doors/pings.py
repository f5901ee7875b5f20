"""Keeps a stream open while its answer is made as a whole, where the dialect has events for that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import Response
from fastapi.responses import StreamingResponse

from ray_gym.anthropic_api.events import error_event
from ray_gym.deployments.gateway.doors.dialects import answer_in
from ray_gym.models.base import Completion
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import ApiRequest
from ray_gym.play.dialects import EVENTS, Dialect

PING_S = 10.0
"""Seconds without an answer after which a stream begins with a ping, and between two pings."""


async def answer_with_pings(dialect: Dialect, asked: ApiRequest, completing: asyncio.Future[Completion]) -> Response:
    """Returns the response to a request, once its completion is there. A stream begins after `PING_S` seconds in any
    case: with pings, after which a refusal is an event, as the head is sent already. If this is cancelled, or the
    stream is not read to its end, `completing` is cancelled.

    Errors: those of `completing`, before a stream has begun.
    """
    try:
        if asked.stream and dialect.ping:
            await asyncio.wait({completing}, timeout=PING_S)
            if not completing.done():
                events = _events_with_pings(dialect, asked, completing)
                return StreamingResponse(events, headers=dialect.headers(asked, None), media_type=EVENTS)
        return answer_in(dialect, await completing, asked)
    except asyncio.CancelledError:
        completing.cancel()
        raise


async def _events_with_pings(
    dialect: Dialect, asked: ApiRequest, completing: asyncio.Future[Completion]
) -> AsyncIterator[str]:
    try:
        while not completing.done():
            yield dialect.ping
            await asyncio.wait({completing}, timeout=PING_S)
        for event in dialect.events(completing.result(), asked, dialect.new_id()):
            yield event
    except Refused as refused:
        yield error_event(refused)
    finally:
        completing.cancel()
