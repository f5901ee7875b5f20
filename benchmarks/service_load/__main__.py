"""Puts load on the service, kills a worker, and checks all answers and records: `python -m benchmarks.service_load`."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.command import begin
from benchmarks.measure import MeasurementFailed
from benchmarks.service_load import memory
from benchmarks.service_load.connection import ClientConnection
from benchmarks.service_load.counts import RequestCounts, WrongAnswer
from benchmarks.service_load.games import CLOSE, OPEN, ClientPauses, Game, play_games
from benchmarks.service_load.records import SHOWN, check_games, check_streams, rows_of
from benchmarks.service_load.service import WORKERS, ServiceProcess, start_service
from benchmarks.service_load.streams import Followed, RolloutStreams, follow_rollouts
from benchmarks.table import table

MOST_GROWTH = 0.10
"""Largest share by which the memory of a process may grow (`memory.growth`)."""
WINDING_UP_S = 120.0
"""Most seconds after the load until the games and streams under way are over, and the last rows are written."""
WARM_UP = "warm-up"
COLUMNS = ["episode_id", "attempt", "status", "reward", "events"]


def say(text: str) -> None:
    print(text, flush=True)


@dataclass(slots=True)
class LoadTest:
    """Collects the requests, games and streams of all clients, and the memory of the processes."""

    rollouts: RolloutStreams
    warm_up: str
    """Id of the session that was opened before the load."""
    counts: RequestCounts = field(default_factory=RequestCounts)
    games: list[Game] = field(default_factory=list)
    followed: list[Followed] = field(default_factory=list)
    series: dict[int, memory.Series] = field(default_factory=dict)
    killed_at: float | None = None
    """Time of the kill (seconds of `time.time()`); None before it."""
    unwritten: list[str] = field(default_factory=list)
    """Ids of sessions that are over and not in the table yet."""

    def under_way_at_kill(self) -> list[Game]:
        at = self.killed_at or 0.0
        return [one for one in self.games if 0 < one.opened_at < at and (one.ended_at is None or one.ended_at > at)]


async def put_load_on(service: ServiceProcess, given: argparse.Namespace) -> LoadTest:
    """Runs all clients, kills a session worker meanwhile, and returns what they have seen.

    Errors: MeasurementFailed if they do not come to an end, or if the service gives a wrong answer outside of games and
    streams.
    """
    pace, stopped = ClientPauses(given.pause), asyncio.Event()
    load = LoadTest(RolloutStreams(given.groups), await _warm_up(service))
    counts, address = load.counts, service.address
    say("0 s: the load begins")
    watching = asyncio.create_task(memory.watch(service, load.series, stopped))
    submitting = asyncio.create_task(load.rollouts.submit(address, counts, pace))
    clients = [play_games(number, address, counts, pace, load.games) for number in range(given.sessions)]
    streams = [follow_rollouts(n, address, counts, pace, load.rollouts, load.followed) for n in range(given.streams)]
    playing = asyncio.gather(*clients, *streams)
    try:
        if 0 < given.kill_after < given.seconds:
            await asyncio.sleep(given.kill_after)
            load.killed_at = time.time()
            service.kill_one("session worker")
            say(f"{given.kill_after:g} s: a session worker was killed")
        await asyncio.sleep(given.seconds - (given.kill_after if load.killed_at else 0))
        stopped.set()
        pace.over.set()
        say(f"{given.seconds:g} s: what is under way is played to its end\n")
        async with asyncio.timeout(WINDING_UP_S):
            await asyncio.gather(playing, submitting, watching)
            await _until_written(load, address)
    except TimeoutError:
        left = sum(game.ended_at is None for game in load.games)
        unwritten = f"{len(load.unwritten)} not written{''.join(f' {one}' for one in load.unwritten[:SHOWN])}"
        unended = f"{sum(not one.state for one in load.followed)} of {len(load.followed)} streams"
        told = f"{left} of {len(load.games)} games and {unended} are not over, {unwritten}; {_errors_text(counts)}"
        raise MeasurementFailed(told) from None
    except WrongAnswer as error:
        raise MeasurementFailed(str(error)) from None
    finally:
        for task in (playing, submitting, watching):
            task.cancel()
        await asyncio.gather(playing, submitting, watching, return_exceptions=True)
    return load


async def _warm_up(service: ServiceProcess) -> str:
    """Opens and closes a first session, which starts the workers, waits until all are up, and returns the session's id.

    Errors: MeasurementFailed if that does not succeed within WINDING_UP_S seconds.
    """
    try:
        async with asyncio.timeout(WINDING_UP_S), ClientConnection.to(service.address, RequestCounts()) as connection:
            opened = await connection.ask(OPEN, "/v1/sessions", {"seed": 0}, key=WARM_UP)
            await connection.ask(CLOSE, f"/v1/sessions/{opened['id']}")
            while True:
                if list(service.processes().values()).count("session worker") >= WORKERS:
                    return str(opened["id"])
                await asyncio.sleep(0.2)
    except (WrongAnswer, TimeoutError) as error:
        raise MeasurementFailed(f"no session can be opened: {error}") from None


async def _until_written(load: LoadTest, address: str) -> None:
    """Waits until no session is open any more. Meanwhile `load.unwritten` has the ids of the open ones.

    Errors: WrongAnswer.
    """
    async with ClientConnection.to(address, RequestCounts()) as connection:
        while True:
            load.unwritten = await _open_sessions(connection)
            if not load.unwritten:
                return
            await asyncio.sleep(0.5)


async def _open_sessions(connection: ClientConnection) -> list[str]:
    found, cursor = list[str](), ""
    while True:
        page = await connection.ask("GET /v1/sessions", f"/v1/sessions?limit=1000{cursor}")
        found += [one["id"] for one in page["sessions"] if one["state"] == "open"]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def show_results(load: LoadTest, given: argparse.Namespace, directory: Path) -> list[str]:
    """Prints the results, checks the records in the service's `directory`, and returns the problems; none if all is
    right.
    """
    counts, seconds = load.counts, given.seconds
    say(table(counts.lines()))
    say("\n" + table(memory.lines(load.series, seconds)))
    rows = rows_of(directory / "sessions" / "tic_tac_toe", COLUMNS)
    moved = {row["episode_id"] for row in rows if row["attempt"] > 0}
    interrupted = load.under_way_at_kill()
    in_worker = [game for game in interrupted if game.id in moved]
    facts = {
        "requests": counts.requests,
        "requests/s": round(counts.requests / seconds),
        "asked to wait (429, 503 with Retry-After)": counts.asked_to_wait,
        "sessions opened": len(load.games),
        "sessions in the table": len(rows),
        "sessions under way at the kill": len(interrupted),
        "of these in the killed worker": len(in_worker),
        "of these played to their end": sum(game.ended_at is not None for game in in_worker),
        "rollouts": len(load.rollouts.submitted),
        "rollouts followed to the end": sum(bool(one.state) for one in load.followed),
        "connections for that": sum(one.connections for one in load.followed),
        "groups seen in streams": sum(one.groups.total() for one in load.followed),
    }
    width = max(map(len, facts))
    say("\n" + "\n".join(f"{name:{width}}  {value}" for name, value in facts.items()) + "\n")
    problems = [_errors_text(counts)] if counts.errors else []
    problems += check_games([row for row in rows if row["episode_id"] != load.warm_up], load.games)
    problems += check_streams(directory / "rollouts", load.followed, given.groups)
    for one in load.series.values():
        if (grown := memory.growth(one, seconds)) is not None and grown > MOST_GROWTH and given.flat:
            problems.append(f"memory of the {one.kind}: {grown:+.1%} (bound {MOST_GROWTH:.0%})")
    if load.killed_at and not in_worker:
        problems.append("no session was in the worker that was killed")
    return problems


def _errors_text(counts: RequestCounts) -> str:
    kinds = Counter(error[:160] for error in counts.errors).most_common(SHOWN)
    return "\n  ".join([f"{len(counts.errors)} errors", *(f"{times} x {error}" for error, times in kinds)])


def main(arguments: Sequence[str] | None = None) -> int:
    given, _ = begin(_parser(), arguments)
    folder = given.keep or Path(tempfile.mkdtemp(prefix="ray_gym_load_"))
    folder.mkdir(parents=True, exist_ok=True)
    told: list[str] = []
    problems: list[str] = []
    try:
        with start_service(folder, given.concurrency) as service:
            told = service.said
            load = asyncio.run(put_load_on(service, given))
            problems += show_results(load, given, service.directory)
    except MeasurementFailed as error:
        problems.append(str(error))
    finally:
        if given.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    for problem in problems[:SHOWN]:
        say(f"error: {problem}")
    if problems:
        say("\n".join([f"failed: {len(problems)} problems; the service's last words:", *told[-20:]]))
    else:
        say("all as it should be")
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service_load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=500, help="clients that play a session each (default 500)")
    parser.add_argument("--streams", type=int, default=64, help="clients that follow rollouts (default 64)")
    parser.add_argument("--seconds", type=float, default=60, help="seconds of load (default 60)")
    parser.add_argument(
        "--kill-after", type=float, default=15, help="seconds until a session worker is killed; 0: none is (default 15)"
    )
    parser.add_argument("--pause", type=float, default=4, help="mean seconds before a request (default 4)")
    parser.add_argument("--groups", type=int, default=60, help="groups of two episodes in each rollout (default 60)")
    parser.add_argument("--concurrency", type=int, default=16, help="episodes of a rollout in flight (default 16)")
    parser.add_argument(
        "--flat", action=argparse.BooleanOptionalAction, default=True, help="bound the growth of memory"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave all files in this folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
