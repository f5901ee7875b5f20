"""Checks what the benchmark compares: the window in which all is in flight, the tokens in it, and the same calls made
directly in the same order.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import REPOSITORY

from benchmarks.measure import MeasurementFailed
from benchmarks.saturation import __main__ as saturation
from benchmarks.saturation.__main__ import Fed, Work, config_of, ratio, read_fed, speeds, steps
from benchmarks.saturation.direct import Step, replay
from benchmarks.saturation.outcome import require_completed
from benchmarks.saturation.replica import LongRequest, RecordingEngine, least_tokens
from benchmarks.saturation.windows import EngineCall, TimeWindow, chains, full_window, gaps_ms, tokens_a_second
from ray_gym.deployments.chat.token_engine import Generation, GenerationRequest
from ray_gym.deployments.vllm.async_llm import AsyncLLMEngine
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import FailureKind
from ray_gym.models.base import Sampling
from ray_gym.record.schema import as_table, failed_row

WORK = Work(engines=1, episodes=4, concurrency=2, turns=1, least_tokens=1, tokens=8, workers=1, threads=1)


def call(session: str, began_at: float, ended_at: float, tokens: int = 10) -> EngineCall:
    return EngineCall(GenerationRequest([1, 2, 3], Sampling(), 8, session), began_at, ended_at, tokens, cached=1)


CALLS = [
    call("a", 0, 2),
    call("b", 1, 4),
    call("a", 2, 5),
    call("c", 5.5, 8),
    call("b", 4, 7),
    call("d", 7.5, 12),
]


def test_the_window_is_from_the_first_to_the_last_moment_at_which_all_are_in_flight() -> None:
    """One place is free between a's end and c's beginning: the window includes that, as it is what rollouts cost."""
    assert full_window(chains(CALLS), 2) == TimeWindow(1, 8)
    assert full_window(chains(CALLS[:1]), 1) == TimeWindow(0, 2)
    with pytest.raises(ValueError, match="never were 3"):
        full_window(chains(CALLS), 3)


def test_tokens_count_by_how_much_of_their_call_lies_in_the_window() -> None:
    assert tokens_a_second([call("a", 0, 4), call("b", 2, 6), call("c", 7, 9)], TimeWindow(2, 6)) == pytest.approx(
        15 / 4
    )
    assert call("a", 0, 1).computed == 2


def test_a_gap_is_from_an_answer_to_the_next_call_of_its_episode() -> None:
    assert gaps_ms(chains(CALLS)) == [0, 0]
    assert gaps_ms([[call("a", 0, 2), call("a", 2.25, 3)], [call("b", 0, 9)]]) == [250]


def test_episodes_are_taken_up_in_the_order_in_which_they_began_each_with_its_calls() -> None:
    found = steps({"policy": [CALLS[2], CALLS[1]], "user": [CALLS[0], CALLS[4]]})
    assert found == [[Step("user", 0), Step("policy", 0)], [Step("policy", 1), Step("user", 1)]]


def test_the_ratio_is_that_of_the_mean_speeds() -> None:
    def fed(by: str, speed: float) -> Fed:
        calls = [replace(call(name, 0, 1), tokens=int(speed / 2)) for name in "ab"]
        return Fed(by, 1, WORK, {"both": calls}, steps=1)

    whole = [fed("rollouts", 90), fed("directly", 100), fed("rollouts", 100), fed("directly", 100)]
    assert ratio(whole) == 0.95 and speeds(whole) == [(90, 100), (100, 100)]
    assert ratio([*whole, fed("rollouts", 10)]) == 0.95, "a round without its other half"


def run_with(folder: Path, completed: int, *failures: FailureKind, cut: int = 0) -> Path:
    """Writes a run with these episodes, `cut` of the completed ones stopped by max_tokens. Returns its directory."""
    rows = [failed_row(EpisodeSpec(f"e{n}", "g", "t", 0, 0, "{}"), "run", "env", "x") for n in range(completed)]
    stops = ["max_tokens"] * cut + ["max_turns"] * (completed - cut)
    done = [
        row | {"status": "completed", "failure": None, "stop_reason": stop}
        for row, stop in zip(rows, stops, strict=True)
    ]
    bad = [rows[0] | {"failure": {"kind": kind.value, "where": "user", "message": "cut"}} for kind in failures]
    run = folder / "-".join([str(completed), str(cut), *failures])
    (run / "episodes").mkdir(parents=True)
    pq.write_table(as_table(done + bad), run / "episodes" / "part.parquet")
    return run


def test_one_in_twenty_may_be_cut_and_one_in_fifty_fail_for_that_and_for_nothing_else(tmp_path: Path) -> None:
    user, infra = FailureKind.USER, FailureKind.INFRA
    require_completed(run_with(tmp_path, 128), 128)
    require_completed(run_with(tmp_path, 126, user, user, cut=4), 128)
    for completed, failures, cut in [
        (125, [user] * 3, 0),
        (126, [user] * 2, 5),
        (128, [], 7),
        (127, [infra], 0),
        (126, [user, infra], 0),
        (127, [], 0),
    ]:
        with pytest.raises(MeasurementFailed, match=f"{completed} of 128 episodes were completed"):
            require_completed(run_with(tmp_path, completed, *failures, cut=cut), 128)


def test_a_round_in_which_the_full_number_never_was_in_flight_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"calls": {"both": CALLS}, "steps": {"both": 7}}
    monkeypatch.setattr(saturation, "ask", lambda apps, method: told[method])
    with pytest.raises(MeasurementFailed, match="round 1, rollouts: there never were 9"):
        read_fed("rollouts", 1, replace(WORK, concurrency=9), {}, tmp_path)
    looks = [[time, "worker", [time / 1000]] for time in (0.5, 2.0, 7.0, 9.0)]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(look) + "\n" for look in looks))
    fed = read_fed("rollouts", 1, WORK, {}, tmp_path)
    assert fed.speed > 0 and set(fed.lags.worker) == {0.002, 0.007}, "what came while all were in flight"


async def test_an_engine_is_asked_for_the_least_length_of_the_prompt_as_far_as_there_is_room() -> None:
    async def generate(request: GenerationRequest) -> Generation:
        return Generation(request.prompt_ids, np.ones(1, np.int32), np.zeros(1, np.float32), "x", truncated=False)

    engine = RecordingEngine(cast(AsyncLLMEngine, SimpleNamespace(generate=generate)))
    engine.mean_least_tokens = 1000
    for room in (4000, 3):
        await engine.generate(GenerationRequest([1, 2, 3], Sampling(), room, "a"))
    asked = [cast(LongRequest, call.request).min_tokens for call in engine.calls]
    assert asked == [least_tokens([1, 2, 3], 1000), 3] and asked[0] > 3


def test_answers_differ_in_their_least_length_as_their_prompts_do() -> None:
    lengths = [least_tokens([7, number], 32) for number in range(2000)]
    assert lengths == [least_tokens([7, number], 32) for number in range(2000)]
    assert (min(lengths), max(lengths)) == (1, 63) and abs(sum(lengths) / len(lengths) - 32) < 1
    assert least_tokens([7], 1) == 1


def test_an_engine_each_or_one_for_both(tmp_path: Path) -> None:
    one = config_of(WORK, {"both": "app"}, tmp_path)
    two = config_of(replace(WORK, engines=2), {"policy": "p", "user": "u"}, tmp_path)
    assert {one.participants[name].model for name in ("policy", "user")} == {"both"}
    assert {name: two.participants[name].model for name in ("policy", "user")} == {"policy": "policy", "user": "user"}


@pytest.mark.clock
@pytest.mark.ray
@pytest.mark.engine
@pytest.mark.timeout(600)
def test_two_engines_are_fed_by_rollouts_and_directly(cluster: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "numbers.json"
    rounds = ["--engines", "2", "--rounds", "1", "--dtype", "float32"]
    sizes = ["--episodes", "6", "--concurrency", "3", "--turns", "2", "--workers", "1", "--least-tokens", "16"]
    command = [sys.executable, "-m", "benchmarks.saturation", *rounds, *sizes, "--json", str(out)]
    environment = {**cluster, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=580, check=False
    )
    assert out.exists(), done.stdout + done.stderr
    rollouts, direct = json.loads(out.read_text())["lines"]
    assert rollouts["calls"] == direct["calls"] == 6 * 2 * 2
    assert rollouts["generated"] == direct["generated"] > 12 * 6 * 2 * 2, (
        "more than the nine an answer that nobody asked for"
    )
    assert rollouts["tokens/s"] > 0 and direct["tokens/s"] > 0
    lags = ("worker lag p99", "driver's", "replicas'")
    assert all(rollouts[name] > 0 for name in lags)
    assert [direct[name] is None for name in lags] == [True, True, False]


def test_a_replay_keeps_the_number_in_flight_and_the_order_within_an_episode() -> None:
    made: list[int] = []
    at_once: list[int] = []

    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            at_once.append(int(line))
            await asyncio.sleep(0.01)
            assert len(at_once) <= 2
            at_once.remove(int(line))
            made.append(int(line))
            writer.write(line)
        writer.close()

    async def played() -> None:
        server = await asyncio.start_server(engine, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        episodes = [[Step("both", 3 * episode + step) for step in range(3)] for episode in range(4)]
        await asyncio.wait_for(replay({"both": port}, episodes, 2), 20)
        server.close()

    asyncio.run(played())
    assert sorted(made) == list(range(12))
    assert [number for number in made if number < 3] == [0, 1, 2]


async def test_an_engine_that_goes_away_ends_the_replay_with_an_error_of_its_own() -> None:
    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.close()

    async with await asyncio.start_server(engine, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionError, match="the engine went away"):
            await asyncio.wait_for(replay({"both": port}, [[Step("both", 0)], [Step("both", 1)]], 2), 20)
