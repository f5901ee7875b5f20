"""Changes the weights of a model that is up, from a trainer's process on the same Ray cluster."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

from ray_gym.errors import RunFailed, UserError
from ray_gym.paths import home_expanded
from ray_gym.weights.checkpoint import Folder, StateDict
from ray_gym.weights.holder import find_holder
from ray_gym.weights.orders import PauseMode, Sleep, WakeUp
from ray_gym.weights.update import Deadlines, Status

ANSWER_S = 60.0
"""Seconds that the holder may take to answer with its status."""
MODES = ("wait", "keep", "abort")


class Weights:
    """Reads and changes the weights of one Serve application, or a line of LoRA adapters on them. `docs/weights.md`
    describes the modes, and lines.
    """

    def __init__(self, app: str, line: str = "") -> None:
        """Finds the holder of the application's weights. `line`: name of a line of adapters (a model of the config with
        `engine: vllm_adapter`); "" for the weights themselves. Errors: UserError if there is no such application, or
        its weights can't be changed.
        """
        self.app = app
        self.line = line
        self._holder: Any = find_holder(app)
        if self._holder is None:
            raise UserError(f"{app}: no run has a model up under this name whose weights can be changed (engine: vllm)")

    def status(self) -> Status:
        """Returns which checkpoint serves, and which step of an update is being done. Errors: RunFailed if the holder
        of the weights does not answer.
        """
        found: Status = self._answer(self._holder.status.remote(self.line), ANSWER_S)
        return found

    @property
    def version(self) -> int:
        """Returns the weight version that serves. Errors: RunFailed if the holder of the weights does not answer."""
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
        """Loads new weights on all replicas, serves them as `version`, and returns the version. They come from one of a
        checkpoint's folder (`path`), a `state_dict`, or a LoRA adapter's folder; a line takes adapters only.

        Blocks until all replicas serve them; the update goes on if this process dies meanwhile. `mode`: for requests
        that are under way, `wait` finishes them first, `keep` continues them with the new weights, `abort` makes them
        again. Errors: UserError if the update is refused before anything was touched; UpdateFailed if it failed, and
        the previous version serves; RunFailed if the holder of the weights is lost.
        """
        if mode not in MODES:
            raise UserError(f"mode: {mode!r} is none of {', '.join(MODES)}")
        given = Deadlines() if deadlines is None else deadlines
        source = _source(path, state_dict, adapter)
        updated: int = self._answer(self._holder.update.remote(version, source, mode, given, self.line), given.total_s)
        return updated

    def add_line(self) -> None:
        """Makes the line known to the application, as an engine does when it starts. Errors: RunFailed if the holder of
        the weights does not answer.
        """
        self._answer(self._holder.add_line.remote(self.line), ANSWER_S)

    def sleep(self, level: int = 1, deadlines: Deadlines | None = None) -> None:
        """Gives the GPUs' memory to a trainer on the same GPUs; requests wait.

        `level`: 1 keeps the weights in the machine's memory; 2 forgets them, so they have to be updated once
        `wake_up(["weights"])` has made room. Both need `engine_args.enable_sleep_mode`, and a GPU. Errors: UserError if
        replicas are missing; UpdateFailed if a replica fails; RunFailed if the holder of the weights is lost.
        """
        self._set_memory(Sleep(level), deadlines)

    def wake_up(self, tags: Sequence[str] | None = None, deadlines: Deadlines | None = None) -> None:
        """Takes the GPUs' memory back. `tags`: `weights`, then `kv_cache`, in two calls; None takes all. Errors:
        UserError if replicas are missing; UpdateFailed if a replica fails; RunFailed if the holder of the weights is
        lost.
        """
        self._set_memory(WakeUp(None if tags is None else tuple(tags)), deadlines)

    def _set_memory(self, task: Sleep | WakeUp, deadlines: Deadlines | None) -> None:
        given = deadlines or Deadlines()
        self._answer(self._holder.set_memory.remote(task, given), given.total_s)

    def transfer(self, step: str, argument: Any, deadlines: Deadlines) -> None:
        """Carries out a step of a transfer, for `TransferClient`.

        `step`: `init`, `start`, `update` or `finish`. `argument`: vLLM's argument of the step, or the version for
        `start`. Errors: UserError if the step is refused, UpdateFailed if it fails, RunFailed if the holder of the
        weights is lost.
        """
        self._answer(self._holder.transfer.remote(step, argument, deadlines), deadlines.total_s)

    def _answer(self, reference: Any, timeout_s: float) -> Any:
        """Waits for the holder's answer, and returns it.

        Errors: UserError and RunFailed as the holder raised them; RayTaskError for other exceptions of the holder;
        RunFailed if the holder is lost, or does not answer within `timeout_s` seconds.
        """
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
    """Returns the source of an update's weights. A state dict is put into Ray's object store, unless it is a reference
    already. Errors: UserError if none or several of the arguments are given, or a path is relative.
    """
    if sum(given is not None for given in (path, state_dict, adapter)) != 1:
        raise UserError("update: give one of path, state_dict and adapter")
    for field, folder in (("path", path), ("adapter", adapter)):
        if folder is None:
            continue
        found = home_expanded(folder, field)
        if not found.is_absolute():
            raise UserError(f"{field}: {str(folder)!r} is relative; the replicas have another working directory")
        return Folder(str(found), adapter=field == "adapter")
    reference = state_dict if isinstance(state_dict, ray.ObjectRef) else ray.put(state_dict)
    return StateDict((reference,), uuid.uuid4().hex)
