"""Runs models that are Python functions ("players"): opponents, baselines, tests, benchmarks.

A player gets what a language model would get: the messages of its own view, and its tools.

    def player(request: CompletionRequest, rng: random.Random) -> Message: ...

`rng` is seeded with the seed of the call, so players are deterministic under the seed of the run. A player that draws
nothing may leave `rng` out, which saves the seeding. Players run in the workers' processes or, with `replicas`, in a
Serve deployment, as language models do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from ray_gym.engines.scripted_model import ScriptedOptions, call_error, load_scripted, takes_rng
from ray_gym.errors import UserError
from ray_gym.load_object import load_object
from ray_gym.models.base import Engine, EngineCheck, Model

if TYPE_CHECKING:
    from ray_gym.hosting.application import Application, DeploymentSpec


class ScriptedEngine(Engine):
    """Loads a player (a Python function that stands in for a language model) into the workers, or deploys replicas of
    it.
    """

    Options = ScriptedOptions
    options: ScriptedOptions

    def __init__(self, options: ScriptedOptions) -> None:
        super().__init__(options)
        self._application: Application | None = None

    def check(self, request: EngineCheck) -> None:
        """Checks that the player can be imported, and can be called with a request, an `rng` or none, and the arguments
        of the config. Errors: UserError if not.
        """
        at = f"models.{request.model}.player"
        player = load_object(self.options.player, at)
        if not callable(player):
            raise UserError(f"{at}: {self.options.player} is no function (found {player!r:.60})")
        if isinstance(player, type):
            expected = "name a function that takes (request, rng), or an object that can be called so"
            raise UserError(f"{at}: {self.options.player} is a class, and a call of it makes no message: {expected}")
        codes = (player, type(player).__call__)
        if any(inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code) for code in codes):
            raise UserError(f"{at}: {self.options.player} has a yield: return the message instead")
        try:
            signature = inspect.signature(player)
        except ValueError:
            raise UserError(f"{at}: {self.options.player} is built in, and its parameters are not known") from None
        arguments = self.options.arguments
        if takes_rng(player, arguments) and (error := call_error(player, 2, arguments)):
            where = f"models.{request.model}.arguments"
            raise UserError(f"{where}: {self.options.player}{signature}: {error}")

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Deploys the replicas, if the config asks for any, and blocks until they are up.

        Errors: UserError if the application's name is taken, or the player can't be imported there; RunFailed if the
        replicas are not up in time.
        """
        if self.options.replicas:
            from ray_gym.hosting.application import Application  # here, as Serve takes a second to import

            self._application = Application()
            self._application.start(run_id, name, self._deployment_spec(), say)

    def connect(self) -> Model:
        """Returns a model that calls the player in this process, or its replicas if `start` has deployed any. Errors:
        UserError if the player can't be imported here.
        """
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
