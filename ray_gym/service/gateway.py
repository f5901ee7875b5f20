"""Defines what the service needs of a gateway, which opens it to the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ray_gym.config.sections import ServiceSection
from ray_gym.models.base import Engine


class Gateway(Protocol):
    """A gateway opens the service to callers on the network.

    It is made from the ServiceSection, the service's directory and the config's folder. Its class is found by name, as
    the classes of engines are.
    """

    environment: Mapping[str, str]
    """Environment variables that the processes of the gateway need, by name."""

    def check(self) -> ServiceSection:
        """Checks the section before anything starts, and returns it as it is for the callers that there are.

        Errors: `UserError`.
        """
        ...

    def open(self, say: Callable[[str], None]) -> str:
        """Takes the port before any model starts, and returns the address. Errors: `UserError`, `RunFailed`."""
        ...

    def start(self, actor: str, namespace: str, engines: Mapping[str, Engine]) -> None:
        """Lets callers through to the Service actor of this name. Blocks. Errors: `UserError`, `RunFailed`."""
        ...

    def stop(self) -> None:
        """Lets no caller through any more. It is called also when the service ends by an error."""
        ...

    def close(self) -> None:
        """Gives the port back, once the models are gone. It is called also when the service ends by an error."""
        ...
