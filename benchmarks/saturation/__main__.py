"""Whether rollouts keep an engine as full as it can be: `python -m benchmarks.saturation --engines 1 2`.

Real vLLM on CPU with the small model. Two language models talk, and the engine's own process keeps what it was asked. Then the same engine
is fed the same requests directly, past workers and Serve, with as many episodes in flight. In turns, several times. Sampling is greedy, so
that both generate the same and find the same in the cache. Tokens a second are compared only while the full number is in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from ray import serve

from benchmarks.command import add_json, begin, positive
from benchmarks.lag import Lags, lags_between
from benchmarks.measure import MeasurementFailed
from benchmarks.orchestration import table
from benchmarks.rollout import play
from benchmarks.saturation.direct import Step, replay
from benchmarks.saturation.outcome import require_completed
from benchmarks.saturation.replica import make_engine
from benchmarks.saturation.windows import Call, chains, full_window, gaps_ms, tokens_a_second
from ray_gym.config.sections import RunConfig
from ray_gym.deployments.small_model import NAME
from ray_gym.errors import RunFailed, UserError
from ray_gym.models.base import EngineCheck
from ray_gym.run.cluster.cluster import connected

LEAST_RATIO = 0.97
PARTICIPANTS = ("policy", "user")
SENTENCE_ENDS = [".", "!", "?"]
"""What is said ends there: a message that is cut by `max_tokens` would end the conversation."""
ANSWER_S = 120
MOST_ROUNDING = 0.02
"""Of the tokens: numbers are rounded differently in other company, and an answer may take another turn."""


@dataclass(frozen=True, slots=True)
class Work:
    engines: int
    episodes: int
    concurrency: int
    turns: int
    least_tokens: int
    """The mean of the least that answers have (`replica.least_tokens`)."""
    tokens: int
    workers: int
    threads: int
    """OpenMP's, an engine."""
    dtype: str | None = None
    """None: what a deployment takes on this machine (`ray_gym.deployments.vllm.hardware`)."""
    engine_cores: tuple[int, ...] = ()
    """That all engines run on, and nothing else does; empty: all run on all."""

    @property
    def engine_args(self) -> dict[str, Any]:
        dtype = {} if self.dtype is None else {"dtype": self.dtype}
        return {
            **dtype,
            "enforce_eager": True,
            "max_model_len": 2048,
            "max_num_seqs": self.concurrency,
            "block_size": 32,
            "kv_cache_memory_bytes": 3 * 2**30 // self.engines,
        }

    def engine_of(self, participant: str) -> str:
        return participant if self.engines > 1 else "both"


@dataclass(frozen=True, slots=True)
class Fed:
    """What the engines did, fed by rollouts or directly."""

    by: str
    round: int
    work: Work
    calls: Mapping[str, Sequence[Call]]
    steps: int
    """Of all engines: the same work in more steps is more work, however fast the machine is at the moment."""
    lags: Lags = field(default_factory=Lags)
    """While the full number was in flight; when it was fed directly, of replicas only."""

    @property
    def all_calls(self) -> list[Call]:
        return [call for calls in self.calls.values() for call in calls]

    @property
    def speed(self) -> float:
        """Errors: ValueError if the full number never was in flight."""
        calls = self.all_calls
        return tokens_a_second(calls, full_window(chains(calls), self.work.concurrency))

    def figures(self) -> dict[str, Any]:
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
            "worker lag p99": self.lags.worker_ms(99),
            "driver's": self.lags.driver_ms(99),
            "replicas'": self.lags.replica_ms(99),
            "full for s": window.seconds,
            "tokens/s": tokens_a_second(calls, window),
        }


@contextmanager
def engines_up(work: Work, lags: Path) -> Iterator[dict[str, str]]:
    """Their Serve applications, by the names that the config gives them."""
    with ExitStack() as started:
        apps = {}
        for name in dict.fromkeys(map(work.engine_of, PARTICIPANTS)):
            engine = make_engine(NAME, work.engine_args, work.threads, lags, work.engine_cores)
            engine.check(EngineCheck(name, {}, uses_tools=False, episodes=work.concurrency))
            started.callback(engine.stop)
            engine.start(f"saturation-{work.engines}", name, lambda text: print(text, file=sys.stderr))
            apps[name] = engine.app
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
    """Errors: MeasurementFailed."""
    ask(apps, "begin", work.least_tokens)
    with tempfile.TemporaryDirectory(prefix="ray_gym_benchmark_") as output:
        _, run = play(config_of(work, apps, Path(output)), lags)
        require_completed(run, work.episodes)
    return fed_by("rollouts", number, work, apps, lags)


def fed_by(by: str, number: int, work: Work, apps: Mapping[str, str], lags: Path) -> Fed:
    """Errors: MeasurementFailed if there are no figures of it."""
    fed = Fed(by, number, work, ask(apps, "calls"), sum(ask(apps, "steps").values()))
    try:
        full = full_window(chains(fed.all_calls), work.concurrency)
    except ValueError as error:
        raise MeasurementFailed(f"round {number}, {by}: {error}") from None
    return replace(fed, lags=lags_between(lags, full.start, full.end))


