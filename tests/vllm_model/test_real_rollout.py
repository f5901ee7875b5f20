"""Plays episodes between two real models, and checks that the record holds what each model saw and said."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from conftest import REPOSITORY, eventually, ray_gym, raylet_children
from transformers import AutoTokenizer

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.deployments.vllm.hardware import cpu_dtype
from ray_gym.envs.tic_tac_toe.environment import TicTacToeTask
from ray_gym.health.examine import Health, examine
from ray_gym.load import load
from ray_gym.run.directory.location import storage_at

pytestmark = [pytest.mark.ray, pytest.mark.engine]

CONFIG = "configs/tic_tac_toe.yaml"


def engines(cluster: dict[str, str]) -> set[psutil.Process]:
    """Returns the processes of the vLLM engines of a cluster."""
    replicas = raylet_children(cluster, "ServeReplica")
    below = {process for replica in replicas for process in replica.children(recursive=True)}
    return {process for process in below if "VLLM::" in " ".join(process.cmdline())}


def attached(
    model_cluster: dict[str, str], app: str, output: Path, *overrides: str, config: str = CONFIG
) -> list[dict[str, Any]]:
    done = ray_gym(
        "rollout", config, f"models.small.app={app}", f"output.dir={output}", *overrides, environment=model_cluster
    )
    assert done.returncode == 0, done.stderr + done.stdout
    (run,) = output.iterdir()
    rows: list[dict[str, Any]] = load(run).episodes.to_pylist()
    return rows


@pytest.fixture(scope="module")
def games(
    model_cluster: dict[str, str], small_model_app: str, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """Returns four games of self-play on an attached model. No other engine comes up while they are played."""
    before = engines(model_cluster)
    overrides = ["tasks.limit=2", "tasks.repeats=2", "participants.user.trainable=true"]
    played = attached(model_cluster, small_model_app, tmp_path_factory.mktemp("games"), *overrides)
    assert engines(model_cluster) == before, "a run that attaches loads nothing"
    return played


def text_of(event: dict[str, Any]) -> str:
    return "".join(part["text"] for part in event["content"])


def test_games_end_on_the_board(games: list[dict[str, Any]]) -> None:
    assert len({game["episode_id"] for game in games}) == 4
    for game in games:
        assert game["status"] == "completed" and game["stop_reason"] == "finished"
        assert game["stop_text"] in ("X wins", "O wins", "draw")
        assert game["reward"] == {"X wins": 1.0, "draw": 0.5, "O wins": 0.0}[game["stop_text"]]


def test_samples_decode_to_the_events(games: list[dict[str, Any]]) -> None:
    """Every span of a sample decodes to the text of its event, and the loss mask covers exactly what was generated."""
    tokenizer = AutoTokenizer.from_pretrained(checkpoint_dir())
    for game in games:
        assert {sample["participant"] for sample in game["samples"]} == {"policy", "user"}
        for sample in game["samples"]:
            ids, position = sample["token_ids"], 0
            for span in sample["spans"]:
                assert span["start"] == position, "spans leave no token out"
                position = span["end"]
                event, said = game["events"][span["event_seq"]], tokenizer.decode(ids[span["start"] : span["end"]])
                assert sample["participant"] in event["visible_to"]
                assert set(sample["loss_mask"][span["start"] : span["end"]]) == {int(span["generated"])}
                if span["generated"]:
                    assert event["participant"] == sample["participant"]
                    (call,) = event["tool_calls"]
                    assert said == f"{call['name']} {call['arguments']}<|im_end|>"
                    assert json.loads(call["arguments"]).keys() == {"position"} and span["kind"] == "constrained"
                elif event["kind"] != "message":
                    assert text_of(event) in said
            assert position == len(ids) == len(sample["logprobs"]) == len(sample["loss_mask"])
            assert sample["fork_reason"] is None
            assert all(lp <= 0 for lp in sample["logprobs"])


def test_self_play_gives_each_side_samples_and_a_reward_of_its_own(games: list[dict[str, Any]]) -> None:
    for game in games:
        own = {sample["participant"]: sample for sample in game["samples"]}
        assert own["policy"]["trainable"] and own["user"]["trainable"]
        assert own["policy"]["reward"] == game["reward"] and own["user"]["reward"] == 1 - game["reward"]
        assert own["policy"]["token_ids"] != own["user"]["token_ids"]


def test_a_sample_is_the_whole_conversation_as_the_template_writes_it(games: list[dict[str, Any]]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint_dir())
    for sample in (sample for game in games for sample in game["samples"]):
        text = tokenizer.decode(sample["token_ids"])
        assert text.startswith("<|im_start|>system\n") and text.count("<|im_start|>system") == 1
        assert "<|im_end|><|im_start|>" not in text, "the template's line break after a turn is there"
        assert text.count("<|im_start|>assistant\nmake_move {") == sum(span["generated"] for span in sample["spans"])


@pytest.fixture(scope="module")
def talks(
    model_cluster: dict[str, str], small_model_app: str, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """Returns a game whose policy may also answer in plain text, so that some of its tokens have no grammar."""
    free = ["participants.policy.tool_choice=auto", "participants.policy.sampling.max_tokens=24", "train=strict"]
    few = ["tasks.limit=1", "tasks.repeats=1"]
    return attached(model_cluster, small_model_app, tmp_path_factory.mktemp("talks"), *few, *free)


def test_an_independent_forward_pass_gives_the_recorded_logprobs(
    games: list[dict[str, Any]], talks: list[dict[str, Any]]
) -> None:
    """Checks forced calls under their recorded grammar and free text; `benchmarks.parity` has more ways of sampling."""
    from ray_gym.record.soundness import sample_problems
    from ray_gym.trainers.recorded_logprobs import Grammars, Reference, sample_logprobs

    reference, grammars = Reference(checkpoint_dir()), Grammars.of(checkpoint_dir())
    mean, largest = (2e-5, 2e-4) if cpu_dtype() == "float32" else (0.1, 2.0)
    kinds = set()
    for game in (games[0], *talks):
        for sample in (sample for sample in game["samples"] if sample["trainable"]):
            assert sample_problems(sample) == []
            computed, at_edge = sample_logprobs(sample, reference, grammars)
            mask = np.array(sample["loss_mask"], dtype=bool)
            differences = np.abs(computed.numpy() - np.array(sample["logprobs"])[mask])
            assert differences.mean() <= mean and differences.max() <= largest and at_edge == 0
            kinds |= {span["kind"] for span in sample["spans"] if span["generated"]}
    assert kinds == {"plain", "constrained"}


def test_the_first_message_shows_the_board(games: list[dict[str, Any]]) -> None:
    for game in games:
        cells = TicTacToeTask.model_validate_json(game["task"]).board().cells
        opening = next(event for event in game["events"] if event["kind"] == "opening")
        shown = text_of(opening).split("\n")[1:4]
        assert "".join(shown).replace(" ", "") == "".join(str(i) if c == "." else c for i, c in enumerate(cells))


def test_neither_plays_the_others_mark(games: list[dict[str, Any]]) -> None:
    for game in games:
        for event in game["events"]:
            if event["kind"] == "tool_result":
                mark = "X" if event["participant"] == "policy" else "O"
                assert json.loads(text_of(event))["message"].startswith(f"{mark} plays")
        kinds = [event["kind"] for event in game["events"]]
        assert kinds[-1] == "stop" and kinds[-2] == "tool_result", "no model is called after the end"


@pytest.mark.models
def test_nothing_is_suspicious_in_a_run_of_the_small_model(
    model_cluster: dict[str, str], small_model_app: str, tmp_path: Path
) -> None:
    games = attached(model_cluster, small_model_app, tmp_path, "tasks.generate=8", "tasks.repeats=4")
    assert len({game["reward"] for game in games}) > 1
    (run,) = tmp_path.iterdir()
    assert examine(storage_at(str(run))) == Health(32, [], [])


@pytest.mark.models
def test_an_output_limit_stops_the_episode(model_cluster: dict[str, str], small_model_app: str, tmp_path: Path) -> None:
    limits = ["participants.policy.tool_choice=auto", "participants.policy.sampling.max_tokens=3"]
    games = attached(model_cluster, small_model_app, tmp_path, "tasks.limit=2", "tasks.repeats=1", *limits)
    assert {game["stop_reason"] for game in games} == {"max_tokens"}
    for game in games:
        assert game["reward"] == 0
        spans = [
            span for sample in game["samples"] if sample["trainable"] for span in sample["spans"] if span["generated"]
        ]
        assert spans[-1]["end"] - spans[-1]["start"] == 3 and spans[-1]["kind"] == "plain"


@pytest.mark.models
def test_attaching_is_checked(model_cluster: dict[str, str], small_model_app: str, tmp_path: Path) -> None:
    def refused(*overrides: str) -> str:
        done = ray_gym("rollout", CONFIG, f"output.dir={tmp_path}", *overrides, environment=model_cluster)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stdout
        assert not list(tmp_path.iterdir())
        return done.stderr

    assert f"did you mean '{small_model_app}'" in refused(f"models.small.app={small_model_app}x")
    assert "serves" in refused(f"models.small.app={small_model_app}", "models.small.model=other/model")
    assert "sampling.seed" in refused(f"models.small.app={small_model_app}", "participants.user.sampling.seed=1")


@pytest.fixture
def usual_ports_taken() -> Iterator[None]:
    """Someone else has the ports of Serve's HTTP proxy and of Ray's dashboard."""
    taken = []
    for port in (8000, 8265):
        other = socket.socket()
        try:
            other.bind(("0.0.0.0", port))
            other.listen()
        except OSError:  # taken already, which is as good
            other.close()
            continue
        taken.append(other)
    yield
    for other in taken:
        other.close()


SERVED = ["models.random.replicas=1", "models.random.delay_s=0.1", "fanout.workers=1"]


@pytest.mark.usefixtures("usual_ports_taken")
@pytest.mark.parametrize(
    ("config", "overrides", "title"),
    [
        pytest.param("configs/tic_tac_toe_scripted.yaml", SERVED, "ServeReplica", marks=pytest.mark.chaos),
        pytest.param(CONFIG, ["limits.max_turns=1"], "VLLM::", marks=pytest.mark.models),
    ],
    ids=["scripted", "real"],
)
def test_interrupting_a_local_run_leaves_no_process(
    tmp_path: Path, config: str, overrides: list[str], title: str
) -> None:
    """The run starts its own cluster and its own model. Everything that it started carries its mark."""
    mark = f"RAY_GYM_TEST_MARK={os.getpid()}-{time.time_ns()}"
    name, _, value = mark.partition("=")
    environment = {key: text for key, text in os.environ.items() if not key.startswith("RAY_")}
    command = [
        sys.executable,
        "-m",
        "ray_gym",
        "rollout",
        config,
        *overrides,
        f"output.dir={tmp_path}",
        "run.name=cut",
        "output.roll_s=0.5",
        "tasks.generate=64",
        "tasks.repeats=1",  # a group is committed when all of it is over, which would be late
        "fanout.concurrency=4",  # likewise the first of 64 games that are played at once
    ]
    environment |= {name: value, "RAY_AUTH_MODE": "disabled", "RAY_ADDRESS": ""}
    run = subprocess.Popen(
        command,
        env=environment,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )

    def marked() -> list[str]:
        found = []
        for process in psutil.process_iter(["pid", "name", "cmdline"]):
            try:
                if process.environ().get(name) == value:
                    found.append(f"{process.pid} {' '.join(process.info['cmdline'] or [])[:80]}")
            except psutil.Error:
                continue
        return found

    eventually(lambda: list((tmp_path / "cut" / "episodes").glob("*.parquet")), 240)
    assert any(title in process for process in marked())
    began = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1 and "interrupted" in output and "Traceback" not in output
    assert time.monotonic() - began < 10, output
    eventually(lambda: not marked(), 5)
    kept = load(tmp_path / "cut").episodes
    assert 0 < kept.num_rows < 64 and f"{kept.num_rows} of 64 episodes" in output


@pytest.mark.models
def test_engines_do_not_outlive_their_replica(model_cluster: dict[str, str], small_model_app: str) -> None:
    """Last, since it costs the application its engine: SIGKILL to the replica, and its engine's processes go too."""
    [replica] = raylet_children(model_cluster, f"ServeReplica:{small_model_app}")
    its_engines = engines(model_cluster)
    assert its_engines
    replica.kill()
    eventually(lambda: not any(map(is_up, its_engines)), 10)


def is_up(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False
