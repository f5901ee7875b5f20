"""Compares recorded logprobs with those of an independent forward pass: `python -m benchmarks.parity`.

A model plays tic-tac-toe under vLLM, on CPU or with `--gpus` on GPUs, in one run for each way of sampling. Then every
trainable token's logprob is computed again from the Parquet files alone, by one forward pass of transformers on CPU
under the recorded sampling and grammar. It is in float32, so that only the engine's rounding makes a difference.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import torch

from benchmarks.command import add_json, begin, not_negative, positive
from benchmarks.measure import MeasurementFailed
from benchmarks.rollout import play, serve_engine
from benchmarks.table import table
from ray_gym.config.sections import RunConfig
from ray_gym.deployments.chat.checkpoint import resolve_model
from ray_gym.deployments.small_model import NAME
from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.errors import RunFailed, UserError
from ray_gym.load import load
from ray_gym.models.base import EngineCheck
from ray_gym.record.soundness import sample_problems
from ray_gym.run.cluster import cluster
from ray_gym.run.directory.reading import Run
from ray_gym.trainers.recorded_logprobs import Grammars, Reference, sample_logprobs, shared_beginning

CACHE = {"block_size": 32, "kv_cache_memory_bytes": 2 * 2**30}
ENGINE_ARGS = {"enforce_eager": True, "max_model_len": 2048, "max_num_seqs": 64, **CACHE}
LEAST_SHARE_MULTI_TURN = 0.5
"""Least share of a case's samples that must have several generated spans, so that the case covers multi-turn episodes.
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Describes a way of sampling.

    Free text ends at a line break or a full stop, so that a game takes several turns.
    """

    sampling: Mapping[str, Any]
    required: bool = False
    legal_moves_only: bool = False


PENALTIES = {"repetition_penalty": 1.1, "presence_penalty": 0.5, "frequency_penalty": 0.2}
CASES: Mapping[str, Case] = {
    "plain-1.0": Case({"temperature": 1.0}),
    "plain-0.7": Case({"temperature": 0.7}),
    "top-p": Case({"temperature": 1.0, "top_p": 0.9}),
    "greedy": Case({"temperature": 0.0}),
    "mixed": Case({"temperature": 0.8, "top_p": 0.95, "top_k": 20, "min_p": 0.02, **PENALTIES}),
    "constrained-1.0": Case({"temperature": 1.0}, required=True),
    "constrained-0.7-top-p": Case({"temperature": 0.7, "top_p": 0.9}, required=True, legal_moves_only=True),
}


@dataclass(frozen=True, slots=True)
class Precision:
    """Sets the games that are played in a data type, and the bounds on the differences between recorded and computed
    logprobs.

    `mean` and `largest` bound the mean and the largest absolute difference of a case. Further bounds are for rounding.
    A token of the vocabulary may lie so close to the threshold of top-p or min-p that one computation keeps it and the
    other cuts it off, which moves all logprobs of the position. With noise of 1e-5 on the logits this happens at 1 of
    4,650 positions at top-p 0.9; `edge_share` allows ten times as many. `edge` is how far rounding moves a threshold:
    within it the record may agree with either side. `outside_share` bounds the share of generated tokens that the
    second computation cuts off.
    """

    mean: float
    largest: float
    cases: tuple[str, ...]
    max_turns: int
    max_tokens: int
    edge: float = 0
    edge_share: float = 0
    outside_share: float = 0


PRECISIONS: Mapping[str, Precision] = {
    "float32": Precision(2e-5, 2e-4, tuple(CASES), max_turns=5, max_tokens=64, edge=1e-5, edge_share=0.002),
    # Fewer ways of sampling and shorter games: a CPU without instructions for bfloat16 is several times slower.
    "bfloat16": Precision(
        0.05, math.inf, ("plain-1.0", "plain-0.7", "top-p"), max_turns=3, max_tokens=32, outside_share=0.01
    ),
}


@dataclass(slots=True)
class Compared:
    """Holds the comparison of a case, which makes one line of the table."""

    dtype: str
    case: str
    asked: int
    episodes: int
    samples: int
    multi_turn: int = 0
    spans: int = 0
    kinds: set[str] = field(default_factory=set)
    differences: list[float] = field(default_factory=list)
    at_edge: int = 0
    outside: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return len(self.differences) + self.outside

    @property
    def mean(self) -> float:
        return sum(self.differences) / max(1, len(self.differences))

    def problems(self) -> list[str]:
        """Returns a text for each bound that the case breaks, and for each other fault; none if all is right."""
        bound, found = PRECISIONS[self.dtype], list(dict.fromkeys(self.broken))
        if not self.differences:
            found.append("nothing was compared")
        if self.episodes != self.asked:
            found.append(f"{self.episodes} episodes were completed, but {self.asked} were asked for")
        if self.multi_turn < LEAST_SHARE_MULTI_TURN * self.samples:
            found.append(f"only {self.multi_turn} of {self.samples} samples have more than one generated span")
        if not self.mean <= bound.mean:
            found.append(f"mean |difference| {self.mean:.1e} is over {bound.mean:.0e}")
        if not (largest := max(self.differences, default=0.0)) <= bound.largest:
            found.append(f"max |difference| {largest:.1e} is over {bound.largest:.0e}")
        if self.at_edge > bound.edge_share * self.tokens:
            found.append(f"{self.at_edge} of {self.tokens} tokens agree only at the edge of what is cut off")
        if self.outside > bound.outside_share * self.tokens:
            found.append(f"{self.outside} of {self.tokens} tokens lie where the recorded sampling cuts off")
        return [f"{self.dtype}, {self.case}: {problem}" for problem in found]

    def figures(self) -> dict[str, Any]:
        """Returns the case's figures by the headings of the table."""
        bound = PRECISIONS[self.dtype]
        return {
            "dtype": self.dtype,
            "case": self.case,
            "kind": ", ".join(sorted(self.kinds)),
            "episodes": self.episodes,
            "samples": self.samples,
            "multi-turn": self.multi_turn,
            "spans": self.spans,
            "tokens": self.tokens,
            "mean": f"{self.mean:.1e}",
            "max": f"{max(self.differences, default=0.0):.1e}",
            "at edge": self.at_edge,
            "outside": self.outside,
            "bound": f"mean {bound.mean:.0e}, max {bound.largest:.0e}",
            "ok": "no" if self.problems() else "yes",
        }


