"""Compares an engine's speed under rollouts with its speed under direct calls: `python -m benchmarks.saturation`.

vLLM runs the small model, on CPU or with `--gpus` on GPUs. Two language models talk, and the engine's process records
the requests. Then the same engine gets the same requests directly, without workers and Serve, with as many episodes in
flight. Both are repeated, in turns. Sampling is greedy, so that both generate the same tokens and find the same prompts
in the cache. Tokens a second count only while the full number of episodes is in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from ray import serve

from benchmarks.command import add_json, begin, check_in_flight, not_negative, positive
from benchmarks.lag import Lags, lags_between, percentile_ms
from benchmarks.measure import MeasurementFailed
from benchmarks.rollout import play, serve_engine
from benchmarks.saturation.direct import Step, replay
from benchmarks.saturation.outcome import require_completed
from benchmarks.saturation.replica import make_engine
from benchmarks.saturation.windows import EngineCall, chains, full_window, gaps_ms, tokens_a_second
from benchmarks.table import table
from ray_gym.config.sections import RunConfig
from ray_gym.deployments.small_model import NAME
from ray_gym.errors import RunFailed, UserError
from ray_gym.models.base import EngineCheck
from ray_gym.run.cluster.cluster import connect

LEAST_RATIO = 0.97
PARTICIPANTS = ("policy", "user")
SENTENCE_ENDS = [".", "!", "?"]
"""Stop strings of each message. A message without one would be cut by `max_tokens`, which ends the conversation."""
ANSWER_S = 120
MOST_ROUNDING = 0.02
"""Largest share by which the numbers of generated tokens of both may differ.

