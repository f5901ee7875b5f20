"""Makes the ids of rollouts and sessions. The same idempotency key of the same caller always gives the same id."""

from __future__ import annotations

import hashlib
import secrets


def id_for(caller: str, key: str | None) -> str:
    """Returns an id of 32 hexadecimal digits: a random one without a key, else derived from caller and key."""
    return secrets.token_hex(16) if key is None else digest(f"{len(caller)} {caller} {key}")


def digest(text: str) -> str:
    """Returns 128 bits of the text's SHA-256, as 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
