"""Implements `engine: vllm_adapter` of a config: `models: {user: {engine: vllm_adapter, of: policy}}`.

It starts nothing: its calls go to the replicas of the model `of`, and name the line whose adapter generates. So several
models that are trained by adapters share one engine and its GPUs, and each has weights, samples and versions of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.deployments.vllm.engine import VllmEngine
from ray_gym.errors import UserError
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.base import Engine, EngineCheck
from ray_gym.models.engine import models_on
from ray_gym.models.numbers import Integer
from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.paths import home_expanded
from ray_gym.weights.checkpoint import LARGEST_VERSION, Folder
from ray_gym.weights.client import Weights


class AdapterOptions(BaseModel):
    """Holds the options of `engine: vllm_adapter` in a config."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: str
    """Name of the model of the config, with engine: vllm, that the adapters are for."""
    adapter: str | None = None
    """Folder of the LoRA adapter that the line begins with; by default it begins with none."""
    weights_version: Annotated[Integer, Field(ge=1, le=LARGEST_VERSION)] | None = None
    """Version of that adapter, recorded with its tokens; by default the one after the version of the weights below it.
    Without an adapter, the line has the version of these weights.
    """


class VllmAdapterEngine(Engine):
    """Connects to a line of adapters on another model of the config, and gives it the adapter that it begins with."""

    Options = AdapterOptions
    options: AdapterOptions
    gives_tokens = True

    def __init__(self, options: AdapterOptions) -> None:
        super().__init__(options)
        self._base: VllmEngine | None = None
        self._line = ""

    @property
    def of(self) -> str:
        """Returns the name of the model that the adapters are for."""
        return self.options.of

    @property
    def line(self) -> str:
        """Returns the name of the line, which is that of the model in the config; "" before `check`."""
        return self._line

    @property
    def app(self) -> str:
        """Returns the name of the Serve application of the model below; "" before that one's start."""
        return self._base.app if self._base is not None else ""

    def check(self, request: EngineCheck) -> None:
        """Checks the model below: that it is one of vLLM's, and takes adapters, one more at a time than it has lines.

        Errors: UserError that names the field.
        """
        where, of = f"models.{request.model}", self.options.of
        base = request.engines.get(of)
        if not isinstance(base, VllmEngine):
            raise UserError(f"{where}.of: {of!r} is no model with engine: vllm")
        if self.options.weights_version is not None and self.options.adapter is None:
            raise UserError(f"{where}.weights_version: it is the version of `adapter`; set that, too, or leave it out")
        if (first := self._first_version(base)) <= base.options.weights_version:
            raise UserError(
                f"{where}.weights_version: {first}, but models.{of} has the version {base.options.weights_version}; "
                "adapters have greater ones than the weights that they are for"
            )
        self._line, self._base = request.model, base
        self._lines = len(models_on(of, request.engines)) - 1
        self._check_room(base)

    def _check_room(self, base: VllmEngine) -> None:
        """Checks that the model below takes enough adapters, if that is known. Errors: UserError that names the field."""
        of, most, needed = self.options.of, base.max_loras, self._lines + 1
        if most is None:
            return
        where = f"models.{of}.engine_args" if base.options.app is None else f"models.{of}.app: its engine_args"
        if most == 0:
            raise UserError(
                f"{where}.enable_lora: set it to true, as models.{self._line} is a line of adapters on {of}"
            )
        if most < needed:
            raise UserError(
                f"{where}.max_loras: {most}, but {self._lines} lines of adapters are on {of}; set it to {needed}, since "
                "answers go on with a line's last version while a new one begins"
            )

    def _first_version(self, base: VllmEngine) -> int:
        """Returns the version of the adapter that the line begins with, if there is one."""
        return self.options.weights_version or base.options.weights_version + 1

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Makes the line known to the model below, which is up, and loads the adapter that it begins with.

        Errors: UserError if the model can't take adapters, or the line is at another version already; UpdateFailed if
        the adapter can't be loaded; RunFailed if the holder of the weights does not answer.
        """
        assert self._base is not None, "it was checked"
        self._check_room(self._base)
        weights = Weights(self.app, self._line)
        weights.add_line()
        if self.options.adapter is None:
            say(f"model {name}: a line of adapters on {self.app}")
            return
        version, folder = self._first_version(self._base), home_expanded(self.options.adapter, "adapter").absolute()
        current = weights.status().current
        if (current.version, current.source) != (version, Folder(str(folder), adapter=True)):
            weights.update(version, adapter=folder)
        say(f"model {name}: a line of adapters on {self.app}, version {version}")

    def tokenizer(self) -> TokenizerDigest:
        assert self._base is not None, "it was checked"
        return self._base.tokenizer()

    def connect(self) -> ServeModel:
        assert self._base is not None, "it was checked"
        return self._base.connect(self._line)
