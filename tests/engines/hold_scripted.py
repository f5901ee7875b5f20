"""Keeps a scripted player up as a Serve application until its standard input closes: RUN_ID DELAY_S GRACE_S."""

from __future__ import annotations

import sys

from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.engines.scripted_replica import ScriptedReplica
from ray_gym.errors import UserError
from ray_gym.hosting.application import Application, DeploymentSpec, digest_options
from ray_gym.run.cluster.cluster import connect
from ray_gym.weights.holder import FirstWeights


def main(run_id: str, delay_s: float, grace_s: float) -> None:
    options = ScriptedOptions(player="ray_gym.envs.tic_tac_toe.players:random_player", delay_s=delay_s, replicas=1)
    replicas = DeploymentSpec(
        *(ScriptedReplica, (options,), 1, 10, {"num_cpus": 0}, 60, "it", "it", digest_options(options)),
        weights=FirstWeights(version=0, ranks=1),
    )
    application = Application(grace_s, release_s=4)
    with connect():
        try:
            application.start(run_id, "held", replicas, lambda text: print(text, flush=True))
            print("up", flush=True)
            sys.stdin.read()
        except UserError as error:
            print(f"refused: {error}", flush=True)
        finally:
            application.stop()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
