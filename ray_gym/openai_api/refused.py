"""Defines why the service refuses a request.

A refusal survives pickling, so that it reaches the gateway from any actor that raised it.
"""

from __future__ import annotations


class Refused(Exception):
    """Says why a request is refused.

    `status` is HTTP's; `param` names the field that is wrong; `retry_after_s` says in how many seconds to ask again.
    """

    def __init__(
        self, status: int, code: str, message: str, param: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(status, code, message, param, retry_after_s)
        self.status, self.code, self.message = status, code, message
        self.param, self.retry_after_s = param, retry_after_s

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def unknown(what: str, name: str) -> Refused:
    """Refuses a name that is unknown, or another caller's: nobody is told that it is there (404)."""
    return Refused(404, f"unknown_{what}", f"there is no {what} {name!r}")


def invalid(message: str, param: str | None = None) -> Refused:
    """Refuses a request that is not valid (422)."""
    return Refused(422, "invalid_request", message, param)


def busy(message: str, retry_after_s: float) -> Refused:
    """Refuses a request because there are too many: the caller should come back later (429)."""
    return Refused(429, "too_many", message, retry_after_s=retry_after_s)


def unavailable(message: str, retry_after_s: float = 1) -> Refused:
    """Refuses a request that can't be served at the moment (503)."""
    return Refused(503, "unavailable", message, retry_after_s=retry_after_s)
