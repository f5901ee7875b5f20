"""Stands for a service whose model is the tiny Llama: it answers `ray_gym.Client` with the hand-made groups.

It exists since a service needs Ray and vLLM, which the venvs of most trainers have not. Each rollout has as many of the
groups as tasks were asked for, in their order, and begins anew after the last.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from handmade import tiny_tokenizer

from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.service.api import (
    EnvironmentInfo,
    EnvironmentList,
    ErrorAnswer,
    GroupDone,
    ModelInfo,
    Problem,
    RolloutStatus,
)

OFFERED = EnvironmentInfo(
    name="mine",
    description="",
    pattern="",
    participants=["policy"],
    auxiliary=[],
    tools=[],
    scoring="",
    reward_range=(0.0, 1.0),
    task_schema={},
    generates=True,
)


class HandmadeService:
    """Keeps the groups, and the requests that it was sent."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        """Idempotency key of each request."""
        self._groups = [
            [row for row in rows if row["group_id"] == id_] for id_ in dict.fromkeys(r["group_id"] for r in rows)
        ]
        self._rollouts: dict[str, list[list[dict[str, Any]]]] = {}
        self._given = 0
        self.tokenizer: Any = tiny_tokenizer()
        self._lock = threading.Lock()

    def submit(self, request: dict[str, Any], key: str) -> str:
        """Takes a request, and returns the rollout's id: that of the key, as the service has it."""
        with self._lock:
            if key not in self._rollouts:
                count = len(request["tasks"]) if "tasks" in request else request["generate"]
                self.requests.append(request)
                self.keys.append(key)
                numbers = [(self._given + n) % len(self._groups) for n in range(count)]
                self._given += count
                self._rollouts[key] = [self._groups[number] for number in numbers]
            return str(self.keys.index(key))

    def model(self, name: str) -> ModelInfo:
        """Returns the description of the model, which has the tiny tokenizer unless a test gave another."""
        return ModelInfo(id=name, tokenizer=TokenizerDigest.of(self.tokenizer))

    def groups(self, id_: str) -> list[list[dict[str, Any]]]:
        """Returns the groups of a rollout."""
        return self._rollouts[self.keys[int(id_)]]

    def status(self, id_: str) -> RolloutStatus:
        """Returns the status of a rollout, which is over."""
        none: dict[str, Any] = dict.fromkeys(["reward_mean", "failure", "started_at", "ended_at"])
        episodes = sum(len(group) for group in self.groups(id_))
        return RolloutStatus(
            id=id_,
            environment="handmade",
            state="done",
            episodes=episodes,
            statuses={"completed": episodes},
            stop_reasons={},
            created_at=0,
            **none,
        )


@contextmanager
def serving(rows: list[dict[str, Any]]) -> Iterator[HandmadeService]:
    """Serves the rows of groups at `url`."""
    service = HandmadeService(rows)

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if (other := request.get("environment")) not in (None, OFFERED.name):
                problem = Problem(message=other, type="invalid_request_error", code="unknown_environment", param=None)
                self._answer(ErrorAnswer(error=problem).model_dump_json(), status=422)
                return
            self._answer(service.status(service.submit(request, self.headers["Idempotency-Key"])).model_dump_json())

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path == "/v1/environments":
                self._answer(EnvironmentList(environments=[OFFERED]).model_dump_json())
                return
            if path.startswith("/v1/models/"):
                self._answer(service.model(path.removeprefix("/v1/models/")).model_dump_json())
                return
            id_, *rest = path.removeprefix("/v1/rollouts/").split("/")
            if not rest:
                self._answer(service.status(id_).model_dump_json())
                return
            text = ""
            for number, group in enumerate(service.groups(id_)):
                shown = group
                if "samples=true" not in query:
                    shown = [{name: value for name, value in row.items() if name != "samples"} for row in group]
                done = GroupDone(group_id=group[0]["group_id"], task_id=group[0]["task_id"], episodes=shown)
                text += f"id: 1.{number}\nevent: group\ndata: {done.model_dump_json()}\n\n"
            end = service.status(id_).model_dump_json()
            self._answer(f"{text}event: end\ndata: {end}\n\n", "text/event-stream")

        def _answer(self, text: str, kind: str = "application/json", status: int = 200) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield service
        finally:
            server.shutdown()
