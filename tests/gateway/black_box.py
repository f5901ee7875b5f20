"""A black-box agent in the hands of a test, ways to break its connection, and what the record says of it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from conftest import eventually
from served import Served

from ray_gym.client import Session
from ray_gym.record.soundness import sample_problems

Json = dict[str, Any]


@dataclass
class Notes:
    """Reads what the model `bazaar:echo` notes, and lets it answer."""

    notes: Path

    def asked(self, text: str) -> int:
        """Returns how often a model was asked this."""
        return sum(note.read_text() == text for note in self.notes.glob("asked-*"))

    def until_asked(self, text: str) -> None:
        eventually(lambda: self.asked(text), 20)

    def let_go(self, name: str) -> None:
        (self.notes / name).touch()


@dataclass
class Agent(Notes):
    """An agent has a session, a client for it, and a memory."""

    session: Session
    client: openai.OpenAI
    tools: list[Json]
    past: list[Any]

    def ask(self, *said: Any, **changes: Any) -> Any:
        messages = [*self.past, *said]
        return (
            self.client.chat.completions.create(
                **{"model": "policy", "messages": messages, "tools": self.tools, **changes}
            )
            .choices[0]
            .message
        )


@contextlib.contextmanager
def shopping(service: Served) -> Iterator[Agent]:
    """Opens a session, and yields an agent in it."""
    notes = fresh_notes(service)
    with service.client() as client, client.open_session() as session:
        view = session.opened.participants["policy"]
        past = [{"role": message.role, "content": message.content} for message in view.messages]
        with openai.OpenAI(base_url=session.openai_base_url, api_key=session.api_key, max_retries=0) as model:
            yield Agent(notes, session, model, view.tools, past)


def fresh_notes(service: Served) -> Path:
    """Empties the folder in which the model notes what it is asked, and returns it."""
    notes = service.folder.parents[1] / "notes"
    for note in notes.iterdir():
        note.unlink()
    return notes


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def result(call_id: str, text: Any = "one pen") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def samples(service: Served, agent: Agent) -> list[tuple[str, str | None, str]]:
    """Returns the policy's samples: thread, why it was forked, and what its tokens spell. Checks that mask and logprobs
    are on what was generated.
    """
    agent.session.score()
    row, found = service.row("bazaar:Bazaar", agent.session.opened.id), []
    for sample in row["samples"]:
        assert sample_problems(sample) == []
        ids = np.array(sample["token_ids"])
        assert sample["logprobs"] == pytest.approx(np.array(sample["loss_mask"]) * ids / -1000)
        for span in sample["spans"]:
            said, event = bytes(ids[span["start"] : span["end"]].tolist()).decode(), row["events"][span["event_seq"]]
            if span["generated"] or event["kind"] != "message":
                assert all(part["text"] in said for part in event["content"])
                assert all(call["arguments"] in said for call in event["tool_calls"])
        if sample["participant"] == "policy":
            found.append((sample["thread"], sample["fork_reason"], bytes(ids.tolist()).decode()))
    return found


def cut_off(service: Served, agent: Agent, body: Json) -> None:
    """Send a call, and close the connection as soon as the model is being asked. Returns when the gateway has done with it."""
    eventually(service.is_idle, 30)
    before = service.calls()
    url = httpx.URL(agent.session.openai_base_url)
    content = json.dumps(body).encode()
    head = (
        f"POST {url.path}/chat/completions HTTP/1.1\r\nHost: {url.host}\r\nAuthorization: Bearer {agent.session.api_key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port or 80)) as connection:
        connection.sendall(head.encode() + content)
        agent.until_asked(body["messages"][-1]["content"])
    eventually(lambda: service.is_idle() and service.calls() > before, 30)


class BreaksTheFirst:
    """This proxy drops its first connection once `asked` has returned: the request has arrived by then."""

    def __init__(self, target: tuple[str, int], asked: Any) -> None:
        self._target, self._asked = target, asked
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> int:
        self._thread.start()
        port: int = self._listener.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._thread.join()

    def _run(self) -> None:
        for number in range(2):
            client, _ = self._listener.accept()
            with client, socket.create_connection(self._target) as server:
                inward = threading.Thread(target=forward, args=(client, server))
                inward.start()
                if number:
                    forward(server, client)
                else:
                    self._asked()
                with contextlib.suppress(OSError):  # it may have gone by itself
                    client.shutdown(socket.SHUT_RDWR)
                inward.join()


def forward(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)  # else the other side would keep the connection for more
    except OSError:
        return
