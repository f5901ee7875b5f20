"""Defines the interface of a gateway, which opens the service to the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ray_gym.config.sections import ServiceSection
from ray_gym.models.base import Engine


class Gateway(Protocol):
    """A gateway opens the service to callers on the network.

    It is made from the ServiceSection, the service's directory and the config's folder. Its class is a plugin
    (`ray_gym.plugins.find_gateway`).
    """

    environment: Mapping[str, str]
    """Environment variables that the processes of the gateway need, by name."""

    def check(self) -> ServiceSection:
        """Checks the section before anything starts, and returns it with limits for its number of callers.

        Errors: `UserError` for a mistake in the section, or in a file that it names.
        """
        ...

    def open(self, say: Callable[[str], None]) -> str:
        """Takes the port before any model starts, and returns the service's address. `say` prints a line.

        Errors: `UserError` if the port can't be taken, `RunFailed` if the gateway does not come up.
        """
        ...

    def start(self, actor: str, namespace: str, engines: Mapping[str, Engine]) -> None:
        """Starts forwarding requests to the Service actor and the models. Blocks.

        `actor` and `namespace` are the actor's; `engines` are those of the models by name. Errors: `UserError`
        if the cluster refuses the gateway; `RunFailed` if the gateway does not come up.
        """
        ...

    def stop(self) -> None:
        """Stops forwarding requests. It is called also when the service ends by an error.

        Errors: `RunFailed` if the gateway can't be stopped.
        """
        ...

    def close(self) -> None:
        """Releases the port, after the models have stopped. It is called also when the service ends by an error."""
        ...