Rounding depends on the batch, so they do.
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Sets the numbers of engines, episodes, turns and tokens, which rollouts and direct calls have in common."""

    engines: int
    episodes: int
    concurrency: int
    turns: int
    least_tokens: int
    """Mean of the least number of tokens that answers have (`replica.least_tokens`)."""
    tokens: int
    """Largest number of tokens that an answer may have."""
    workers: int
    threads: int
    """Number of OpenMP threads of an engine."""
    dtype: str | None = None
    """Data type of the engines; None: the one that deployments choose on this machine."""
    gpus: float = 0
    """Number of GPUs of an engine; 0: CPU."""

    @property
    def engine_args(self) -> dict[str, Any]:
        dtype = {} if self.dtype is None else {"dtype": self.dtype}
        cache = {"block_size": 32, "kv_cache_memory_bytes": 3 * 2**30 // self.engines}
        return {
            **dtype,
            **cache,
            "enforce_eager": not self.gpus,
            "max_model_len": 2048,
            "max_num_seqs": self.concurrency,
        }

    def engine_of(self, participant: str) -> str:
        return participant if self.engines > 1 else "both"


@dataclass(frozen=True, slots=True)
class Fed:
    """Holds the calls that the engines answered in one round, which came from rollouts or were made directly."""

    by: str
    round: int
    work: Work
    calls: Mapping[str, Sequence[EngineCall]]
    steps: int
    """Number of steps of all engines. The same tokens cost more in more steps, on any machine."""
    lags: Lags = field(default_factory=Lags)
    """Lags while the full number was in flight; for direct calls, those of replicas only."""

    @property
    def all_calls(self) -> list[EngineCall]:
        return [call for calls in self.calls.values() for call in calls]

    @property
    def speed(self) -> float:
        """Returns the tokens a second while the full number of episodes was in flight.

        Errors: ValueError if it never was.
        """
        calls = self.all_calls
        return tokens_a_second(calls, full_window(chains(calls), self.work.concurrency))

    def figures(self) -> dict[str, Any]:
        """Returns the round's numbers by the headings of the table.

        Errors: ValueError if the full number of episodes never was in flight.
        """
        calls = self.all_calls
        episodes = chains(calls)
        window, gaps = full_window(episodes, self.work.concurrency), gaps_ms(episodes)
        return {
            "engines": self.work.engines,
            "threads each": self.work.threads,
            "round": self.round,
            "fed by": self.by,
            "in flight": self.work.concurrency,
            "calls": len(calls),
            "generated": sum(call.tokens for call in calls),
            "prompt tokens computed": sum(call.computed for call in calls),
            "steps": self.steps,
            "gap p50 (ms)": float(np.percentile(gaps, 50)),
            "p99": float(np.percentile(gaps, 99)),
            "worker lag p99": percentile_ms(self.lags.worker, 99),
            "driver's": percentile_ms(self.lags.driver, 99),
            "replicas'": percentile_ms(self.lags.replica, 99),
            "full for s": window.seconds,
            "tokens/s": tokens_a_second(calls, window),
        }


@contextmanager
def start_engines(work: Work, lags: Path) -> Iterator[dict[str, str]]:
    """Starts the engines, yields the names of their Serve applications by the models' names in the config, and stops
    them after the block. The engines write their lags to the folder `lags`.
    """
    with ExitStack() as started:
        apps = {}
        for name in dict.fromkeys(map(work.engine_of, PARTICIPANTS)):
            engine = make_engine(NAME, work.engine_args, work.threads, work.gpus, lags)
            check = EngineCheck(name, {}, uses_tools=False, episodes=work.concurrency)
            apps[name] = started.enter_context(serve_engine(engine, f"saturation-{work.engines}", check))
        yield apps


def config_of(work: Work, apps: Mapping[str, str], output: Path) -> RunConfig:
    sampling = {"temperature": 0.0, "max_tokens": work.tokens, "stop": SENTENCE_ENDS}
    return RunConfig.model_validate(
        {
            "environment": {"id": "benchmarks.saturation.environment:Talk"},
            "tasks": {"generate": work.episodes},
            "models": {name: {"engine": "vllm", "app": app} for name, app in apps.items()},
            "participants": {name: {"model": work.engine_of(name), "sampling": sampling} for name in PARTICIPANTS},
            "limits": {"max_turns": work.turns, "max_steps_per_turn": 1, "episode_deadline_s": 3600},
            "fanout": {"workers": work.workers, "concurrency": work.concurrency},
            "output": {"dir": str(output)},
        }
    )


def by_rollouts(work: Work, apps: Mapping[str, str], number: int, lags: Path) -> Fed:
    """Plays round `number` of rollouts, and returns the calls that the engines answered.

    Errors: MeasurementFailed if the run failed, too few episodes were completed, or the full number never was in
    flight.
    """
    ask(apps, "begin", work.least_tokens)
    with tempfile.TemporaryDirectory(prefix="ray_gym_benchmark_") as output:
        run = play(config_of(work, apps, Path(output)), lags)
        require_completed(run, work.episodes)
    return read_fed("rollouts", number, work, apps, lags)


def read_fed(by: str, number: int, work: Work, apps: Mapping[str, str], lags: Path) -> Fed:
    """Collects the engines' calls, steps and lags of round `number`. `by`: "rollouts" or "directly".

    Errors: MeasurementFailed if the full number of episodes never was in flight.
    """
    fed = Fed(by, number, work, ask(apps, "calls"), sum(ask(apps, "steps").values()))
    try:
        full = full_window(chains(fed.all_calls), work.concurrency)
    except ValueError as error:
        raise MeasurementFailed(f"round {number}, {by}: {error}") from None
    return replace(fed, lags=lags_between(lags, full.start, full.end))


def directly(fed: Fed, apps: Mapping[str, str], lags: Path) -> Fed:
    """Makes the calls of a round of rollouts once more, directly, and returns those that the engines answered now.

    Errors: MeasurementFailed if the full number of episodes never was in flight, or if too many or too few tokens were
    generated; ConnectionError, TimeoutError.
    """
    calls = {name: [call for call in made if call.tokens] for name, made in fed.calls.items()}
    ask(apps, "begin")
    ports = {name: ask({name: app}, "open_directly", calls[name])[name] for name, app in apps.items()}
    asyncio.run(replay(ports, steps(calls), fed.work.concurrency))
    again = read_fed("directly", fed.round, fed.work, apps, lags)
    generated, before = (sum(call.tokens for call in of.all_calls) for of in (again, fed))
    if abs(generated - before) > MOST_ROUNDING * before:
        raise MeasurementFailed(f"the engine generated {generated} tokens when it was asked directly, {before} before")
    return again


def steps(calls: Mapping[str, Sequence[EngineCall]]) -> list[list[Step]]:
    """Returns each episode's calls in their order, each as a `Step` (engine and number). `calls`: calls by engine."""
    where = {id(call): Step(name, number) for name, made in calls.items() for number, call in enumerate(made)}
    return [[where[id(call)] for call in chain] for chain in chains(call for made in calls.values() for call in made)]


def ask(apps: Mapping[str, str], method: str, *arguments: Any) -> dict[str, Any]:
    """Calls a method of every engine's replica, all at once, and returns the answers by the engines' names.

    Errors: TimeoutError if an answer does not come within ANSWER_S seconds.
    """
    asked = {name: getattr(serve.get_app_handle(app), method).remote(*arguments) for name, app in apps.items()}
    return {name: answer.result(timeout_s=ANSWER_S) for name, answer in asked.items()}


