"""Streams that nobody reads, records beside files that are lost, and what is being answered when the service is told to end."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from conftest import eventually
from gateway_app import problem
from raw_http import WITHIN_S, head
from served import TOKEN, Served, served

from ray_gym.client import SessionRequest
from ray_gym.run.commit_order import committed_name
from ray_gym.run.posix_storage import PosixStorage
from ray_gym.spec import EpisodeSpec
from ray_gym.trajectory import as_table, failed_row

pytestmark = pytest.mark.ray

CONFIG = """
environment: {id: tic_tac_toe}
tasks: {generate: 2}
models:
  small: {engine: scripted, player: "envs.tic_tac_toe.players:random_player"}
  slow: {engine: scripted, player: "envs.tic_tac_toe.players:random_player", delay_s: 300}
participants:
  policy: {model: small}
  user: {model: small}
fanout: {workers: 1}
"""
RUN = "a" * 32
GROUPS, GROUP_BYTES = 40, 10**6
STALLED = 12
PATH = f"/v1/rollouts/{RUN}/stream"


def large_rollout(folder: Path) -> None:
    """That has ended; its groups can't be compressed."""
    run = PosixStorage.of(folder / "runs" / "service" / "rollouts" / RUN)
    run.create()
    staged = run.staged_under(1)
    for number in range(1, GROUPS + 1):
        row = failed_row(EpisodeSpec(f"e{number}", f"g{number}", "t", 0, 0, "{}"), "run", "env", "x")
        row["task"] = secrets.token_hex(GROUP_BYTES // 2)
        staged.stage("part-1-0-00000.parquet", as_table([row]))
        staged.publish("part-1-0-00000.parquet", committed_name(number, "part-1-0-00000.parquet"))
    made = {"caller": "tester", "body": "x", "environment": "tic_tac_toe", "episodes": GROUPS, "created_at": 1.0}
    summary = {"status": {"failed": GROUPS}, "stop_reasons": {}, "mean_reward": None, "interrupted": False}
    run.write("request.json", json.dumps(made).encode())
    run.write("summary.json", json.dumps({**summary, "failure": None, "started_at": 1, "ended_at": 2}).encode())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("stalled")
    large_rollout(folder)
    with ExitStack() as waiting, served(CONFIG, folder) as service:
        yield service
        pool = waiting.enter_context(ThreadPoolExecutor())
        asked = pool.submit(ask_slow_model, service.url)
        eventually(lambda: service.metric("ray_gym_http_requests_in_flight{") == 1, 30)
    answer = asked.result()
    assert problem(answer, 503)["code"] == "unavailable" and int(answer.headers["Retry-After"]) > 0


def ask_slow_model(url: str) -> httpx.Response:
    body = {"model": "slow", "messages": [{"role": "user", "content": "You play X. Your turn"}]}
    return httpx.post(f"{url}/v1/chat/completions", json=body, headers=AUTHORIZED, timeout=120)


AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


def opened(url: str) -> socket.socket:
    """A stream of which the first bytes have come."""
    place = urlsplit(url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    connection.settimeout(WITHIN_S)
    connection.connect((place.hostname, place.port))
    connection.sendall(head("GET", PATH, token=TOKEN))
    assert connection.recv(512).startswith(b"HTTP/1.1 200")
    return connection


def memory_mb(pid: int) -> float:
    """Of the proxy and the gateway."""
    found = [child for child in psutil.Process(pid).children(recursive=True) if is_of_gateway(child)]
    assert len(found) == 2
    return sum(child.memory_full_info().uss for child in found) / 2**20


def is_of_gateway(process: psutil.Process) -> bool:
    return " ".join(process.cmdline()).startswith(("ray::ProxyActor", "ray::ServeReplica:service-gateway"))


def test_streams_that_nobody_reads_hold_their_makers_back(service: Served) -> None:
    def streams() -> float:
        return service.metric("ray_gym_http_streams_open{")

    before = memory_mb(service.pid)
    with ExitStack() as connections:
        stalled = [connections.enter_context(opened(service.url)) for _ in range(STALLED)]
        assert streams() == STALLED
        with httpx.stream("GET", service.url + PATH, headers=AUTHORIZED, timeout=60) as answer:
            kinds = [line for line in answer.iter_lines() if line.startswith("event: ")]
        assert kinds == ["event: group"] * GROUPS + ["event: end"]
        # That one began last and has come to its end: the others would have, too, if they were not held back.
        assert eventually(streams, 5) >= STALLED
        grown = memory_mb(service.pid) - before
        assert grown < STALLED * GROUPS * GROUP_BYTES / 2**20 / 3, f"{grown:.0f} MB"

        size, last = 0, b""
        while b"event: end" not in last:
            piece = stalled[0].recv(2**20)
            assert piece
            size, last = size + len(piece), last[-20:] + piece
        assert size > GROUPS * GROUP_BYTES
    eventually(lambda: streams() == 0, 30)


def test_a_session_s_record_is_waited_for_until_it_is_committed(service: Served) -> None:
    with service.client() as client, client.open_session(SessionRequest(seed=7)) as session:
        path = f"{service.url}/v1/sessions/{session.id}/episode"
        assert problem(httpx.get(path, headers=AUTHORIZED), 409)["code"] == "not_ended"
        session.score()
        answer = httpx.get(path, headers=AUTHORIZED, timeout=30)
    assert answer.status_code == 200 and answer.json()["episode_id"] == session.id


def test_a_session_s_record_is_read_from_its_own_file_only(service: Served) -> None:
    with service.client() as client:
        ids = []
        for seed in range(2):
            with client.open_session(SessionRequest(seed=seed)) as session:
                session.score()
                ids.append(session.id)
            service.row("tic_tac_toe", session.id)  # is committed, so that the next one has a file of its own
        *_, newest = sorted((service.folder / "sessions" / "tic_tac_toe" / "episodes").iterdir())
        newest.write_bytes(b"nonsense")
        answers = [httpx.get(f"{service.url}/v1/sessions/{one}/episode", headers=AUTHORIZED, timeout=30) for one in ids]
    assert answers[0].status_code == 200 and answers[0].json()["episode_id"] == ids[0]
    told = problem(answers[1], 500)
    assert told["code"] == "damaged_episodes" and newest.name not in told["message"]
