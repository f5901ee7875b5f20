"""Checks in the run itself that what the stream gives is what the model made. A wrong mask, logprob or version fails."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import torch

RATIO = 1e-2
"""Largest distance from 1 of the importance ratio of a token under the weights that it was drawn from."""
FIRST_RATIO = 1e-4
"""The same at the first step, where no rounding but that of float32 passes: bfloat16's is a hundred times this."""
START_KL = 1e-4
"""Largest divergence from the start, in nats, before the first step."""


class CheckFailed(Exception):
    """Says which promise of the data or of the trainer was broken."""


def check_float32(model: Any, step: int) -> None:
    """Checks that a model computes in float32. `step`: for the message. Errors: CheckFailed."""
    types = {parameter.dtype for parameter in model.parameters()}
    if types != {torch.float32}:
        raise CheckFailed(f"step {step}: the trainer's weights are {', '.join(map(str, types))}, not torch.float32")


def check_plain(samples: pa.Table, temperature: float) -> None:
    """Checks that tokens were drawn from the model's whole distribution at a temperature, which the loss computes.

    `samples`: `group.samples`. Errors: CheckFailed.
    """
    for spans in samples.column("spans").to_pylist():
        for span in spans:
            if span["generated"] and span["kind"] != "plain":
                raise CheckFailed(
                    f"a generated span is {span['kind']}, but the loss takes the whole vocabulary: leave out top_p, top_k, "
                    "min_p, penalties and tool_choice in the config of the rollouts"
                )
            if span["generated"] and span["sampling"]["temperature"] != temperature:
                raise CheckFailed(
                    f"tokens were drawn at temperature {span['sampling']['temperature']}, not {temperature}"
                )


def check_ratios(error: float, step: int) -> None:
    """Checks the largest distance from 1 of the ratios of a step's tokens, under their own weights. Errors: CheckFailed."""
    allowed = FIRST_RATIO if step == 0 else RATIO
    if not error <= allowed:
        raise CheckFailed(
            f"step {step}: an importance ratio under a token's own weights is {error:.3g} away from 1, more than {allowed:g}: "
            "its mask, logprob, version or temperature is wrong, or engine and trainer compute in other types"
        )


def check_start(divergence: float, step: int) -> None:
    """Checks that the policy is the start model before its first step. `divergence`: in nats. Errors: CheckFailed."""
    if step == 0 and not abs(divergence) <= START_KL:
        raise CheckFailed(f"step 0: the divergence from the start is {divergence:.3g} nats, more than {START_KL:g}")
