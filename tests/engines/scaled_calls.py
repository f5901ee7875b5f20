"""Calls to a scripted model whose replicas come with the calls; prints how many there were. Needs a cluster to join."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from ray import serve

from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.deployments.vllm.replicas import deployment_spec
from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.engines.scripted_replica import ScriptedReplica
from ray_gym.hosting.application import Application, DeploymentSpec
from ray_gym.hosting.transport import ServeModel
from ray_gym.messages import Message
from ray_gym.models.base import CompletionRequest, Sampling
from ray_gym.run.cluster.cluster import connect

SOON = {"metrics_interval_s": 0.2, "look_back_period_s": 1}
"""Serve looks every ten seconds by itself."""


def wanted() -> DeploymentSpec:
    """Returns the deployment that the config of a vLLM model describes, with a player in the place of the engine."""
    scale = {"max_replicas": 2, "target_ongoing_requests": 4, "upscale_delay_s": 0, "downscale_delay_s": 0}
    given = VllmOptions(model="smollm2-135m-instruct", gpus=0, autoscaling=scale)
    described = deployment_spec(object, given, (given,))
    assert described.autoscaling is not None
    options = ScriptedOptions(player="ray_gym.envs.tic_tac_toe.players:random_player", delay_s=0.2)
    return DeploymentSpec(
        replica_class=ScriptedReplica,
        arguments=(options,),
        count=described.count,
        max_ongoing_requests=described.max_ongoing_requests,
        actor_options={"num_cpus": 0},
        start_timeout_s=60,
        replica_name="the player",
        model_name="the player",
        digest="",
        autoscaling=described.autoscaling | SOON,
    )


def running(app: str) -> int:
    states = serve.status().applications[app].deployments["model"].replica_states
    return states.get("RUNNING", 0)


async def call(model: ServeModel, enough: asyncio.Event) -> int:
    calls = 0
    while not enough.is_set():
        request = CompletionRequest([Message("user", "0 1 2")], Sampling(), "session", calls)
        await model.complete(request)
        calls += 1
    return calls


async def scaled(app: str) -> dict[str, int]:
    model, enough = ServeModel(app, transport="handle"), asyncio.Event()
    first = await asyncio.to_thread(running, app)
    callers = asyncio.gather(*(call(model, enough) for _ in range(16)))
    async with asyncio.timeout(60):
        while (last := await asyncio.to_thread(running, app)) < 2:  # noqa: ASYNC110  Serve does it
            await asyncio.sleep(0.2)
    enough.set()
    return {"first": first, "last": last, "calls": sum(await callers)}


def main() -> None:
    application = Application()
    with connect():
        try:
            application.start(f"scaled-{os.getpid()}", "player", wanted(), lambda text: print(text, file=sys.stderr))
            print(json.dumps(asyncio.run(scaled(application.name))))
        finally:
            application.stop()


if __name__ == "__main__":
    main()
