"""Holds the outcome of a request: a reply, or the error that came instead."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

import httpx


@dataclass(frozen=True)
class ServiceReply:
    """A reply is the service's HTTP response to a request."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=httpx.Headers)
    """Headers by name, in which upper and lower case are the same."""

    @property
    def retry_after_s(self) -> float | None:
        """Returns the seconds after which to come back, from the header `Retry-After`; None without one.

        The header holds seconds or a date (RFC 9110). Anything else counts as no header.
        """
        said = self.headers.get("Retry-After", "").strip()
        if said.isascii() and said.isdigit():
            return float(said)
        try:
            return max(parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
        except (ValueError, OverflowError):
            return None


CallOutcome = ServiceReply | httpx.RequestError
"""Reply to a request, or httpx's error if none came back."""
