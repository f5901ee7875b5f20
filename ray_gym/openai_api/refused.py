"""Defines the exception by which a request over HTTP is refused, and the usual refusals, named by their HTTP status.

A refusal survives pickling, so that it reaches the gateway from any actor that raised it.
"""

from __future__ import annotations


class Refused(Exception):
    """Says that a request over HTTP is refused.

    `status`: HTTP status. `code`: short name of the reason, for programs. `param`: name of the field that is wrong;
    None if it is no field's fault. `retry_after_s`: seconds after which the caller should retry; None if that is of no
    use.
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
    """Returns the refusal (HTTP 400) of a request in OpenAI's formats that is not valid."""
    return Refused(400, code, message, param)


def not_found(what: str, name: str) -> Refused:
    """Returns the refusal (HTTP 404) of a request for something that does not exist, or belongs to another caller, who
    must not learn of it. `what`: kind of the thing.
    """
    return Refused(404, f"unknown_{what}", f"there is no {what} {name!r}")


def unprocessable_content(message: str, param: str | None = None) -> Refused:
    """Returns the refusal (HTTP 422) of a request to the service's own API that is not valid."""
    return Refused(422, "invalid_request", message, param)


def too_many_requests(message: str, retry_after_s: float) -> Refused:
    """Returns the refusal (HTTP 429) of a request that comes on top of too many others. The caller should retry after
    `retry_after_s` seconds.
    """
    return Refused(429, "too_many", message, retry_after_s=retry_after_s)


def service_unavailable(message: str, retry_after_s: float = 1) -> Refused:
    """Returns the refusal (HTTP 503) of a request that can't be served at the moment. The caller should retry after
    `retry_after_s` seconds.
    """
    return Refused(503, "unavailable", message, retry_after_s=retry_after_s)
