"""Looks at a node from an actor on it. Each method answers one question; problems that it finds are returned, not
raised.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from ray_gym.doctor import ports, storage
from ray_gym.doctor.sandboxes import sandboxes_here
from ray_gym.doctor.versions import versions_here
from ray_gym.models.engine import OnNodes


class Examiner:
    """An examiner is an actor that answers questions about its node.

    Methods that check something return the problem as text, or None if there is none.
    """

    def versions(self, packages: tuple[str, ...]) -> dict[str, str]:
        return versions_here(packages)

    def now(self) -> float:
        return time.time()

    def missing_files(self, engine: OnNodes) -> str | None:
        return engine.missing_files()

    def sandboxes(self) -> dict[str, str]:
        return sandboxes_here()

    def port(self, host: str, port: int) -> str | None:
        return ports.port_problem(host, port)

    def write(self, folder: Path, name: str) -> str | None:
        return storage.write_problem(folder, name)

    def read(self, folder: Path, written: Mapping[str, str]) -> str | None:
        return storage.read_problem(folder, written)

    def lock(self, folder: Path) -> str | None:
        return storage.lock_problem(folder)
