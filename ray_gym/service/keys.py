"""Makes the ids of rollouts and sessions. The same caller and idempotency key always give the same id."""

from __future__ import annotations

import hashlib
import secrets


def id_for(caller: str, key: str | None) -> str:
    """Returns an id of 32 hexadecimal digits, made from caller and key. If the key is None, the id is random."""
    return secrets.token_hex(16) if key is None else digest(f"{len(caller)} {caller} {key}")


def digest(text: str) -> str:
    """Returns the first 128 bits of a text's SHA-256, as 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
