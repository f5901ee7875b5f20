"""Callers of sessions who go before they are answered, who are too many, and who close what others wait for; on the running service."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import openai
import pytest
from conftest import eventually
from served import TOKEN, Served, served

from ray_gym.client import Session
from ray_gym.client.errors import ServiceError

pytestmark = pytest.mark.ray

CONFIG = """
environment: {{id: "bazaar:Bazaar"}}
tasks: {{generate: 1}}
models:
  small: {{engine: "bazaar:SpellingEngine", player: "bazaar:echo", arguments: {{notes: {notes}}}}}
participants:
  policy: {{model: small}}
  user: {{model: small}}
limits: {{max_turns: 1000}}
service: {{session_workers: 1, max_waiting_commands: {waiting}}}
"""
WAITING = 24
ON_TOP = 6
GONE = 60


@dataclass(frozen=True)
class Caller:
    service: Served
    session: Session
    notes: Path

    def let_go(self, name: str) -> None:
        (self.notes / name).touch()

    def asked(self, text: str) -> int:
        """How often a model was."""
        return sum(note.read_text() == text for note in self.notes.glob("asked-*"))

    def until_asked(self, text: str) -> None:
        eventually(lambda: self.asked(text), 20)

    def say(self, text: str, key: str, within_s: float = 60) -> httpx.Response:
        url = f"{self.service.url}/v1/sessions/{self.session.id}/messages"
        headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": key}
        return httpx.post(url, json={"content": text}, headers=headers, timeout=within_s)

    def ask(self, text: str, tries: int) -> str:
        """As a black-box agent."""
        base_url, key = self.session.openai_base_url, self.session.api_key
        with openai.OpenAI(base_url=base_url, api_key=key, max_retries=tries) as client:
            said = client.chat.completions.create(model="policy", messages=[{"role": "user", "content": text}])
        return said.choices[0].message.content or ""

    def refused(self) -> httpx.Response | None:
        """What is said on top; None if it would wait."""
        with contextlib.suppress(httpx.ReadTimeout):
            return self.say("on top", "on top", within_s=5)
        return None

    def begin_to_say(self, text: str, key: str) -> socket.socket:
        """Send a request, and wait for nothing."""
        url, content = httpx.URL(self.service.url), json.dumps({"content": text}).encode()
        head = (
            f"POST /v1/sessions/{self.session.id}/messages HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Idempotency-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        connection = socket.create_connection((url.host, url.port or 80))
        connection.sendall(head.encode() + content)
        return connection


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("leaving")
    (folder / "notes").mkdir()
    with served(CONFIG.format(waiting=WAITING, notes=folder / "notes"), folder) as service:
        yield service


@pytest.fixture
def caller(service: Served) -> Iterator[Caller]:
    notes = service.folder.parents[1] / "notes"
    for note in notes.iterdir():
        note.unlink()
    with service.client() as client, client.open_session() as session:
        yield Caller(service, session, notes)


def test_callers_who_go_leave_nothing_behind(service: Served, caller: Caller) -> None:
    """What was begun is carried out, and its answer is there for who asks again; what was not gives its place to others."""
    with contextlib.ExitStack() as connections:
        connections.enter_context(caller.begin_to_say("wait gate", "first"))
        caller.until_asked("wait gate")
        for number in range(GONE):
            connections.enter_context(caller.begin_to_say("gone", f"gone {number}"))
        assert eventually(caller.refused, 30).status_code == 429
    eventually(service.is_idle, 20)
    with ThreadPoolExecutor() as threads:
        again = [threads.submit(caller.say, "wait gate", "first") for _ in range(2)]
        other = threads.submit(caller.say, "hello", "other")
        eventually(lambda: service.in_flight() == 3, 20)
        caller.let_go("gate")
        for one in again:
            assert one.result().json()["messages"][0]["content"] == "re: wait gate"
        assert other.result().json()["messages"][0]["content"] == "re: hello"
    assert caller.asked("wait gate") == 1 and caller.asked("gone") == 0


def test_what_waits_on_top_is_told_to_come_back_and_the_client_does(service: Served, caller: Caller) -> None:
    with ThreadPoolExecutor(WAITING + ON_TOP + 4) as threads:
        first = threads.submit(caller.say, "wait gate", "first")
        caller.until_asked("wait gate")
        more = [threads.submit(caller.say, "more", f"more {number}") for number in range(WAITING + ON_TOP)]
        refused = eventually(lambda: len(done := [one for one in more if one.done()]) >= ON_TOP and done, 40)
        for answer in (one.result() for one in refused):
            assert answer.status_code == 429 and int(answer.headers["Retry-After"]) >= 1
        assert answer.json()["error"]["code"] == "too_many" and "commands wait" in answer.json()["error"]["message"]
        with pytest.raises(openai.RateLimitError) as captured:
            caller.ask("on top", tries=0)
        assert int(captured.value.response.headers["Retry-After"]) >= 1
        patient = threads.submit(caller.ask, "patient", tries=20)  # its client, and ours, come back by themselves
        timer = threading.Timer(0.5, caller.let_go, ["gate"])
        timer.start()
        assert caller.session.say("I wait").messages[0].content == "re: I wait"
        timer.join()
        assert first.result().status_code == 200 and patient.result() == "re: patient"
        waited = [one.result().status_code for one in more if one not in refused]
    assert waited == [200] * WAITING, "none is lost, and none too many is taken"
    assert caller.asked("on top") == 0


def test_closing_waits_for_nobody(service: Served, caller: Caller) -> None:
    with ThreadPoolExecutor() as threads:
        under_way = threads.submit(caller.say, "wait gate", "first")
        caller.until_asked("wait gate")
        waiting = [threads.submit(caller.say, "hello", f"{n}") for n in range(3)]
        began = time.monotonic()
        caller.session.close()
        assert time.monotonic() - began < 10
        answers = [under_way.result(), *(one.result() for one in waiting)]
    assert answers[0].status_code == 409 and answers[0].json()["error"]["code"] == "session_closed"
    assert {answer.status_code for answer in answers} == {409}
    row = service.row("bazaar:Bazaar", caller.session.id)
    assert (row["status"], row["stop_reason"]) == ("cancelled", "closed")
    assert caller.asked("hello") == 0
    with pytest.raises(ServiceError, match="session_closed"):
        caller.session.say("anyone?")
