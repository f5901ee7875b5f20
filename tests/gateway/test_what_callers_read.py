"""Streams that nobody reads, and records beside files that are lost."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from conftest import eventually
from gateway_app import problem
from large_rollout import GROUP_BYTES, GROUPS, RUN
from raw_http import WITHIN_S, head
from served import TOKEN, Served

from ray_gym.client import SessionRequest

pytestmark = [pytest.mark.ray, pytest.mark.services]

STALLED = 12
PATH = f"/v1/rollouts/{RUN}/stream"


AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


def opened(url: str) -> socket.socket:
    """Opens a stream, and returns its connection when the first bytes have come."""
    place = urlsplit(url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    connection.settimeout(WITHIN_S)
    connection.connect((place.hostname, place.port))
    connection.sendall(head("GET", PATH, token=TOKEN))
    assert connection.recv(512).startswith(b"HTTP/1.1 200")
    return connection


def memory_mb(pid: int) -> float:
    """Returns the memory of the proxy and the gateway."""
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
            with client.open_session(SessionRequest(environment="tic_tac_toe", seed=seed)) as session:
                session.score()
                ids.append(session.id)
            service.row("tic_tac_toe", session.id)  # is committed, so that the next one has a file of its own
        *_, newest = sorted((service.folder / "sessions" / "tic_tac_toe" / "episodes").iterdir())
        newest.write_bytes(b"nonsense")
        answers = [httpx.get(f"{service.url}/v1/sessions/{one}/episode", headers=AUTHORIZED, timeout=30) for one in ids]
    assert answers[0].status_code == 200 and answers[0].json()["episode_id"] == ids[0]
    told = problem(answers[1], 500)
    assert told["code"] == "damaged_episodes" and newest.name not in told["message"]
