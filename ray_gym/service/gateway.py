"""What the service needs of whatever opens it to the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ray_gym.config.sections import ServiceSection
from ray_gym.models.base import Engine


class Gateway(Protocol):
    """Made from the ServiceSection, the service's directory and the config's folder. The class is found by name, as engines are."""

    environment: Mapping[str, str]
    """Variables that the processes which are started for it need."""

    def check(self) -> ServiceSection:
        """Find what can be found wrong before anything starts. Errors: `UserError`.

        Gives the section as it is for the callers that there are.
        """
        ...

    def open(self, say: Callable[[str], None]) -> str:
        """Take the port, before any model starts. Gives the address. Errors: `UserError`, `RunFailed`."""
        ...

    def start(self, actor: str, namespace: str, engines: Mapping[str, Engine]) -> None:
        """Let callers through to the Service actor of this name. Blocks. Errors: `UserError`, `RunFailed`."""
        ...

    def stop(self) -> None:
        """Let nobody through any more. Called however it ended."""
        ...

    def close(self) -> None:
        """Give the port back, once the models are gone. Called however it ended."""
        ...
