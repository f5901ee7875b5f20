"""Starts a run by the command line as a user would, kills its driver and resumes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ray_gym.load import load
from ray_gym.run.directory.directory import JOURNAL

REPOSITORY = Path(__file__).resolve().parents[2]


class ChaosFailed(Exception):
    """Says that a run failed, got stuck, or did not show what it had to."""


@dataclass(slots=True)
class RolloutCommand:
    """Runs `ray-gym rollout` on the cluster at `address`, and can kill and resume it.

    The run has the name `name`, and its directory is in the folder `output`.
    """

    output: Path
    name: str
    address: str
    _driver: subprocess.Popen[bytes] | None = None
    drivers: int = 0
    """Number of drivers that were started."""

    @property
    def directory(self) -> Path:
        return self.output / self.name

    @property
    def journal(self) -> Path:
        return self.directory / JOURNAL

    @property
    def log(self) -> Path:
        return self.output / f"{self.name}.log"

    def start(self, config: dict[str, Any]) -> None:
        path = self.output / f"{self.name}.yaml"
        named = {**config, "run": {**config["run"], "name": self.name}}
        named["output"] = {**config["output"], "dir": str(self.output)}
        path.write_text(yaml.safe_dump(named))
        self._launch(str(path))

    def kill_and_resume(self) -> None:
        assert self._driver is not None
        self._driver.send_signal(signal.SIGKILL)
        self._driver.wait()
        self._launch("--resume", str(self.directory))

    def has_ended(self) -> bool:
        """Says whether the driver has ended. Errors: ChaosFailed if it ended with another exit code than 0."""
        assert self._driver is not None
        if self._driver.poll() is None:
            return False
        if self._driver.returncode != 0:
            said = self.log.read_text()[-3000:]
            raise ChaosFailed(f"the driver ended with exit code {self._driver.returncode}:\n{said}")
        return True

    def end(self) -> None:
        """Kills the driver, if it is alive, and waits until it has ended."""
        if self._driver is not None and self._driver.poll() is None:
            self._driver.kill()
            self._driver.wait()

    @property
    def pid(self) -> int:
        """Returns the process id of the present driver."""
        assert self._driver is not None
        return self._driver.pid

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = load(self.directory).episodes.to_pylist()
        return found

    def _launch(self, *arguments: str) -> None:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        environment = {**inherited, "RAY_ADDRESS": self.address, "RAY_worker_niceness": "0"}
        command = [sys.executable, "-m", "ray_gym", "rollout", *arguments]
        with self.log.open("ab") as log:
            self._driver = subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=log, stderr=log)
        self.drivers += 1
