"""Defines the outcome of a request: a reply of the service, or the error of httpx."""

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
    """HTTP status."""
    body: bytes
    headers: Mapping[str, str] = field(default_factory=httpx.Headers)
    """Headers by name, in which upper and lower case are the same."""

    @property
    def retry_after_s(self) -> float | None:
        """Returns the seconds to wait before the next try, from the header `Retry-After`; None without the header.

        The header holds seconds or a date (RFC 9110, section 10.2.3). Anything else counts as no header.
        """
        text = self.headers.get("Retry-After", "").strip()
        if text.isascii() and text.isdigit():
            return float(text)
        try:
            return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
        except (ValueError, OverflowError):
            return None


CallOutcome = ServiceReply | httpx.RequestError
"""Reply to a request, or httpx's error if none came back."""
