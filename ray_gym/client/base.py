"""What `Client` and `AsyncClient` have in common: all but input and output."""

from __future__ import annotations

from ray_gym.client.address import Address
from ray_gym.client.exchanges import Exchanges, Pages
from ray_gym.client.group_stream import GroupStream
from ray_gym.client.retries import Patience
from ray_gym.service.api import SessionOpened


class ServiceClient:
    def __init__(
        self, base_url: str | None = None, token: str | None = None, *, patience: Patience | None = None
    ) -> None:
        """Address and token may come from the environment: RAY_GYM_URL, RAY_GYM_TOKEN. Errors: ValueError."""
        self._address = Address.found(base_url, token)
        self._patience = patience or Patience()
        self._exchanges = Exchanges(self._address, self._patience)

    @property
    def base_url(self) -> str:
        return self._address.url

    @property
    def openai_base_url(self) -> str:
        """For clients of OpenAI's API: all named models, nothing of it recorded."""
        return f"{self.base_url}/v1"

    def _pages(self, run_id: str, cursor: str | None, page_size: int | None, samples: bool) -> Pages:
        return Pages(self._exchanges, run_id, cursor, page_size, samples)

    def _group_stream(self, run_id: str, cursor: str | None, samples: bool) -> GroupStream:
        return GroupStream(self._exchanges, self._patience, run_id, cursor, samples)


class OpenSession:
    def __init__(self, base_url: str, opened: SessionOpened) -> None:
        self._base_url = base_url
        self.opened = opened
        """As it was at the opening: the first messages and the tools of each participant."""

    @property
    def id(self) -> str:
        return self.opened.id

    @property
    def openai_base_url(self) -> str:
        """What is generated there, by any client of OpenAI's API, are steps of this session's policy."""
        return self._base_url + self.opened.openai_path

    @property
    def api_key(self) -> str:
        """Opens this session and nothing else."""
        return self.opened.api_key
