"""Serves nothing but the OpenAI-compatible door. As a program, it stands in front of a Serve application, until its
standard input closes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from ray_gym.deployments.gateway.doors.door_targets import DoorTarget, Target
from ray_gym.deployments.gateway.doors.openai_door import openai_router
from ray_gym.hosting.door import ServeDoor
from ray_gym.models.engine import Tokenizing
from ray_gym.openai_api.refused import Refused
from ray_gym.run.cluster.cluster import connect
from ray_gym.service.api import ErrorAnswer, Problem


def door_app(targets: Mapping[str, Target], tokenizers: Mapping[str, Tokenizing] | None = None) -> FastAPI:
    """Callers say who they are."""
    app = FastAPI()
    app.include_router(
        openai_router(targets, tokenizers or {}, lambda request: request.headers.get("X-Caller", "local"))
    )
    app.add_exception_handler(Refused, _answer)
    return app


async def _answer(request: Request, refused: Exception) -> JSONResponse:
    assert isinstance(refused, Refused)
    kind = "invalid_request_error" if refused.status < 500 else "server_error"
    problem = Problem(message=refused.message, type=kind, code=refused.code, param=refused.param)
    headers = {} if refused.retry_after_s is None else {"Retry-After": f"{refused.retry_after_s:.0f}"}
    return JSONResponse(ErrorAnswer(error=problem).model_dump(), refused.status, headers)


def main(app: str, port: int) -> None:
    door = door_app(
        {"small": DoorTarget(ServeDoor(app, silence_s=60)), "gone": DoorTarget(ServeDoor("not-there", silence_s=2))}
    )
    with connect():
        server = uvicorn.Server(uvicorn.Config(door, port=port, log_level="warning"))

        def wait_for_the_end() -> None:
            sys.stdin.read()
            server.should_exit = True

        threading.Thread(target=wait_for_the_end, daemon=True).start()
        server.run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