def measure(work: Work, rounds: int, found: list[Fed]) -> None:
    """Starts the engines, plays `rounds` rounds, and appends two results for each to `found`: by rollouts and directly.

    Results of rounds before an error are in `found`. A first round, which is not counted, comes before. Errors:
    MeasurementFailed, ConnectionError, TimeoutError; UserError or RunFailed if an engine can't be started.
    """
    with tempfile.TemporaryDirectory(prefix="ray_gym_lags_") as folder, start_engines(work, Path(folder)) as apps:
        lags = Path(folder)
        # A first round is not counted: an engine is slower when it computes steps of new sizes.
        by_rollouts(work, apps, 0, lags)
        for number in range(1, rounds + 1):
            found.append(by_rollouts(work, apps, number, lags))
            found.append(directly(found[-1], apps, lags))
            print(f"round {number}: {found[-2].speed:.0f} and {found[-1].speed:.0f} tokens/s", flush=True)


def ratio(fed: Sequence[Fed]) -> float:
    """Returns the mean speed by rollouts divided by the mean speed directly, over the rounds that have both."""
    both = speeds(fed)
    return sum(rollouts for rollouts, _ in both) / sum(direct for _, direct in both)


def speeds(fed: Sequence[Fed]) -> list[tuple[float, float]]:
    """Returns the speeds (tokens a second) of each round by rollouts and directly.

    A round that lacks one is left out.
    """
    return [(rollouts.speed, direct.speed) for rollouts, direct in zip(fed[::2], fed[1::2], strict=False)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given, heading = begin(parser, arguments)
    check_in_flight(parser, given, given.concurrency)
    if 3 * given.least_tokens > given.tokens:
        parser.error(
            f"--tokens {given.tokens}: sentences of at least {given.least_tokens} tokens need three times as many"
        )
    lengths = (given.turns, given.least_tokens, given.tokens)
    work = Work(1, given.episodes, given.concurrency, *lengths, given.workers, given.threads, given.dtype, given.gpus)
    measured: dict[int, list[Fed]] = {}
    failed = False
    try:
        with connect():
            for engines in given.engines:
                measure(replace(work, engines=engines), given.rounds, measured.setdefault(engines, []))
    except (MeasurementFailed, UserError, RunFailed, ConnectionError, TimeoutError) as error:
        print(f"error: {error}", file=sys.stderr)
        failed = True
    lines = [one.figures() for fed in measured.values() for one in fed]
    ratios = {engines: ratio(fed) for engines, fed in measured.items() if len(fed) > 1}
    print(f"\n{table(lines)}\n")
    for engines, found in ratios.items():
        rounds = ", ".join(f"{rollouts / direct:.3f}" for rollouts, direct in speeds(measured[engines]))
        print(f"engines {engines}: {found:.3f} of the direct speed (least {LEAST_RATIO}); rounds {rounds}")
    heading.write(given.json, lines=lines, ratios=ratios)
    return 0 if not failed and all(found >= LEAST_RATIO for found in ratios.values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saturation", description=__doc__)
    engines = "1: one engine for both participants; 2: one for each (default 1 2)"
    parser.add_argument("--engines", type=int, choices=(1, 2), nargs="+", default=[1, 2], help=engines)
    rounds = "rounds, each of rollouts and of the same calls made directly (default 4)"
    parser.add_argument("--rounds", type=positive, default=4, help=rounds)
    parser.add_argument("--episodes", type=positive, default=128, help="episodes a round (default 128)")
    parser.add_argument("--concurrency", type=positive, default=64, help="episodes in flight (default 64)")
    parser.add_argument("--turns", type=positive, default=3, help="turns of each participant (default 3)")
    least = "mean of the least tokens of a turn, which goes on to the end of its sentence (default 32; 1 gives some 9)"
    parser.add_argument("--least-tokens", type=positive, default=32, help=least)
    parser.add_argument("--tokens", type=positive, default=128, help="most tokens of a turn (default 128)")
    parser.add_argument("--workers", type=positive, default=1, help="worker processes of the rollouts (default 1)")
    threads = "threads that an engine computes with; beside a GPU, too, the cores are for everything else (default 1)"
    parser.add_argument("--threads", type=positive, default=1, help=threads)
    dtype = "data type of the engines; in bfloat16 answers depend on the batch (default: bfloat16 where the CPU can, else float32)"
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help=dtype)
    gpus = "GPUs of an engine, which then uses CUDA graphs; 0.5: two engines share one (default 0: CPU)"
    parser.add_argument("--gpus", type=not_negative, default=0, help=gpus)
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
