"""Runs the services that all tests of a session share: each has room for all of them, so that it comes up once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import standing_cluster
from guarded_service import GuardedService, guarded
from large_rollout import large_rollout
from served import CALLER, Served, served

MOST_WAITING = 24
"""Commands in a session of `service`."""
SCRIPTED = """
environment: {{id: "bazaar:Bazaar"}}
tasks: {{generate: 1}}
models:
  small: {{engine: "bazaar:SpellingEngine", player: "bazaar:echo", arguments: {{notes: {notes}}}}}
  random: {{engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}}
participants:
  policy: {{model: small}}
  user: {{model: small}}
limits: {{max_turns: 1000, max_steps_per_turn: 50, tool_deadline_s: 120}}
fanout: {{workers: 1}}
service:
  session_workers: 1
  max_waiting_commands: {waiting}
  offers:
    minefield: {{environment: {{id: "minefield:Minefield"}}, participants: {{policy: {{model: random}}}}}}
    tic_tac_toe: {{environment: {{id: tic_tac_toe}}, participants: {{policy: {{model: random}}, user: {{model: random}}}}}}
"""
WITH_THE_SMALL_MODEL = """
environment: {id: "bazaar:Bazaar"}
tasks: {generate: 1}
models:
  small:
    engine: vllm
    model: smollm2-135m-instruct
    gpus: 0
    engine_args:
      enforce_eager: true
      max_model_len: 8192  # 27 tools of an office in a prompt take some 3,000
      max_num_seqs: 64
      block_size: 32
      kv_cache_memory_bytes: 1073741824
  clerk: {engine: scripted, player: "bazaar:clerk"}
participants:
  policy: {model: small, sampling: {temperature: 1.0, max_tokens: 256, stop: [".", "!", "?", " a", " the", " to"]}}  # its words are short
  user: {model: clerk}
limits: {max_turns: 3, max_steps_per_turn: 8}
service: {session_workers: 1}
"""


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs a service of scripted models. Each test has sessions of its own; workers may die, the service and its
    gateway may not.
    """
    folder = tmp_path_factory.mktemp("service")
    (folder / "notes").mkdir()
    large_rollout(folder / "runs" / "service", CALLER)
    with served(SCRIPTED.format(notes=folder / "notes", waiting=MOST_WAITING), folder) as service:
        yield service


@pytest.fixture(scope="session")
def guarded_service() -> Iterator[GuardedService]:
    """Runs a service for attacks on it."""
    with guarded() as service:
        yield service


@pytest.fixture(scope="session")
def model_cluster() -> Iterator[dict[str, str]]:
    """Starts a cluster for the small model: on the fixture `cluster`, tests look for leftovers and count episodes."""
    with standing_cluster() as environment:
        yield environment


@pytest.fixture(scope="session")
def small_model_service(model_cluster: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs a service with the small real model, to which runs attach."""
    with served(WITH_THE_SMALL_MODEL, tmp_path_factory.mktemp("small"), model_cluster) as service:
        yield service


@pytest.fixture(scope="session")
def small_model_app(small_model_service: Served) -> str:
    """Returns the name of that service's Serve application with the model, for runs that attach to it."""
    return "service-service-small"
