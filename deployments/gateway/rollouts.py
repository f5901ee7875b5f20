"""The doors of rollouts: submit, look, cancel, and read episodes in pages or as a stream. Files are read, and JSON is made, in threads."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal, Protocol

import msgspec
from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response, StreamingResponse

from deployments.gateway.body import ParsedBodyRoute
from ray_gym.service.api import EpisodePage, ErrorAnswer, RolloutList, RolloutRequest, RolloutStatus
from ray_gym.service.errors import Refused
from ray_gym.service.pages import Cursor, episodes_after, groups_after, has_more

KEEP_ALIVE_S = 15.0
GROUPS_AT_ONCE = 8
"""Of a stream that are in memory as JSON."""
START = str(Cursor())
EVENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "event": {"enum": ["group", "end"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
"""Of each event. Its data is JSON: a GroupDone, at the end a RolloutStatus."""

CursorText = Annotated[str, Query(pattern=r"^[0-9]{1,12}\.[0-9]{1,12}$", description="Where to go on, from an answer.")]
Samples = Annotated[bool, Query(description="Whether episodes come with their tokens.")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]
EventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=32)]


class RolloutService(Protocol):
    """What the routes of rollouts ask. All methods raise Refused."""

    async def submit(self, caller: str, request: RolloutRequest, key: str | None) -> tuple[RolloutStatus, bool]: ...

    async def rollouts(self, caller: str, limit: int) -> RolloutList: ...

    async def rollout(self, caller: str, run_id: str) -> RolloutStatus: ...

    async def cancel(self, caller: str, run_id: str) -> RolloutStatus: ...

    async def location(self, caller: str, run_id: str) -> str: ...

    async def wait(self, caller: str, run_id: str, commits: int, timeout_s: float) -> tuple[RolloutStatus, int]: ...


def rollout_routes(service: RolloutService, caller_of: Callable[..., Any]) -> APIRouter:
    """`caller_of` is the dependency that gives the caller's name."""
    router = APIRouter(prefix="/v1/rollouts", tags=["rollouts"], route_class=ParsedBodyRoute)
    own: dict[int | str, dict[str, Any]] = {
        404: {"model": ErrorAnswer, "description": "There is no such rollout of this caller"}
    }

    @router.post(
        "",
        status_code=201,
        responses={
            200: {"model": RolloutStatus, "description": "The key was used before: that rollout"},
            409: {"model": ErrorAnswer, "description": "The key was used before with another body"},
            429: {"model": ErrorAnswer, "description": "The queue is full"},
        },
    )
    async def submit(
        request: RolloutRequest,
        response: Response,
        caller: Annotated[str, Depends(caller_of)],
        key: Key = None,
    ) -> RolloutStatus:
        """Queue a rollout. With an Idempotency-Key the request can be sent again."""
        status, made = await service.submit(caller, request, key)
        response.status_code = 201 if made else 200
        return status

    @router.get("")
    async def rollouts(
        caller: Annotated[str, Depends(caller_of)], limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> RolloutList:
        """The caller's, the newest first."""
        return await service.rollouts(caller, limit)

    @router.get("/{run_id}", responses=own)
    async def rollout(run_id: str, caller: Annotated[str, Depends(caller_of)]) -> RolloutStatus:
        """How it stands."""
        return await service.rollout(caller, run_id)

    @router.delete(
        "/{run_id}",
        status_code=202,
        responses={**own, 409: {"model": ErrorAnswer, "description": "It has ended, or was cancelled already"}},
    )
    async def cancel(run_id: str, caller: Annotated[str, Depends(caller_of)]) -> RolloutStatus:
        """Cancel it; the episodes that were finished are kept."""
        return await service.cancel(caller, run_id)

    @router.get("/{run_id}/episodes", responses=own, response_model=EpisodePage)
    async def episodes(
        run_id: str,
        caller: Annotated[str, Depends(caller_of)],
        cursor: CursorText = START,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
        samples: Samples = True,
    ) -> Response:
        """The episodes that are over, in the order in which they were committed."""
        status = await service.rollout(caller, run_id)  # asked first: what it says is over is all committed
        location = await service.location(caller, run_id)
        ended = status.ended_at is not None
        page = await asyncio.to_thread(_page, location, cursor, limit, samples, ended)
        return Response(page, media_type="application/json")

    @router.get(
        "/{run_id}/stream",
        responses={**own, 200: {"content": {"text/event-stream": {"schema": EVENT_SCHEMA}}}},
        response_class=StreamingResponse,
    )
    async def stream(
        run_id: str,
        caller: Annotated[str, Depends(caller_of)],
        cursor: CursorText = START,
        samples: Samples = True,
        last_event_id: EventId = None,
    ) -> StreamingResponse:
        """Groups as they finish: events `group` (GroupDone, whose id is the cursor to go on from), at the end one `end` (RolloutStatus)."""
        location = await service.location(caller, run_id)
        place = last_event_id or cursor  # a client that connects again sends both
        await asyncio.to_thread(has_more, location, place)  # a bad one is refused before the stream begins
        events = _events(service, caller, run_id, location, place, samples)
        return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return router


async def _events(
    service: RolloutService, caller: str, run_id: str, location: str, cursor: str, samples: bool
) -> AsyncIterator[bytes]:
    """A service that stops, or is gone, ends it without the event `end`: whoever comes back goes on."""
    with contextlib.suppress(Refused):
        status, commits = await service.wait(caller, run_id, -1, 0)
        yield b": groups as they finish\n\n"
        while True:
            while (found := await asyncio.to_thread(_groups, location, cursor, samples)) is not None:
                cursor, events = found
                yield events
            if status.ended_at is not None:
                yield _event("end", msgspec.json.encode(status.model_dump(mode="json")))
                return
            before = commits
            status, commits = await service.wait(caller, run_id, commits, KEEP_ALIVE_S)
            if commits == before:
                yield b": waiting\n\n"


def _groups(location: str, cursor: str, samples: bool) -> tuple[str, bytes] | None:
    """The next events, and the place after them; None if there are no more yet."""
    groups = groups_after(location, cursor, GROUPS_AT_ONCE, samples)
    if not groups:
        return None
    events = (
        _event(
            "group",
            msgspec.json.encode({"group_id": one.group_id, "task_id": one.task_id, "episodes": one.episodes}),
            one.cursor,
        )
        for one in groups
    )
    return groups[-1].cursor, b"".join(events)


def _event(kind: Literal["group", "end"], data: bytes, cursor: str | None = None) -> bytes:
    """JSON has no line breaks, so it is one line of data."""
    named = f"id: {cursor}\nevent: {kind}\n" if cursor else f"event: {kind}\n"
    return named.encode() + b"data: " + data + b"\n\n"


def _page(location: str, cursor: str, limit: int, samples: bool, ended: bool) -> bytes:
    found = episodes_after(location, cursor, limit, samples)
    following = found[-1].cursor if found else cursor
    is_last = ended and not has_more(location, following)
    return msgspec.json.encode({"episodes": [one.row for one in found], "next": None if is_last else following})
