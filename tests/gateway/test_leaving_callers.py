"""Checks callers of sessions that leave before they are answered, that are too many, or that close a session for which
others wait, on the running service.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import openai
import pytest
from black_box import Notes, fresh_notes
from conftest import eventually
from served import TOKEN, Served
from services import MOST_WAITING

from ray_gym.client import Session
from ray_gym.client.errors import ServiceError

pytestmark = [pytest.mark.ray, pytest.mark.services]

ON_TOP = 6
GONE = 60


@dataclass
class Caller(Notes):
    service: Served
    session: Session

    def say(self, text: str, key: str, within_s: float = 60) -> httpx.Response:
        url = f"{self.service.url}/v1/sessions/{self.session.id}/messages"
        headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": key}
        return httpx.post(url, json={"content": text}, headers=headers, timeout=within_s)

    def ask(self, text: str, tries: int) -> str:
        """Asks as a black-box agent does, and returns the answer."""
        base_url, key = self.session.openai_base_url, self.session.api_key
        with openai.OpenAI(base_url=base_url, api_key=key, max_retries=tries) as client:
            said = client.chat.completions.create(model="policy", messages=[{"role": "user", "content": text}])
        return said.choices[0].message.content or ""

    def refused(self) -> httpx.Response | None:
        """Returns the answer to one command more; None if that would wait."""
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


@pytest.fixture
def caller(service: Served) -> Iterator[Caller]:
    notes = fresh_notes(service)
    with service.client() as client, client.open_session() as session:
        yield Caller(notes, service, session)


def test_callers_who_go_leave_nothing_behind(service: Served, caller: Caller) -> None:
    """A running command is finished, and its answer is kept for a retry; commands that wait give up their places."""
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
    with ThreadPoolExecutor(MOST_WAITING + ON_TOP + 4) as threads:
        first = threads.submit(caller.say, "wait gate", "first")
        caller.until_asked("wait gate")
        more = [threads.submit(caller.say, "more", f"more {number}") for number in range(MOST_WAITING + ON_TOP)]
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
    assert waited == [200] * MOST_WAITING, "none is lost, and none too many is taken"
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
