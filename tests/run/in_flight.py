"""Plays games on the connected cluster: python in_flight.py FOLDER SECONDS_A_MOVE GAMES. Prints what the driver tells: [done, leased]."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from conftest import REPOSITORY

from ray_gym.config.file import read_config
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.driver.carrying_out import carry_out
from ray_gym.run.driver.tally import Tally
from ray_gym.run.plan import make_plan


def main(folder: str, delay_s: str, games: str) -> None:
    path = REPOSITORY / "configs/tic_tac_toe_scripted.yaml"
    given = [f"output.dir={folder}", f"models.random.delay_s={delay_s}", f"tasks.generate={games}", "tasks.repeats=1"]
    config = read_config(path, [*given, "fanout.workers=2", "fanout.concurrency=32"])
    told: list[tuple[int, int]] = []

    def notify(tally: Tally, in_flight: int) -> None:
        told.append((tally.done, in_flight))

    with cluster.connect():
        directory = plan_directory(config, Path(path))
        create(directory)
        outcome = carry_out(make_plan(config, path), directory, lambda text: None, notify)
        directory.close()
    assert not outcome.interrupted
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