def make_engine(dtype: str, model: str = NAME, gpus: float = 0, tensor_parallel: int = 1) -> VllmEngine:
    """Makes an engine that computes in a data type. `gpus`: GPUs of each of its `tensor_parallel` ranks; 0: CPU."""
    args = {**ENGINE_ARGS, "dtype": dtype}
    return VllmEngine(VllmOptions(model=model, gpus=gpus, tensor_parallel=tensor_parallel, engine_args=args))


def config_of(dtype: str, name: str, episodes: int, app: str, output: Path) -> RunConfig:
    """Makes the config of a case. Only the policy is a language model; the user moves at random.

    `name`: name of the case. `app`: name of the policy's Serve application.
    """
    case, precision = CASES[name], PRECISIONS[dtype]
    sampling = {"max_tokens": precision.max_tokens, **case.sampling, "stop": [] if case.required else ["\n", "."]}
    tool_choice = "required" if case.required else "auto"
    return RunConfig.model_validate(
        {
            "run": {"name": f"{dtype}-{name}"},
            "environment": {"id": "tic_tac_toe", "legal_moves_only": case.legal_moves_only},
            "tasks": {"generate": episodes},
            "models": {
                "small": {"engine": "vllm", "app": app},
                "random": {"engine": "scripted", "player": "ray_gym.envs.tic_tac_toe.players:random_player"},
            },
            "participants": {
                "policy": {"model": "small", "tool_choice": tool_choice, "sampling": sampling},
                "user": {"model": "random"},
            },
            "limits": {"max_turns": precision.max_turns, "max_steps_per_turn": 1},
            "output": {"dir": str(output)},
        }
    )


