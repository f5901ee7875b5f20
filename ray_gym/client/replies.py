"""What came back for a request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

import httpx


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=httpx.Headers)
    """Found by their names in any case."""

    @property
    def retry_after_s(self) -> float | None:
        """The header says seconds or a date; what is neither counts as not said."""
        said = self.headers.get("Retry-After", "").strip()
        if said.isascii() and said.isdigit():
            return float(said)
        try:
            return max(parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
        except (ValueError, OverflowError):
            return None


Outcome = Reply | httpx.RequestError
"""Or why nothing came back."""