def directly(fed: Fed, apps: Mapping[str, str], lags: Path) -> Fed:
    """The calls of rollouts once more. Errors: MeasurementFailed."""
    calls = {name: [call for call in made if call.tokens] for name, made in fed.calls.items()}
    ask(apps, "begin")
    ports = {
        name: handle(app).open_directly.remote(calls[name]).result(timeout_s=ANSWER_S) for name, app in apps.items()
    }
    asyncio.run(replay(ports, steps(calls), fed.work.concurrency))
    again = fed_by("directly", fed.round, fed.work, apps, lags)
    generated, before = (sum(call.tokens for call in of.all_calls) for of in (again, fed))
    if abs(generated - before) > MOST_ROUNDING * before:
        raise MeasurementFailed(f"the engine generated {generated} tokens when it was asked directly, {before} before")
    return again


def steps(calls: Mapping[str, Sequence[Call]]) -> list[list[Step]]:
    """Each episode's, in order, whichever engine made them."""
    where = {id(call): Step(name, number) for name, made in calls.items() for number, call in enumerate(made)}
    return [[where[id(call)] for call in chain] for chain in chains(call for made in calls.values() for call in made)]


def handle(app: str) -> Any:
    return serve.get_app_handle(app)


def ask(apps: Mapping[str, str], method: str, *arguments: Any) -> dict[str, Any]:
    asked = {name: getattr(handle(app), method).remote(*arguments) for name, app in apps.items()}
    return {name: answer.result(timeout_s=ANSWER_S) for name, answer in asked.items()}


def measure(work: Work, rounds: int, found: list[Fed]) -> None:
    """What was found until then is kept. Errors: MeasurementFailed; ConnectionError, TimeoutError."""
    with tempfile.TemporaryDirectory(prefix="ray_gym_lags_") as folder, engines_up(work, Path(folder)) as apps:
        lags = Path(folder)
        # The first round counts for nothing: the first time that an engine computes steps of these sizes is slower.
        by_rollouts(work, apps, 0, lags)
        for number in range(1, rounds + 1):
            found.append(by_rollouts(work, apps, number, lags))
            found.append(directly(found[-1], apps, lags))
            print(f"round {number}: {found[-2].speed:.0f} and {found[-1].speed:.0f} tokens/s", flush=True)


def ratio(fed: Sequence[Fed]) -> float:
    """Of the mean speeds, the rollouts' and the direct one, over the rounds that have both."""
    both = speeds(fed)
    return sum(rollouts for rollouts, _ in both) / sum(direct for _, direct in both)


def speeds(fed: Sequence[Fed]) -> list[tuple[float, float]]:
    """Of each round, by rollouts and directly, as far as there are both."""
    return [(rollouts.speed, direct.speed) for rollouts, direct in zip(fed[::2], fed[1::2], strict=False)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given, heading = begin(parser, arguments)
    if given.episodes < given.concurrency:
        parser.error(f"--episodes {given.episodes}: {given.concurrency} of them are to be in flight (--concurrency)")
    if 3 * given.least_tokens > given.tokens:
        parser.error(
            f"--least-tokens {given.least_tokens}: some answers have nearly twice as many at least, and sentences must come to an end "
            f"in the {given.tokens} of --tokens; take {3 * given.least_tokens} or more of these"
        )
    if given.concurrency < given.workers:
        parser.error(
            f"--workers {given.workers}: each plays an episode at least, and {given.concurrency} are in flight"
        )
    lengths = (given.turns, given.least_tokens, given.tokens)
    sizes = (given.episodes, given.concurrency, *lengths, given.workers, given.threads)
    if given.apart and len(os.sched_getaffinity(0)) < 2:
        parser.error("--apart: there is one core only")
    engine_cores = _apart() if given.apart else ()
    measured: dict[int, list[Fed]] = {}
    failed = False
    try:
        with connected():
            for engines in given.engines:
                measure(
                    Work(engines, *sizes, given.dtype, engine_cores), given.rounds, measured.setdefault(engines, [])
                )
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


def _apart() -> tuple[int, ...]:
    """The cores for engines; all but them run on the last one from now on, on a cluster of their own: one that is up would not."""
    os.environ["RAY_ADDRESS"] = "local"
    *engine_cores, last = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {last})
    return tuple(engine_cores)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saturation", description=__doc__)
    engines = "1: both participants on one; 2: one each (default 1 2)"
    parser.add_argument("--engines", type=int, choices=(1, 2), nargs="+", default=[1, 2], help=engines)
    parser.add_argument("--rounds", type=positive, default=4, help="of rollouts and the same directly (default 4)")
    parser.add_argument("--episodes", type=positive, default=128, help="a round (default 128)")
    parser.add_argument("--concurrency", type=positive, default=64, help="episodes in flight (default 64)")
    parser.add_argument("--turns", type=positive, default=3, help="of each participant (default 3)")
    least = (
        "the mean of the least that turns have, evenly from 1 to nearly twice as many; each goes on to the end of its sentence "
        "(default 32; with 1 the small model says some 9)"
    )
    parser.add_argument("--least-tokens", type=positive, default=32, help=least)
    parser.add_argument("--tokens", type=positive, default=128, help="at most, a turn (default 128)")
    parser.add_argument("--workers", type=positive, default=1, help="(default 1)")
    threads = "that an engine computes with; on a GPU, too, the cores are for everything else (default 1)"
    parser.add_argument("--threads", type=positive, default=1, help=threads)
    apart = "engines run on all cores but the last, everything else (a Ray cluster of its own) on that (default: all run on all)"
    parser.add_argument("--apart", action="store_true", help=apart)
    dtype = "answers in bfloat16 depend on what else is in a step (default: bfloat16 where the CPU can, else float32)"
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help=dtype)
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
