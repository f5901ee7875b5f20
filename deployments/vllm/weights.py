"""Changes the weights of an engine in this process. The holder of the application's weights, an actor, orders the
steps.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from ray_gym.deployments.vllm import transfer
from ray_gym.deployments.vllm.node_copy import NodeCopy, copies_dir
from ray_gym.errors import UserError, describe
from ray_gym.models.base import VersionSpan
from ray_gym.weights.checkpoint import Checkpoint, Folder, StateDict, Transferred
from ray_gym.weights.lines import ServedLines
from ray_gym.weights.manifest import Manifest, differences, read_manifest, summary
from ray_gym.weights.orders import PauseMode, Transfer
from ray_gym.weights.settings import setting_differences


@dataclass(frozen=True, slots=True)
class LoadedAdapter:
    """Holds a LoRA adapter that the engine has loaded."""

    version: int
    """Version of its line."""
    request: Any
    """vLLM's LoRARequest. Its id and name are new for every load, since engine and prefix cache know adapters by them,
    and several lines may have the same version.
    """


class EngineWeights:
    """Holds the versions and the adapters of an engine's weights, for new generations, and changes them step by step."""

    def __init__(self, client: Any, first: str, version: int, app: str) -> None:
        """Creates the state of an engine that has loaded its first weights.

        `client`: vLLM's AsyncLLM. `first`: folder or name of the checkpoint that the engine has loaded. `version`:
        version of those weights. `app`: name of the Serve application.
        """
        self._client = client
        self._first = first
        self._first_version = version
        self._app = app
        self._expected: Manifest | None = None
        self._copies: dict[str, NodeCopy] = {}
        self._open = asyncio.Event()
        self._open.set()
        self._asleep = False
        self.served = ServedLines(Checkpoint(version, None))
        """Checkpoints that new generations use."""
        self._adapters: dict[str, LoadedAdapter] = {}
        """Adapters that they use, by line."""
        self._ids = itertools.count(1)
        self.aborts = 0
        """Number of times that all generations in flight were discarded."""
        self.loads = 0
        """Number of times that the base weights were replaced."""

    async def wait_until_open(self) -> None:
        """Waits while the engine is paused, so that a new generation begins with the adapter that it resumes with."""
        await self._open.wait()

    def adapter_of(self, line: str) -> LoadedAdapter | None:
        """Returns the adapter that new generations of a line use; None if it has none. "" is the model itself, which may
        have one of its own.
        """
        return self._adapters.get(line)

    def spans(self, found: Any, count: int, adapter: LoadedAdapter | None) -> tuple[VersionSpan, ...]:
        """Returns the spans of `count` generated tokens, each with the version of the weights that generated it; () for
        no tokens.

        `found`: vLLM's own spans, which are of the base weights; None if it reports none: then all tokens are of the
        first version. `adapter`: adapter of the generation, or None; its version covers all tokens.
        """
        if count == 0:
            return ()
        if adapter is not None:
            return (VersionSpan(adapter.version, 0, count),)
        return tuple(VersionSpan(self._version_of(span.version), span.start, span.end) for span in found or ()) or (
            VersionSpan(self._first_version, 0, count),
        )

    def _version_of(self, label: str) -> int:
        # vLLM has a label of its own for the weights that it loaded first
        return int(label) if label.isdigit() else self._first_version

    async def check(self, checkpoint: Checkpoint) -> None:
        """Checks that a checkpoint fits the model, before it is loaded; the first weights always fit. Errors: UserError
        if its tensors or settings differ from the model's, if it is an adapter that the engine can't take, or if its
        files can't be read; OSError.
        """
        if checkpoint.is_adapter:
            return await asyncio.to_thread(self._check_adapter, checkpoint)
        if checkpoint.source is None or checkpoint.whole == self.served.own.whole:
            return None
        await asyncio.to_thread(self._check_whole, checkpoint)

    def _check_whole(self, checkpoint: Checkpoint) -> None:
        self._release_copies()  # those of a checkpoint that another replica refused
        if self._expected is None:
            self._expected = read_manifest(_find_folder(self._first))
        folder = self._folder(checkpoint)
        given = read_manifest(folder)
        problems = differences(self._expected, given) + setting_differences(self._expected.folder, folder)
        if problems:
            self._release_copies()
            raise UserError(summary(problems))

    def _check_adapter(self, checkpoint: Checkpoint) -> None:
        config = self._client.vllm_config.lora_config
        if config is None:
            raise UserError("the model was started without adapters; set engine_args.enable_lora (and max_lora_rank)")
        folder = self._folder(checkpoint)
        read_manifest(folder)
        try:
            rank = json.loads((folder / "adapter_config.json").read_bytes())["r"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{folder / 'adapter_config.json'}: no description of a LoRA adapter: {error!r}") from None
        if rank > config.max_lora_rank:
            raise UserError(f"{folder}: its rank is {rank}, engine_args.max_lora_rank is {config.max_lora_rank}")

    async def pause(self, mode: PauseMode) -> None:
        """Pauses generation, and empties the KV cache, so that its states are recomputed with the new weights. `mode`:
        vLLM's mode for the generations in flight; with adapters `keep` becomes `abort`, which discards them.
        """
        self._open.clear()
        if mode == "keep" and self._adapters:
            mode = "abort"  # an adapter fits only its own base weights
        if mode == "abort":
            self.aborts += 1
        await self._client.pause_generation(mode=mode, clear_cache=True)

    async def load(self, checkpoint: Checkpoint) -> None:
        """Loads a checkpoint into the paused engine; of an adapter also its base weights, if they differ. Other base
        weights take the adapters of all lines away. An adapter for the present ones needs no pause.

        Errors: UserError or OSError if its files can't be found; those that vLLM raises. After one of vLLM's, the model
        may be a mixture of two checkpoints, and loading can't be retried.
        """
        if self.served.own.whole != checkpoint.whole:
            await self._load_whole(checkpoint.whole)
            self._adapters.clear()
            self.served = self.served.having(checkpoint.whole)
        if not checkpoint.is_adapter:
            self._adapters.pop(checkpoint.line, None)
        elif self.served.of(checkpoint.line) != checkpoint:
            self._adapters[checkpoint.line] = await self._load_adapter(checkpoint)
        self.served = self.served.having(checkpoint)
        await asyncio.to_thread(self._release_copies)

    async def _load_whole(self, whole: Checkpoint) -> None:
        folder = await asyncio.to_thread(self._folder, whole)
        self.loads += 1
        await self._client.collective_rpc("load_checkpoint", args=(str(folder),))
        await self._client.update_weight_version(str(whole.version))

    async def _load_adapter(self, checkpoint: Checkpoint) -> LoadedAdapter:
        from vllm.lora.request import LoRARequest

        folder, number = await asyncio.to_thread(self._folder, checkpoint), next(self._ids)
        request = LoRARequest(f"{number}: {checkpoint}", number, str(folder))
        await self._client.add_lora(request)
        return LoadedAdapter(checkpoint.version, request)

    async def confirm(self, checkpoint: Checkpoint) -> None:
        """Checks that the engine has the weights of a checkpoint. Unless that is an adapter, it empties the prefix
        cache again. Errors: RuntimeError if the engine has other weights, or can't empty the cache.
        """
        if checkpoint.is_adapter:
            adapter = self.adapter_of(checkpoint.line)
            if adapter is None or adapter.request.lora_int_id not in await self._client.list_loras():
                raise RuntimeError(f"the engine does not have the adapter of {checkpoint}")
        label = await self._client.get_weight_version()
        if self._version_of(label) != checkpoint.whole.version:
            raise RuntimeError(f"the engine says that its weights are {label!r}, not {checkpoint.whole.version}")
        if not checkpoint.is_adapter and not await self._client.reset_prefix_cache():
            raise RuntimeError("the engine could not empty its prefix cache")

    async def resume(self) -> None:
        """Resumes generation. It does nothing while the engine sleeps."""
        if self._asleep:  # the KV cache has no memory yet
            return
        await self._client.resume_generation()
        self._open.set()

    async def sleep(self, level: int) -> None:
        """Puts the engine to sleep. `level`: vLLM's sleep level. Generations in flight are discarded, and retried after
        `wake_up`. Errors: UserError if the engine was started without sleep mode; those that vLLM raises.
        """
        if not self._client.vllm_config.model_config.enable_sleep_mode:
            raise UserError("set engine_args.enable_sleep_mode to put the engine to sleep (on GPUs only)")
        self._open.clear()
        self._asleep = True
        self.aborts += 1
        await self._client.sleep(level, mode="abort")

    async def wake_up(self, tags: tuple[str, ...] | None) -> None:
        """Gives the engine its memory back: all of it if `tags` is None, or only that of vLLM's `tags`. Generation
        resumes once the engine is fully awake.
        """
        if await self._client.wake_up(None if tags is None else list(tags)):
            self._asleep = False
            self._open.set()

    async def transfer(self, task: Transfer) -> None:
        """Carries out one step of a weight transfer. After the last one the engine has the new version, and no
        adapters. Errors: those that vLLM raises.
        """
        await transfer.carry_out(self._client, task)
        if task.step == "finish":
            self.loads += 1
            self._adapters.clear()
            self.served = self.served.having(Checkpoint(task.version, Transferred(self.served.own.loadable)))

    def _folder(self, checkpoint: Checkpoint) -> Path:
        """Returns the folder of a checkpoint on this node; a state dict is first written to one. Errors: UserError if
        the weights were transferred and so have no folder, or if their files or state dict can't be found; OSError.
        """
        source = checkpoint.source
        if source is None:
            return _find_folder(self._first)
        if isinstance(source, Transferred):
            raise UserError(f"{checkpoint} was transferred, and is in no folder")
        if isinstance(source, Folder):
            return Path(source.path)
        if source.id not in self._copies:
            self._copies[source.id] = NodeCopy(copies_dir(self._app), source.id, lambda: _fetch_state_dict(source))
        return self._copies[source.id].folder

    def _release_copies(self) -> None:
        for name in list(self._copies):
            with contextlib.suppress(OSError):
                self._copies.pop(name).release()


def _fetch_state_dict(source: StateDict) -> Any:
    (reference,) = source.reference
    if reference is None:
        raise UserError("the state dict is lost, as the process that held it is dead; update the weights again")
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        raise UserError(f"state_dict: it can't be read from Ray's object store: {describe(error)}") from None


def _find_folder(model: str) -> Path:
    """Returns the folder of a model on this node. `model`: its folder, or its name at a hub. Errors: UserError if the
    hub's files are not on this node.
    """
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (LocalEntryNotFoundError, ValueError) as error:
        raise UserError(f"{model}: its files are not on this node: {describe(error)}") from None
