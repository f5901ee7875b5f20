"""Implements `engine: vllm_reward` of a config: `models: {reward: {engine: vllm_reward, model: ..., verdict: {...}}}`.

A reward model is called like any other model, with the conversation as messages, and answers with the reward as text.
So its calls are recorded, replayed and retried like those of other models.
"""

from __future__ import annotations

from collections.abc import Callable

from ray_gym.deployments.vllm.installed import check_installed, check_model
from ray_gym.deployments.vllm.layout import list_placements
from ray_gym.deployments.vllm.replicas import deployment_spec, missing_files
from ray_gym.deployments.vllm_reward.options import RewardOptions
from ray_gym.errors import UserError
from ray_gym.hosting.application import Application
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.base import Engine, EngineCheck
from ray_gym.models.placement import Replicas


class VllmRewardEngine(Engine):
    """Deploys a reward model under vLLM for a run, or attaches to a reward model of another run."""

    Options = RewardOptions
    options: RewardOptions

    def __init__(self, options: RewardOptions) -> None:
        super().__init__(options)
        self._application = Application()
        self._transport = options.chosen_transport

    @property
    def app(self) -> str:
        """Returns the name of the Serve application; "" before `start`."""
        return self._application.name

    def check(self, request: EngineCheck) -> None:
        where = f"models.{request.model}"
        if "policy" in request.samplings:
            raise UserError(f"participants.policy.model: {request.model!r} is a reward model, which writes no messages")
        if (self.options.app is None) == (self.options.model is None):
            raise UserError(f"{where}: set model (what to load) or app (a Serve application to attach to)")
        if self.options.model is not None:
            check_model(self.options, where)
            check_installed(self.options.gpus, where)

    def gpus(self) -> float:
        return self.options.gpus_per_replica * self.options.replicas if self.options.app is None else 0

    def placed(self) -> list[Replicas]:
        return list_placements(self.options)

    def missing_files(self) -> str | None:
        return missing_files(self.options)

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Deploys the replicas and blocks until every one is up, or attaches to the application `app` of the options.

        `name`: name of the model in the config. `say`: prints a line for the user. Errors: UserError if the model is no
        reward model, there is no such application, or it is another run's; RunFailed if the replicas do not come up;
        TimeoutError if the application to attach to does not answer.
        """
        if self.options.app is None:
            from ray_gym.deployments.vllm_reward.replica import RewardReplica  # only a driver that deploys needs it

            deployment = deployment_spec(RewardReplica, self.options, (self.options,))
            self._application.start(run_id, name, deployment, say)
            return
        description = self._application.attach(self.options.app, run_id, name)
        if not description.get("rewards"):
            raise UserError(f"models.{name}.app: {self.app!r} serves no reward model")
        self._transport = description["transport"]
        say(f"model {name}: attached to the Serve application {self.app}")

    def connect(self) -> ServeModel:
        return ServeModel(self.app, transport=self._transport)

    def stop(self) -> None:
        self._application.stop()
