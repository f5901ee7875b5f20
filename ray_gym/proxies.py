"""Finds the proxy for calls to an address, and names it where they fail."""

from __future__ import annotations

import json
import os
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ray_gym.errors import describe
from ray_gym.printable import masked

_OF_A_PROXY = frozenset({403, 502, 503, 504})
"""HTTP statuses with which a proxy answers itself, as servers do, too; 407 is a proxy's only."""


def proxy_to(url: str) -> str | None:
    """Returns the address of the proxy for a URL by this process's environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY,
    NO_PROXY), or None if there is none.

    Callers ask once, and keep the answer: aiohttp's `trust_env` asks in a thread, and reads ~/.netrc in another, at
    every call.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    is_direct = proxy_bypass(host) or (parts.port is not None and proxy_bypass(f"{host}:{parts.port}"))
    found = {} if is_direct else getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy  # as other programs read it


def require_proxy(url: str) -> str | None:
    """Returns `proxy_to(url)`. Errors: ValueError, which names it, if it is of a kind that calls can't go through."""
    proxy = proxy_to(url)
    if proxy is not None and urlsplit(proxy).scheme not in ("http", "https"):
        raise ValueError(f"calls go through proxies with http:// or https:// only{through_proxy(url)}")
    return proxy


def through_proxy(url: str) -> str:
    """Returns a text for messages that names the proxy for a URL, the variable that has set it, and how to go without
    it; "" if there is none.
    """
    proxy = proxy_to(url)
    if proxy is None:
        return ""
    scheme, _, address = proxy.partition("://")
    shown = f"{scheme}://{address.rpartition('@')[2].rstrip('/')}"  # without a password
    host = urlsplit(url).hostname
    names = [f"{urlsplit(url).scheme}_proxy", "all_proxy"]
    variable = next(name for each in names for name in (each, each.upper()) if os.environ.get(name))
    return f", through the proxy {shown} of {variable}; NO_PROXY={host} goes without it"


def unreached(error: BaseException, url: str) -> str:
    """Describes an error of a call to a URL, names the proxy for it, and leaves out the proxy's password, which texts of
    clients have in the proxy's address.
    """
    user = urlsplit(proxy_to(url) or "").netloc.rpartition("@")[0]
    return f"{masked(describe(error), f'{user}@', '') if user else describe(error)}{through_proxy(url)}"


def answered_through(url: str, status: int, body: str) -> str:
    """Returns `through_proxy(url)` if the answer to a call may be the proxy's own, else "". A proxy shows its own only
    where the URL has no TLS, and writes a page, where endpoints write JSON.
    """
    if urlsplit(url).scheme != "http" or (status != 407 and (status not in _OF_A_PROXY or _is_json(body))):
        return ""
    return through_proxy(url)


def _is_json(body: str) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
