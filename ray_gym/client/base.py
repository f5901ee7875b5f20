"""Defines the base classes of both clients and their sessions, which do no input and output."""

from __future__ import annotations

from ray_gym.client.address import Address
from ray_gym.client.exchanges import Exchanges, Pages
from ray_gym.client.group_stream import GroupStream
from ray_gym.client.retries import Patience
from ray_gym.service.api import SessionOpened


class ServiceClient:
    """Holds the address, the patience and the exchanges of a client of the service."""

    def __init__(
        self, base_url: str | None = None, token: str | None = None, *, patience: Patience | None = None
    ) -> None:
        """Takes the service's address, the token, and the limits after which the client gives up.

        None: address and token are read from RAY_GYM_URL and RAY_GYM_TOKEN; the limits are the defaults. Errors:
        ValueError if there is no address, or if the address or the token is not valid.
        """
        self._address = Address.check_address(base_url, token)
        self._patience = patience or Patience()
        self._exchanges = Exchanges(self._address, self._patience)

    @property
    def base_url(self) -> str:
        """Returns the URL of the service."""
        return self._address.url

    @property
    def openai_base_url(self) -> str:
        """Returns the base URL for clients of OpenAI's API.

        All models of the service answer there. No call is recorded.
        """
        return f"{self.base_url}/v1"

    def _pages(self, run_id: str, cursor: str | None, page_size: int | None, samples: bool) -> Pages:
        return Pages(self._exchanges, run_id, cursor, page_size, samples)

    def _group_stream(self, run_id: str, cursor: str | None, samples: bool) -> GroupStream:
        return GroupStream(self._exchanges, self._patience, run_id, cursor, samples)


class OpenSession:
    """An open session is one episode, whose policy the caller plays through the service."""

    def __init__(self, base_url: str, opened: SessionOpened) -> None:
        self._base_url = base_url
        self.opened = opened
        """State of the session when it was opened, with the first messages and the tools of the policy."""

    @property
    def id(self) -> str:
        """Returns the id of the session."""
        return self.opened.id

    @property
    def openai_base_url(self) -> str:
        """Returns the base URL for clients of OpenAI's API.

        Each call there is a recorded step of this session's policy.
        """
        return self._base_url + self.opened.openai_path

    @property
    def anthropic_base_url(self) -> str:
        """Returns the base URL for clients of Anthropic's Messages API.

        Each call there is a recorded step of this session's policy.
        """
        return self._base_url + self.opened.anthropic_path

    @property
    def mcp_url(self) -> str:
        """Returns the address of the MCP server (streamable HTTP) that offers the policy's tools.

        It takes the session's key as `Authorization: Bearer`. Each call there is a tool call of this session's policy.
        """
        return self._base_url + self.opened.mcp_path

    @property
    def api_key(self) -> str:
        """Returns the API key for this session's paths. No other path accepts it."""
        return self.opened.api_key
