"""Turns the service's refusals into `ServiceError`."""

from __future__ import annotations

from ray_gym.client.replies import ServiceReply
from ray_gym.service.api import ErrorAnswer, Problem

SHOWN = 500
"""Most characters of an answer that are quoted in a message."""


class ServiceError(Exception):
    """Says that the service has refused a request.

    `status` is the HTTP status, `code` the error's name, and `param` the field that is wrong, None if no field is.
    `tries` is the number of times that the request was sent. With more than one, the service may have carried it out.
    """

    def __init__(self, status: int, code: str, message: str, param: str | None = None, tries: int = 1) -> None:
        super().__init__(status, code, message, param, tries)  # all of it, so that it can be pickled
        self.status, self.code, self.message = status, code, message
        self.param, self.tries = param, tries

    def __str__(self) -> str:
        is_told = self.param is None or self.message.startswith(f"{self.param}: ")
        return f"{self.status} {self.code}: {self.message if is_told else f'{self.param}: {self.message}'}"


def refusal(reply: ServiceReply, tries: int = 1) -> ServiceError:
    """Returns the error for a reply by which the service refuses a request. `tries`: how often the request was sent."""
    problem = _problem(reply)
    return ServiceError(reply.status, problem.code, problem.message, problem.param, tries)


def not_understood(status: int, what: str) -> ServiceError:
    """Returns the error for an answer that this client cannot read. `what`: the reason."""
    message = f"the answer is not what this client expects: {what[:SHOWN]}; is this the address of a ray_gym service?"
    return ServiceError(status, "not_understood", message)


def _problem(reply: ServiceReply) -> Problem:
    """Returns the error that a reply describes. If a proxy has answered in another form, the error quotes its text."""
    try:
        return ErrorAnswer.model_validate_json(reply.body).error
    except ValueError:
        text = reply.body[:SHOWN].decode(errors="replace").strip() or "no further words"
        return Problem(message=text, type="unknown", code=f"http_{reply.status}")
