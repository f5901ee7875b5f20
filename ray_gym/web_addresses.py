"""Checks addresses of servers before a client meets them, whose errors name no place in a config."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def split_address(value: str, example: str) -> SplitResult:
    """Returns the parts of an address of a server, which may have whitespace around it, as lines of files with Windows'
    ends have. `example`: an address for the error.

    Errors: ValueError if it is no http or https address: also for a port or a host that can't be, and for a space or a
    character that nobody sees within it. It does not show an address with an @, before which a password may be.
    """
    value = value.strip()
    wrong = ValueError(f"{'this' if '@' in value else repr(value)} is not an address like {example}")
    if " " in value or not value.isprintable():
        raise wrong
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:  # its text may show a part of a key, which no mask finds
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise wrong
    try:
        parts.hostname.encode("idna")
    except UnicodeError as error:
        raise ValueError(f"{parts.hostname!r}: no host can have that name ({error})") from None
    return parts