def compare(dtype: str, name: str, asked: int, run: Run, reference: Reference, grammars: Grammars) -> Compared:
    """Compares the recorded logprob of every trainable token of a run with the reference's, and prints the figures.

    Once a sample's loss mask is wrong, no further logprobs are compared. `asked`: number of episodes that were to be
    completed.
    """
    samples = [sample for sample in run.samples.to_pylist() if sample["trainable"]]
    completed = run.episodes.column("status").to_pylist().count("completed")
    compared = Compared(dtype, name, asked, completed, len(samples))
    reference.begin_with(shared_beginning(samples))
    for sample in samples:
        spans = [span for span in sample["spans"] if span["generated"]]
        compared.broken += sample_problems(sample)
        compared.spans += len(spans)
        compared.multi_turn += len(spans) > 1
        compared.kinds.update(span["kind"] for span in spans)
        if spans and not compared.broken:
            _add(compared, sample, reference, grammars)
    say(", ".join(f"{heading} {figure}" for heading, figure in compared.figures().items()))
    return compared


def _add(compared: Compared, sample: Mapping[str, Any], reference: Reference, grammars: Grammars) -> None:
    bound = PRECISIONS[compared.dtype]
    computed, at_edge = sample_logprobs(sample, reference, grammars, bound.edge, bound.largest)
    compared.at_edge += at_edge
    recorded = torch.tensor(sample["logprobs"])[torch.tensor(sample["loss_mask"], dtype=torch.bool)]
    inside = computed.isfinite()
    compared.outside += int((~inside).sum())
    compared.differences += (computed - recorded)[inside].abs().tolist()


def measure(engine: VllmEngine, names: Sequence[str], episodes: int, output: Path, same: bool) -> list[Compared]:
    """Plays the cases of these names on an engine that is started, compares them, and returns the comparison of each.

    `same`: True to compute again in the same data type, False in float32. Errors: MeasurementFailed, RunFailed or
    UserError if a run can't be played to its end.
    """
    dtype, check = engine.options.engine_args["dtype"], EngineCheck("small", {}, uses_tools=True)
    with cluster.connect(), serve_engine(engine, f"parity-{dtype}", check) as app:
        runs = {}
        for name in names:
            say(f"playing {dtype}-{name}")
            runs[name] = play(config_of(dtype, name, episodes, app, output))
    checkpoint = Path(resolve_model(engine.options.model or NAME))
    reference, grammars = Reference(checkpoint, dtype if same else "float32"), Grammars.of(checkpoint)
    say(f"{dtype}: computing logprobs again")
    return [compare(dtype, name, episodes, load(path), reference, grammars) for name, path in runs.items()]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    packages = [packages_distributions()["vllm"][0], "transformers"]  # vLLM has several builds
    given, heading = begin(_parser(), arguments, **{package: version(package) for package in packages})
    os.environ["RAY_ADDRESS"] = "local"  # a cluster of our own, also where another is running
    lines: list[Compared] = []
    try:
        with tempfile.TemporaryDirectory(prefix="ray_gym_parity_") as output:
            for dtype in given.dtypes:
                names = given.cases or PRECISIONS[dtype].cases
                engine = make_engine(dtype, given.model, given.gpus, given.tensor_parallel)
                lines += measure(engine, names, given.episodes, Path(output), given.same_precision)
    except (MeasurementFailed, RunFailed, UserError) as error:
        say(f"error: {error}")
        return 1
    print(table([line.figures() for line in lines]))
    problems = [problem for line in lines for problem in line.problems()]
    cases = [{**line.figures(), "differences": line.differences} for line in lines]
    heading.write(given.json, cases=cases, problems=problems)
    for problem in problems:
        say(f"error: {problem}")
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parity", description=__doc__)
    parser.add_argument("--episodes", type=positive, default=32, help="episodes a case (default 32)")
    dtypes = "data types that the engine computes in (default: both)"
    parser.add_argument("--dtypes", nargs="+", choices=PRECISIONS, default=list(PRECISIONS), help=dtypes)
    same = "compute again in the engine's data type, not in float32"
    parser.add_argument("--same-precision", action="store_true", help=same)
    cases = "ways of sampling (default: all in float32, three in bfloat16)"
    parser.add_argument("--cases", nargs="+", choices=CASES, help=cases)
    parser.add_argument("--model", default=NAME, help="checkpoint folder (default: the small model)")
    parser.add_argument("--gpus", type=not_negative, default=0, help="GPUs of each rank (default 0: CPU)")
    parser.add_argument("--tensor-parallel", type=positive, default=1, help="ranks of the engine (default 1)")
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
