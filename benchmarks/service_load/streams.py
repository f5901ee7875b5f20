"""Submits rollouts, and follows their streams of groups by clients that disconnect and reconnect."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx
from httpx_sse import aconnect_sse

from benchmarks.service_load.connection import BUSY, ClientConnection
from benchmarks.service_load.counts import RequestCounts, WrongAnswer
from benchmarks.service_load.games import ClientPauses

SUBMIT = "POST /v1/rollouts"
CANCEL = "DELETE /v1/rollouts/{id}"
STREAM = "GET .../stream"
STAYS_S = (2.0, 10.0)
"""Least and most seconds after which a client disconnects, to reconnect with its cursor."""
AHEAD = 3
"""Number of rollouts that are kept under way, playing or queued."""


@dataclass(slots=True)
class Followed:
    """Holds the groups that one client has seen of one rollout."""

    rollout: str
    groups: Counter[str] = field(default_factory=Counter)
    state: str = ""
    cursor: str = ""
    connections: int = 0


@dataclass(slots=True)
class RolloutStreams:
    """Submits rollouts, and lists those that clients can follow."""

    groups: int
    """Number of groups of each rollout."""
    submitted: list[str] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def submit(self, address: str, counts: RequestCounts, pace: ClientPauses) -> None:
        """Starts rollouts until the load is over, AHEAD at a time, then cancels those under way, so that their streams
        end. Errors: WrongAnswer.
        """
        async with ClientConnection.to(address, counts) as connection:
            while not pace.over.is_set():
                if len(self.under_way) >= AHEAD:
                    self.changed.clear()
                    await _first_of(self.changed, pace.over)
                    continue
                tasks = {"generate": self.groups, "repeats": 2, "seed": len(self.submitted)}
                body = {**tasks, "participants": {"policy": {"model": "slow"}}}
                rollout = (await connection.ask(SUBMIT, "/v1/rollouts", body))["id"]
                self.submitted.append(rollout)
                self.under_way.append(rollout)
            for rollout in list(self.under_way):
                try:
                    await connection.ask(CANCEL, f"/v1/rollouts/{rollout}")
                except WrongAnswer as error:
                    if "409" not in str(error):  # it has just ended
                        raise

    def ended(self, rollout: str) -> None:
        """Notes that a rollout has ended, so that another is submitted."""
        if rollout in self.under_way:
            self.under_way.remove(rollout)
            self.changed.set()


async def follow_rollouts(
    number: int,
    address: str,
    counts: RequestCounts,
    pace: ClientPauses,
    rollouts: RolloutStreams,
    followed: list[Followed],
) -> None:
    """Follows one rollout after the other, each from its first group to its end, until the load is over.

    `number` seeds the client's random choices. Each rollout is added to `followed` at its start. A wrong answer or a
    broken connection is counted in `counts`, and the client goes on with another rollout.
    """
    rng = random.Random(-number)
    async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as http:
        while not pace.over.is_set():
            if not rollouts.under_way:
                await asyncio.sleep(0.1)
                continue
            one = Followed(rollouts.under_way[rng.randrange(min(2, len(rollouts.under_way)))])
            followed.append(one)
            try:
                while not one.state:
                    await _follow(http, one, counts, rng.uniform(*STAYS_S))
            except (WrongAnswer, httpx.HTTPError, TimeoutError) as error:
                counts.errors.append(f"{STREAM}: {type(error).__name__}: {error}")
                await asyncio.sleep(1)
            rollouts.ended(one.rollout)


async def _follow(http: httpx.AsyncClient, one: Followed, counts: RequestCounts, stays_s: float) -> None:
    """Follows a rollout on one connection, from the cursor on, until the rollout ends or `stays_s` seconds are over.

    If the service is busy, it only waits as long as the service says. Errors: WrongAnswer if the service refuses or the
    stream ends too early; HTTPError, TimeoutError.
    """
    began = time.monotonic()
    headers = {"Last-Event-ID": one.cursor} if one.cursor else {}
    url = f"/v1/rollouts/{one.rollout}/stream"
    async with aconnect_sse(http, "GET", url, params={"samples": "false"}, headers=headers) as source:
        answer = source.response
        counts.count_answer(STREAM, answer.status_code, time.monotonic() - began)
        if answer.status_code in BUSY and "Retry-After" in answer.headers:
            await asyncio.sleep(float(answer.headers["Retry-After"]))
            return
        if answer.status_code != 200:
            raise WrongAnswer(f"{answer.status_code}: {(await answer.aread()).decode()[:300]}")
        one.connections += 1
        leaving = asyncio.timeout(stays_s)
        try:
            async with leaving:
                async for event in source.aiter_sse():
                    if event.event == "end":
                        one.state = event.json()["state"]
                        return
                    if event.event == "group":
                        one.groups[event.json()["group_id"]] += 1
                        one.cursor = event.id
        except TimeoutError:
            if not leaving.expired():
                raise
            return
        raise WrongAnswer(f"the stream of {one.rollout} ended in the middle")


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
