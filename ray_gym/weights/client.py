"""Changes the weights of a model that is up, from a trainer's process on the same Ray cluster."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

from ray_gym.errors import RunFailed, UserError
from ray_gym.weights.checkpoint import Folder, StateDict
from ray_gym.weights.holder import find_holder
from ray_gym.weights.orders import PauseMode, Sleep, WakeUp
from ray_gym.weights.update import Deadlines, Status

ANSWER_S = 60.0
"""Seconds that the holder may take to say its status."""
MODES = ("wait", "keep", "abort")


class Weights:
    """Reads and changes the weights of one Serve application. `docs/weights.md` says what the modes mean."""

    def __init__(self, app: str) -> None:
        """Finds the application. Errors: UserError if there is no such application, or its weights can't be changed."""
        self.app = app
        self._holder: Any = find_holder(app)
        if self._holder is None:
            raise UserError(f"{app}: no run has a model up under this name whose weights can be changed (engine: vllm)")

    def status(self) -> Status:
        """Returns which checkpoint serves, and what an update is doing. Errors: RunFailed."""
        found: Status = self._answer(self._holder.status.remote(), ANSWER_S)
        return found

    @property
    def version(self) -> int:
        """Returns the version that serves. Errors: RunFailed."""
        return self.status().current.version

    def update(
        self,
        version: int,
        path: str | Path | None = None,
        *,
        state_dict: Mapping[str, Any] | ray.ObjectRef | None = None,
        adapter: str | Path | None = None,
        mode: PauseMode = "keep",
        deadlines: Deadlines | None = None,
    ) -> int:
        """Serves these weights as `version` on all replicas: a checkpoint's folder, a state dict, or a LoRA adapter's
        folder.

        Blocks until all of them do, and goes on if this process dies meanwhile. Returns the version. Errors: UserError
        (refused before anything was touched), UpdateFailed (the previous version serves).
        """
        if mode not in MODES:
            raise UserError(f"mode: {mode!r} is none of {', '.join(MODES)}")
        given = Deadlines() if deadlines is None else deadlines
        source = _source(path, state_dict, adapter)
        updated: int = self._answer(self._holder.update.remote(version, source, mode, given), given.total_s)
        return updated

    def sleep(self, level: int = 1, deadlines: Deadlines | None = None) -> None:
        """Gives the GPUs' memory to a trainer on the same ones; requests wait.

        Level 2 also forgets the weights: update them when `wake_up(["weights"])` has made room. Needs
        `engine_args.enable_sleep_mode`, and a GPU.
        """
        self._set_memory(Sleep(level), deadlines)

    def wake_up(self, tags: Sequence[str] | None = None, deadlines: Deadlines | None = None) -> None:
        """Takes the GPUs' memory back: all of it, or first `weights` and then `kv_cache`."""
        self._set_memory(WakeUp(None if tags is None else tuple(tags)), deadlines)

    def _set_memory(self, task: Sleep | WakeUp, deadlines: Deadlines | None) -> None:
        given = deadlines or Deadlines()
        self._answer(self._holder.set_memory.remote(task, given), given.total_s)

    def transfer(self, step: str, argument: Any, deadlines: Deadlines) -> None:
        """Carries out a step of a transfer, for `TransferClient`. Errors: UserError, UpdateFailed, RunFailed."""
        self._answer(self._holder.transfer.remote(step, argument, deadlines), deadlines.total_s)

    def _answer(self, reference: Any, timeout_s: float) -> Any:
        """Waits for the holder's answer. Errors: those that the holder raised, RunFailed if it does not answer."""
        try:
            return ray.get(reference, timeout=timeout_s)
        except RayTaskError as error:
            if isinstance(error.cause, UserError | RunFailed):
                raise error.cause from None
            raise
        except (RayActorError, GetTimeoutError) as error:
            raise RunFailed(
                f"{self.app}: the holder of its weights was lost; ask for the version again: {error}"
            ) from None


def _source(
    path: str | Path | None, state_dict: Mapping[str, Any] | ray.ObjectRef | None, adapter: str | Path | None
) -> Folder | StateDict:
    """Returns the source of an update's weights. Errors: UserError."""
    if sum(given is not None for given in (path, state_dict, adapter)) != 1:
        raise UserError("update: give one of path, state_dict and adapter")
    for field, folder in (("path", path), ("adapter", adapter)):
        if folder is None:
            continue
        found = Path(folder).expanduser()
        if not found.is_absolute():
            raise UserError(f"{field}: {str(folder)!r} is relative; the replicas have another working directory")
        return Folder(str(found), adapter=field == "adapter")
    reference = state_dict if isinstance(state_dict, ray.ObjectRef) else ray.put(state_dict)
    return StateDict((reference,), uuid.uuid4().hex)
