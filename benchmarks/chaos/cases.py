"""Makes the configs of the runs: one with scripted players behind Serve, and one with the small language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchmarks.chaos.environment import CALLS, CALLS_WITH_DRAFTS, STEPS_PER_TURN, TURNS
from benchmarks.chaos.rollout import REPOSITORY

DELAY_S = 0.25
STUCK_AFTER_S = 2
"""Value of `fanout.stuck_after_s`. It is small, so that a frozen worker is noticed soon."""
ROLL_S = 2
REPEATS = 2


def scripted_config(episodes: int, seed: int, calls: Path, nonce: bool) -> dict[str, Any]:
    """Makes the config with scripted players, which log their finished calls in the folder `calls`.

    `nonce`: True to put random bytes into every answer.
    """
    arguments = {"calls": str(calls), "nonce": nonce}
    player: dict[str, Any] = {"engine": "scripted", "player": "benchmarks.chaos.players:player", "arguments": arguments}
    player |= {"delay_s": DELAY_S, "replicas": 2, "cpus": 1}
    return {
        "run": {"seed": seed},
        "environment": {"id": "benchmarks.chaos.environment:StonesEnvironment", "first_come": nonce},
        "tasks": {"generate": episodes // REPEATS, "repeats": REPEATS},
        "models": {"players": player},
        "participants": {"policy": {"model": "players"}, "user": {"model": "players"}},
        "limits": {"max_turns": TURNS, "max_steps_per_turn": STEPS_PER_TURN},
        "fanout": {"workers": 3, "concurrency": 60, "cpus_per_worker": 1, "stuck_after_s": STUCK_AFTER_S},
        "output": {"roll_s": ROLL_S},
    }


def count_scripted_calls(episodes: int) -> int:
    """Returns the number of model calls of a run with this number of scripted episodes."""
    tasks = episodes // REPEATS
    with_drafts = -(-tasks // 3)
    return REPEATS * (CALLS * (tasks - with_drafts) + CALLS_WITH_DRAFTS * with_drafts)


def vllm(episodes: int, seed: int) -> dict[str, Any]:
    """Makes the config with the small model: configs/tic_tac_toe.yaml, adapted to a cluster whose raylets are killed."""
    config: dict[str, Any] = yaml.safe_load((REPOSITORY / "configs" / "tic_tac_toe.yaml").read_text())
    config["run"] = {"seed": seed}
    config["tasks"] = {"generate": episodes // REPEATS, "repeats": REPEATS}
    config["models"]["small"]["cpus"] = 1
    config["limits"] |= {"episode_deadline_s": 900}
    config["fanout"] = {"workers": 2, "concurrency": 12, "cpus_per_worker": 1}
    config["output"] = {"roll_s": ROLL_S}
    return config


def vllm_calls(episodes: int) -> int:
    """Returns the least number of calls of all games, each of which has five or six.

    It is the least, so that the last kill comes before the last call.
    """
    return 5 * episodes
