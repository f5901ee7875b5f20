"""Checks addresses of servers, and keys, before a client meets them, whose errors name no place in a config."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def split_address(value: str, example: str) -> SplitResult:
    """Returns the parts of an address of a server, which may have whitespace around it, as lines of files with Windows'
    ends have. `example`: an address for the error.

    Errors: ValueError if it is no http or https address: also for a port or a host that can't be, and for a space or a
    character that nobody sees within it.
    """
    value = value.strip()
    wrong = ValueError(f"{value!r} is not an address like {example}")
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
        raise ValueError(f"{value!r}: no host can have that name ({error})") from None
    return parts


def check_header_value(name: str, value: str | None) -> str | None:
    """Checks that a value can stand in an HTTP header, and returns it.

    None is returned as it is. `name` names the value in messages. Errors: ValueError if it can't. The message does not
    show the value, since it may be a secret.
    """
    if value is not None and not (value.isascii() and value.isprintable() and value.strip() == value != ""):
        raise ValueError(f"{name}: expected printable ASCII characters without spaces around them")
    return value
