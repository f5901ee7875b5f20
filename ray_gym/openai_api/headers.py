"""Reads the headers of requests, at all doors by the same rules."""

from __future__ import annotations

from collections.abc import Mapping

RETRIES = "x-stainless-retry-count"
"""Header by which OpenAI's and Anthropic's clients say how often they have sent a request before."""


def key_of(headers: Mapping[str, str]) -> str | None:
    """Returns the key of a request: that of `Authorization: Bearer KEY`, or, if there is no such header, that of
    `x-api-key`, by which Anthropic's clients send it. None without both; "" if the header that counts has no key.

    `headers`: headers by their names, in any case.
    """
    authorization = headers.get("Authorization")
    if authorization is None:
        key = headers.get("x-api-key")
        return None if key is None else key.strip()
    scheme, _, given = authorization.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def is_retry(headers: Mapping[str, str]) -> bool:
    """Returns True if a request's client says that it has sent it before: by a whole number above 0 in `RETRIES`.

    `headers`: headers by their names, in any case.
    """
    count = headers.get(RETRIES, "")
    return count.isascii() and count.isdigit() and count.strip("0") != ""
