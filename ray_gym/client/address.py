"""Checks the address of the service, and the token that its requests carry."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx

from ray_gym.header_values import check_header_value
from ray_gym.proxies import proxy_to, require_proxy

URL, TOKEN = "RAY_GYM_URL", "RAY_GYM_TOKEN"
"""Names of the environment variables with the address and the token."""
KEPT_S = 4.0
"""Seconds that an idle connection is kept. Servers commonly close theirs after 5 s, and a closed one costs a try."""
CONNECT_S = 10.0
"""Most seconds for opening a connection."""


@dataclass(frozen=True)
class Address:
    """An address is the URL of a service, with the token that its requests carry."""

    url: str
    """URL without a slash at the end."""
    token: str | None = field(repr=False)
    """Bearer token; None if the service needs none."""

    @classmethod
    def check_address(cls, url: str | None, token: str | None) -> Address:
        """Checks the URL and the token, and returns the address.

        An empty one, or None, is read from the environment variable RAY_GYM_URL or RAY_GYM_TOKEN. Errors: ValueError if
        there is no URL, if it is no HTTP address or its proxy is of another kind, or if the token can't stand in an HTTP
        header.
        """
        said = "base_url" if url else URL
        url = (url or os.environ.get(URL) or "").strip()
        if not url:
            raise ValueError(f"base_url: give the address of the service, as in http://localhost:8000, or set {URL}")
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ValueError(f"{said}: {url!r} is not an address: {error}") from None
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
            raise ValueError(f"{said}: expected an address like http://localhost:8000, not {url!r}")
        require_proxy(url)
        checked = check_header_value("token" if token else TOKEN, token or os.environ.get(TOKEN) or None)
        return cls(url.rstrip("/"), checked)

    def connection(self) -> dict[str, Any]:
        """Returns keyword arguments for httpx.Client and httpx.AsyncClient, the token's header among them."""
        return {
            "base_url": self.url,
            "headers": {} if self.token is None else {"Authorization": f"Bearer {self.token}"},
            "verify": ssl.create_default_context(),  # the machine's own certificates
            "proxy": proxy_to(self.url),
            "trust_env": False,  # that is all of the environment
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=KEPT_S),
        }


def timeouts(within_s: float) -> httpx.Timeout:
    """Returns httpx's timeouts for a request that may wait `within_s` seconds for the next bytes."""
    return httpx.Timeout(within_s, connect=min(within_s, CONNECT_S))
