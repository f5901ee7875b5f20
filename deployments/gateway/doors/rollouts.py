"""Defines the routes of rollouts, which submit, show and cancel them, and read their episodes in pages or as a stream.
Files are read, and JSON is encoded, in threads.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, NamedTuple

import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from ray_gym.deployments.gateway.doors.group_events import Events, GroupEvents, encode_event
from ray_gym.deployments.gateway.doors.list_query import ListCursor, ListLimit
from ray_gym.deployments.gateway.guards.body import ParsedBodyRoute
from ray_gym.deployments.gateway.guards.pace import PACED
from ray_gym.deployments.gateway.remote_service import ANSWER_S, SUBMIT_S, RemoteService
from ray_gym.openai_api.refused import Refused
from ray_gym.service.api import EpisodePage, ErrorAnswer, RolloutList, RolloutRequest, RolloutStatus, to_json
from ray_gym.service.pages import EpisodeCursor, has_more, read_episodes
from ray_gym.service.service import Service

KEEP_ALIVE_S = 15.0
"""Seconds without a new group after which a stream sends a comment, which keeps the connection open."""
UNPACED_BYTES = 4 * 2**20
"""Bytes after which a stream ends if Serve's proxy does not limit how far it is ahead of its reader (see `pace`): under
a Serve that another program has started.
"""
START = str(EpisodeCursor())
EVENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "event": {"enum": ["group", "end"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
"""Schema of each event. Its data is JSON: a GroupDone, or in the last event a RolloutStatus."""

CursorText = Annotated[
    str, Query(pattern=r"^[0-9]{1,12}\.[0-9]{1,12}$", description="Where to continue, from an answer.")
]
Samples = Annotated[bool, Query(description="Whether episodes come with their tokens.")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]
EventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=32)]


class StreamStart(NamedTuple):
    """Holds what a stream of a rollout's groups begins with."""

    location: str
    """Location of the run's files."""
    cursor: str
    found: Events | None
    """Events after the cursor, None if there are none yet."""
    status: RolloutStatus
    commits: int
    """Number of files that are committed."""


def rollout_routes(service: RemoteService, caller_of: Callable[..., Any]) -> APIRouter:
    """Returns the routes of rollouts. `caller_of`: FastAPI dependency that returns the caller's name."""
    router = APIRouter(prefix="/v1/rollouts", tags=["rollouts"], route_class=ParsedBodyRoute)
    groups = GroupEvents()
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
        """Put a rollout into the queue. With an Idempotency-Key the request can be sent again."""
        text = await asyncio.to_thread(to_json, request)
        status, made = await service.ask_within(SUBMIT_S, Service.submit_text, caller, text, key)
        response.status_code = 201 if made else 200
        return status

    @router.get("")
    async def rollouts(
        caller: Annotated[str, Depends(caller_of)], cursor: ListCursor = None, limit: ListLimit = 100
    ) -> RolloutList:
        """List the caller's rollouts, the newest first."""
        return await service.ask(Service.rollouts, caller, cursor, limit)

    @router.get("/{run_id}", responses=own)
    async def rollout(run_id: str, caller: Annotated[str, Depends(caller_of)]) -> RolloutStatus:
        """Show the state of a rollout."""
        return await service.ask(Service.rollout, caller, run_id)

    @router.delete(
        "/{run_id}",
        status_code=202,
        responses={**own, 409: {"model": ErrorAnswer, "description": "It has ended, or was cancelled already"}},
    )
    async def cancel(run_id: str, caller: Annotated[str, Depends(caller_of)]) -> RolloutStatus:
        """Cancel a rollout; the episodes that were finished are kept."""
        return await service.ask(Service.cancel, caller, run_id)

    @router.get("/{run_id}/episodes", responses=own, response_model=EpisodePage)
    async def episodes(
        run_id: str,
        caller: Annotated[str, Depends(caller_of)],
        cursor: CursorText = START,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
        samples: Samples = True,
    ) -> Response:
        """Read the episodes of a rollout that are over, in the order in which they were committed."""
        status, commits = await service.ask(
            Service.wait, caller, run_id, -1, 0
        )  # before the files are read: they have all episodes that this counts as over
        location = await service.ask(Service.location, caller, run_id)
        ended = status.ended_at is not None
        page = await asyncio.to_thread(_encode_page, location, cursor, limit, samples, ended, commits)
        return Response(page, media_type="application/json")

    @router.get(
        "/{run_id}/stream",
        responses={**own, 200: {"content": {"text/event-stream": {"schema": EVENT_SCHEMA}}}},
        response_class=StreamingResponse,
    )
    async def stream(
        request: Request,
        run_id: str,
        caller: Annotated[str, Depends(caller_of)],
        cursor: CursorText = START,
        samples: Samples = True,
        last_event_id: EventId = None,
    ) -> StreamingResponse:
        """Stream the groups of a rollout as they finish: events `group` (GroupDone, whose id is the cursor to continue
        from), at the end one `end` (RolloutStatus).
        """
        location = await service.ask(Service.location, caller, run_id)
        place = last_event_id or cursor  # a client that connects again sends both
        status, commits = await service.ask(Service.wait, caller, run_id, -1, 0)
        # Read before the stream begins, so that a bad place, and files that can't be read, are refused by a status.
        found = await groups.read_after(location, place, samples, commits)
        begun = StreamStart(location, place, found, status, commits)
        most_bytes = math.inf if PACED in request.scope else UNPACED_BYTES
        events = _stream_events(service, caller, run_id, begun, samples, groups, most_bytes)
        return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return router


async def _stream_events(
    service: RemoteService,
    caller: str,
    run_id: str,
    begun: StreamStart,
    samples: bool,
    groups: GroupEvents,
    most_bytes: float,
) -> AsyncIterator[bytes]:
    """Yields the events of a rollout's stream. It ends without the event `end` after `most_bytes`, and if the service
    refuses, or stops: a client that reconnects continues at its cursor.

    `begun`: place where the stream begins. `samples`: True if episodes come with their tokens. Errors: TimeoutError or
    RayError if the service does not answer.
    """
    location, cursor, found, status, commits = begun
    sent = 0
    with contextlib.suppress(Refused):
        yield b": groups as they finish\n\n"
        while True:
            while found is not None:
                yield found.data
                cursor, sent = found.cursor, sent + len(found.data)
                if sent >= most_bytes:
                    return
                found = await groups.read_after(location, cursor, samples, commits)
            if status.ended_at is not None:
                yield encode_event("end", msgspec.json.encode(status.model_dump(mode="json")))
                return
            before = commits
            waits = service.ask_within(KEEP_ALIVE_S + ANSWER_S, Service.wait, caller, run_id, commits, KEEP_ALIVE_S)
            status, commits = await waits
            if commits == before:
                yield b": waiting\n\n"
            found = await groups.read_after(location, cursor, samples, commits)


def _encode_page(location: str, cursor: str, limit: int, samples: bool, ended: bool, commits: int) -> bytes:
    """Returns a page of at most `limit` episodes after `cursor` as JSON text. The page has the cursor of the next page
    as `next`, which is null after the last page of a rollout that has `ended`. `samples`: True if episodes come with
    their tokens. `commits`: number of committed files that the caller knows of; no others are read. Errors: Refused if
    the cursor is none of this run, or the files can't be read.
    """
    found = read_episodes(location, cursor, limit, samples, commits)
    following = found[-1].cursor if found else cursor
    is_last = ended and not has_more(location, following, commits)
    return msgspec.json.encode({"episodes": [one.row for one in found], "next": None if is_last else following})
