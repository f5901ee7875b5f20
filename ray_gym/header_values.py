"""Checks values of HTTP headers before a client meets them."""

from __future__ import annotations


def check_header_value(name: str, value: str | None) -> str | None:
    """Checks that a value can stand in an HTTP header, and returns it.

    None is returned as it is. `name` names the value in messages. Errors: ValueError if it can't. The message does not
    show the value, since it may be a secret.
    """
    if value is not None and not (value.isascii() and value.isprintable() and value.strip() == value != ""):
        raise ValueError(f"{name}: expected printable ASCII characters without spaces around them")
    return value
