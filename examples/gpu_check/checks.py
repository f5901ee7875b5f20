"""Lists the checks, with the command of each and how its numbers are told in a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Numbers = Mapping[str, Any]
ONE_GPU = "one GPU"


@dataclass(frozen=True, slots=True)
class Check:
    """Describes a check: a module that is run with `--json FILE`, writes its numbers there, and exits with 0 if all holds."""

    name: str
    shows: str
    """Sentence about what is shown if it passes."""
    command: Sequence[str]
    """Words after `python -m`."""
    tell: Callable[[Numbers], str]
    """Function that returns a line on the numbers; "" if there are none. Errors: KeyError, TypeError, ValueError."""
    skipped: str = ""
    """Reason why the check is not made; "" if it is."""
    deadline_s: float = 3600


def checks_for(gpus: int) -> list[Check]:
    """Returns the checks for a machine with so many GPUs; with 0, smaller ones on CPU."""
    each = [] if gpus == 0 else ["--gpus", "1"]

    def size(on_gpus: str, on_cpu: str) -> list[str]:
        return [*each, *(on_gpus if gpus else on_cpu).split()]

    return [
        Check(
            "parity",
            "Recorded logprobs are those of a forward pass of transformers, for every generated token.",
            ["benchmarks.parity", *size("--episodes 32", f"--episodes 8 --dtypes float32 --cases {CPU_CASES}")],
            tell_parity,
        ),
        Check(
            "weight_update",
            "A running engine takes new weights, by a folder and from memory, and its logprobs are theirs.",
            ["examples.gpu_check.weight_update", *size("--episodes 16", "--episodes 4")],
            tell_update,
        ),
        Check(
            "tensor_parallel",
            "Parity holds for an engine of two ranks that share each layer.",
            ["examples.gpu_check.tensor_parallel", *size("--episodes 16", "--episodes 8")],
            tell_parity,
            skipped=ONE_GPU if gpus == 1 else "",
        ),
        Check(
            "episodes",
            "A run of the command line plays to its end, and its samples are sound.",
            ["examples.gpu_check.episodes", *size("--episodes 200", "--episodes 24")],
            tell_episodes,
        ),
        Check(
            "saturation",
            "Rollouts keep an engine as busy as the same requests that are made directly.",
            ["benchmarks.saturation", "--engines", "1", *size("--rounds 4", CPU_SATURATION)],
            tell_saturation,
        ),
    ]


CPU_CASES = "plain-1.0 constrained-0.7-top-p"
CPU_SATURATION = "--rounds 1 --episodes 16 --concurrency 8 --turns 2 --least-tokens 16 --dtype float32"


def tell_parity(numbers: Numbers) -> str:
    """Returns a line on the numbers of `benchmarks.parity`: the worst case of each data type."""
    told = []
    for dtype in dict.fromkeys(case["dtype"] for case in numbers["cases"]):
        cases = [case for case in numbers["cases"] if case["dtype"] == dtype]
        mean, most = (max((case[name] for case in cases), key=float) for name in ("mean", "max"))
        tokens = sum(case["tokens"] for case in cases)
        told.append(f"{dtype}: off by {mean} in the mean, {most} at most ({cases[0]['bound']}), {tokens} tokens")
    return "; ".join(told)


def tell_update(numbers: Numbers) -> str:
    """Returns a line on the numbers of the check of weight updates."""
    phases = ", ".join(f"version {phase['version']} {phase['own']:.1e}" for phase in numbers["phases"])
    others = min(phase["other"] for phase in numbers["phases"])
    seconds = ", ".join(f"{one:.1f}" for one in numbers["update_s"])
    return f"off by {phases} from their own weights, by {others:.1e} or more from the others; updates took {seconds} s"


def tell_episodes(numbers: Numbers) -> str:
    """Returns a line on the numbers of the check that plays episodes."""
    return (
        f"{numbers['completed']} of {numbers['asked']} episodes completed in {numbers['seconds']:.0f} s, "
        f"{numbers['tokens']} generated tokens"
    )


def tell_saturation(numbers: Numbers) -> str:
    """Returns a line on the numbers of `benchmarks.saturation`."""
    speeds = [line["tokens/s"] for line in numbers["lines"] if line["fed by"] == "rollouts"]
    ratios = ", ".join(f"{ratio:.3f}" for ratio in numbers["ratios"].values())
    return ratios and f"{ratios} of the direct speed (least 0.97), {sum(speeds) / len(speeds):.0f} tokens/s"
