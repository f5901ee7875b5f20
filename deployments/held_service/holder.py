"""Runs `ray-gym serve` as a child process of a Serve replica."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import Mapping

import ray

from ray_gym.errors import RunFailed
from ray_gym.printable import printable

READY = "ready: "
"""Beginning of the line that the command prints once the service is up."""
STOP_S = 120
"""Seconds for the service to record the work in flight, and to delete its models."""
LAST_LINES = 20
"""Number of the command's last lines of output that errors contain."""
OWN = ("RAY_JOB_ID", "RAY_CLIENT_MODE", "RAY_RAYLET_PID", "RAY_JOB_CONFIG_JSON_ENV_VAR")
"""Environment variables that make a process a worker of Ray. The command has to be a driver."""


class Holder:
    """Runs `ray-gym serve` as a child process, as long as the Serve replica lives."""

    async def __init__(self, config: str, overrides: tuple[str, ...]) -> None:  # type: ignore[misc]  # Serve awaits it
        """Starts the command, and returns once the service is ready. There is no deadline: models have to load, and
        with autoscaling their nodes have to start first.

        `config`: path of the service's config. `overrides`: KEY=VALUE. Errors: RunFailed with the command's last output
        if the command ends before that.
        """
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ray_gym.deployments.held_service.held", str(os.getpid())),
            *("serve", config, *overrides, "--wait"),
            env=driver_environment(os.environ, ray.get_runtime_context().gcs_address),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        ready = asyncio.Event()
        self._listening = asyncio.create_task(self._listen(ready))
        up = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait((up, self._listening), return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
        if not ready.is_set():
            await self._process.wait()
            raise RunFailed(f"the service did not come up: {self._last_lines()}")

    async def check_health(self) -> None:
        """Checks that the command runs. If it does not, Serve replaces the replica, and the new service resumes from
        its directory. Errors: RunFailed with the command's last output if the command has ended.
        """
        if self._process.returncode is not None:
            raise RunFailed(f"the service has ended: {self._last_lines()}")

    async def __del__(self) -> None:  # Serve awaits it, too
        if self._process.returncode is None:
            self._process.terminate()
            try:
                async with asyncio.timeout(STOP_S):
                    await self._process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
        self._listening.cancel()

    async def _listen(self, ready: asyncio.Event) -> None:
        """Copies the command's output to the replica's log until the command ends. Sets `ready` at the ready line."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            text = line.decode(errors="replace").rstrip()
            self._lines.append(text)
            print(printable(text), flush=True)
            if text.startswith(READY):
                ready.set()

    def _last_lines(self) -> str:
        return "\n".join(self._lines) or "it printed nothing"


def driver_environment(inherited: Mapping[str, str], gcs_address: str) -> dict[str, str]:
    """Returns the environment variables of a driver that connects to the cluster at `gcs_address`: those of a Ray
    worker (`inherited`), without the ones that make a process a worker.
    """
    kept = {key: value for key, value in inherited.items() if key not in OWN}
    return {**kept, "RAY_ADDRESS": gcs_address, "PYTHONUNBUFFERED": "1"}
