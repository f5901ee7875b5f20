"""Defines the exception by which a request over HTTP is refused, and the usual refusals, named by their HTTP status.

A refusal survives pickling, so that it reaches the gateway from any actor that raised it.
"""

from __future__ import annotations


class Refused(Exception):
    """Refuses a request over HTTP.

    `status`: HTTP status. `code`: short name of the reason, for programs. `param`: name of the field that is wrong.
    `retry_after_s`: seconds after which the caller should retry.
    """

    def __init__(
        self, status: int, code: str, message: str, param: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(status, code, message, param, retry_after_s)
        self.status, self.code, self.message = status, code, message
        self.param, self.retry_after_s = param, retry_after_s

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def bad_request(message: str, param: str | None = None, code: str = "invalid_request") -> Refused:
    """Returns the refusal of a request in OpenAI's formats that is not valid (400)."""
    return Refused(400, code, message, param)


def not_found(what: str, name: str) -> Refused:
    """Returns the refusal of a name that does not exist, or belongs to another caller, who must not learn of it (404)."""
    return Refused(404, f"unknown_{what}", f"there is no {what} {name!r}")


def unprocessable_content(message: str, param: str | None = None) -> Refused:
    """Returns the refusal of a request to the service's own API that is not valid (422)."""
    return Refused(422, "invalid_request", message, param)


def too_many_requests(message: str, retry_after_s: float) -> Refused:
    """Returns the refusal of a request because there are too many; the caller should retry later (429)."""
    return Refused(429, "too_many", message, retry_after_s=retry_after_s)


def service_unavailable(message: str, retry_after_s: float = 1) -> Refused:
    """Returns the refusal of a request that can't be served at the moment (503)."""
    return Refused(503, "unavailable", message, retry_after_s=retry_after_s)
