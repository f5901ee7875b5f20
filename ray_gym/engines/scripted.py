"""Runs models that are Python functions: opponents, baselines, tests, benchmarks. They are deterministic under the
episode's seed.

A player sees exactly what a language model would: the messages of its own view and its tools.

    def player(request: CompletionRequest, rng: random.Random) -> Message: ...

A player that draws nothing takes the request alone, which saves the seeding. It plays in the workers' own processes or,
with `replicas`, behind a Serve deployment, as a language model does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from ray_gym.engines.scripted_model import ScriptedOptions, _misfit, draws, load_scripted
from ray_gym.errors import UserError
from ray_gym.load_object import load_object
from ray_gym.models.base import Engine, EngineCheck, Model

if TYPE_CHECKING:
    from ray_gym.hosting.application import Application, DeploymentSpec


class ScriptedEngine(Engine):
    Options = ScriptedOptions
    options: ScriptedOptions

    def __init__(self, options: ScriptedOptions) -> None:
        super().__init__(options)
        self._application: Application | None = None

    def check(self, request: EngineCheck) -> None:
        player = load_object(self.options.player, f"models.{request.model}.player")
        arguments = self.options.arguments
        if draws(player, arguments) and (error := _misfit(player, 2, arguments)):
            where = f"models.{request.model}.arguments"
            raise UserError(f"{where}: {self.options.player}{inspect.signature(player)}: {error}")

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Starts the replicas, if there are to be any. Errors: UserError, RunFailed when the replicas don't come up."""
        if self.options.replicas:
            from ray_gym.hosting.application import Application  # Serve takes a second to import: only for who needs it

            self._application = Application()
            self._application.start(run_id, name, self._deployment_spec(), say)

    def connect(self) -> Model:
        if self._application is None:
            return load_scripted(self.options)
        from ray_gym.hosting.transport import ServeModel

        return ServeModel(self._application.name, transport=self.options.transport)

    def stop(self) -> None:
        if self._application is not None:
            self._application.stop()

    def _deployment_spec(self) -> DeploymentSpec:
        from ray_gym.engines.scripted_replica import ScriptedReplica
        from ray_gym.hosting.application import DeploymentSpec, digest_options

        options = self.options
        return DeploymentSpec(
            replica_class=ScriptedReplica,
            arguments=(options,),
            count=options.replicas,
            max_ongoing_requests=options.max_ongoing_requests,
            actor_options={"num_cpus": options.cpus},
            start_timeout_s=options.start_timeout_s,
            replica_name="the player",
            model_name=options.player,
            digest=digest_options(options),
            batched=options.transport == "batched",
        )
