"""Turns the service's refusals into exceptions."""

from __future__ import annotations

from ray_gym.client.replies import ServiceReply
from ray_gym.service.api import ErrorAnswer, Problem

SHOWN = 500


class ServiceError(Exception):
    """The service refused a request. `param` names the field that is wrong.

    `tries` is the number of times that it was sent. After more than one, an earlier try may have been carried out.
    """

    def __init__(self, status: int, code: str, message: str, param: str | None = None, tries: int = 1) -> None:
        super().__init__(status, code, message, param, tries)  # all of it, so that it can be pickled
        self.status, self.code, self.message = status, code, message
        self.param, self.tries = param, tries

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {f'{self.param}: ' if self.param else ''}{self.message}"


def refusal(reply: ServiceReply, tries: int = 1) -> ServiceError:
    problem = _problem(reply)
    return ServiceError(reply.status, problem.code, problem.message, problem.param, tries)


def not_understood(status: int, what: str) -> ServiceError:
    message = f"the answer is not what this client expects: {what[:SHOWN]}; is this the address of a ray_gym service?"
    return ServiceError(status, "not_understood", message)


def _problem(reply: ServiceReply) -> Problem:
    """Reads the error from a reply. A proxy before the service may answer in another form, which is quoted then."""
    try:
        return ErrorAnswer.model_validate_json(reply.body).error
    except ValueError:
        text = reply.body[:SHOWN].decode(errors="replace").strip() or "no further words"
        return Problem(message=text, type="unknown", code=f"http_{reply.status}")
