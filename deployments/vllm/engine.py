"""Implements `engine: vllm` of a config: deploys a model as a Serve application, or attaches to one that is up.

An application belongs to the runs that use it (see `ray_gym.hosting.lease`): the last run that ends deletes it, so a
run can attach to another's model and outlive it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ray import serve

from ray_gym.deployments.chat.formats import check_formats
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.vllm.installed import check_installed, check_model
from ray_gym.deployments.vllm.layout import list_placements
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.deployments.vllm.replicas import deployment_spec, missing_files
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.hosting.application import Application, DeploymentSpec
from ray_gym.hosting.lanes.router import router_config
from ray_gym.hosting.transport import ServeModel
from ray_gym.hosting.unreachable import UNREACHABLE
from ray_gym.models.base import Engine, EngineCheck
from ray_gym.models.placement import Replicas
from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.weights.holder import FirstWeights

REPLY_S = 30.0
"""Seconds within which a replica has to say which tokenizer it has."""


class VllmEngine(Engine):
    """Deploys a model under vLLM for a run, or attaches to a model of another run."""

    Options = VllmOptions
    options: VllmOptions
    gives_tokens = True

    def __init__(self, options: VllmOptions) -> None:
        super().__init__(options)
        self._application = Application()
        self._uses_tools = False
        self._request: EngineCheck | None = None
        self._transport = options.chosen_transport
        self.max_loras = options.max_loras
        """LoRA adapters that may generate at a time: 0 if it takes none; None if that is not known before `start`, as
        an application is attached to.
        """

    @property
    def app(self) -> str:
        """Returns the name of the Serve application; "" before `start`."""
        return self._application.name

    @property
    def door(self) -> str:
        """Returns the name of the Serve application whose replicas answer requests in OpenAI's formats; "" before
        `start`.
        """
        return self.app

    def check(self, request: EngineCheck) -> None:
        """Checks options, model and templates, as far as that is possible before a model loads.

        Errors: UserError if neither `model` nor `app` is set, if an option or a checkpoint is wrong, or if the model's
        format of calls is unknown; NotInstalled if vLLM or the small model is missing.
        """
        where = f"models.{request.model}"
        self._uses_tools = request.uses_tools
        self._request = request
        if self.options.app is None and self.options.model is None:
            raise UserError(f"{where}: set model (what to load) or app (a Serve application to attach to)")
        if self.options.app is not None:
            self._check_attached(where)
        else:
            check_model(self.options, where)
            check_formats(self.options, self.options.model or "", where, self._uses_tools)
            self._check_seeds(request, on_cpu=self.options.gpus == 0)
            check_installed(self.options.gpus, where)

    def _check_attached(self, where: str) -> None:
        """Refuses options that can't be changed for a model that is up already: those of its formats and of its
        weights. Errors: UserError if the config sets one.
        """
        own = {*ChatOptions.model_fields, "weights_version"}
        for name in sorted(own & self.options.model_fields_set):
            raise UserError(f"{where}.{name}: {self.options.app!r} is attached to, and has its own; leave it out here")

    def _check_seeds(self, request: EngineCheck, on_cpu: bool) -> None:
        """Refuses seeds of the sampling for a model on CPUs. Errors: UserError if `on_cpu`, and a participant's
        sampling has a seed.
        """
        for participant, sampling in request.samplings.items():
            if on_cpu and sampling.seed is not None:
                raise UserError(
                    f"participants.{participant}.sampling.seed: vLLM on CPU can't take a seed for a request (a seeded "
                    "prompt that is prefilled in chunks kills the engine: 'CPU Generator does not use offset'); leave "
                    "it out"
                )

    def gpus(self) -> float:
        return self.options.gpus_per_replica * self.options.replicas if self.options.app is None else 0

    def placed(self) -> list[Replicas]:
        return list_placements(self.options)

    def missing_files(self) -> str | None:
        return missing_files(self.options)

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Deploys the replicas and blocks until every one is up, or attaches to the application `app` of the options.

        `name`: name of the model in the config. `say`: prints a line for the user. Errors: UserError if the model does
        not fit, there is no such application, or it is another run's; RunFailed if the replicas do not come up;
        TimeoutError if the application to attach to does not answer.
        """
        if self.options.app is not None:
            self._check_fits(name, self._application.attach(self.options.app, run_id, name))
            say(f"model {name}: attached to the Serve application {self.app}")
        else:
            self._application.start(run_id, name, self._deployment_spec(name), say)

    def connect(self, line: str = "") -> ServeModel:
        """Returns a connection of this process to the model, or to a line of adapters on it."""
        options = self.options
        return ServeModel(
            self.app, options.affinity, options.admission, transport=self._transport, line=line, counts_tokens=True
        )

    def tokenizer(self) -> TokenizerDigest:
        try:
            digest: TokenizerDigest = serve.get_app_handle(self.app).tokenizer.remote().result(timeout_s=REPLY_S)
        except (TimeoutError, *UNREACHABLE) as error:
            raise EpisodeFailure(FailureKind.INFRA, f"model app {self.app}", describe(error)) from error
        return digest

    def stop(self) -> None:
        """Releases this run's lease of the application. If it was the last one on an application that a run started,
        deletes the application and waits until it is gone. Errors: RunFailed if Serve does not delete it.
        """
        self._application.stop()

    def _check_fits(self, name: str, description: dict[str, Any]) -> None:
        """Checks that the application serves the model that the config asks for, and takes over the application's
        transport. `description`: the one that its replica gives of itself. Errors: UserError if the application serves
        another model or a reward model, can't read tool calls that participants need, or can't take a seed of theirs.
        """
        if "reads_tool_calls" not in description:
            raise UserError(f"models.{name}.app: {self.app!r} serves a reward model; use engine: vllm_reward")
        self._transport, self.max_loras = description["transport"], description["max_loras"]
        served = description["model"]
        if self.options.model not in (None, served):
            raise UserError(
                f"models.{name}: model is {self.options.model!r}, but the application {self.app!r} serves {served!r}"
            )
        if self._uses_tools and not description["reads_tool_calls"]:
            raise UserError(f"models.{name}.app: {self.app!r} was started without tool calls (tool_parser)")
        if self._request is not None:
            self._check_seeds(self._request, on_cpu=description["gpus"] == 0)

    def _deployment_spec(self, name: str) -> DeploymentSpec:
        # only a driver that deploys needs it: workers import this module, too
        from ray_gym.deployments.vllm.replica import VllmReplica

        options = self.options
        return deployment_spec(
            VllmReplica,
            options,
            (options, self._uses_tools, name),
            # also without affinity: a run with affinity may attach
            settings={"request_router_config": router_config()},
            weights=FirstWeights(options.weights_version, options.ranks),
            episodes=self._request.episodes if self._request is not None else None,
        )
