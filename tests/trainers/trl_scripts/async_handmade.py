"""Trains with TRL's AsyncGRPOTrainer on groups made by hand: `async_handmade.py FOLDER STEPS [KEY=VALUE ...]`.
With `STEPS` 0, the trainer's model has other shapes than the stream's. Keys: `token_budget` and `max_staleness` of TRL's
config, and `pushes`, with which a stand-in of TRL's own transfer moves the weights if it is 0.

Prints the trainer's log, the loss that the first step has to have by our own advantages, and which groups were delivered
and acknowledged at each checkpoint, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import cpu_attention
import numpy as np
import torch
from handmade import save_tiny, tiny_tokenizer
from handmade_stream import HandmadeStream
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

from ray_gym.errors import UserError
from ray_gym.stream.group import Group
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.trl import AsyncRollouts, placeholder_dataset

ROWS = 6
"""Rows of a micro-batch. Two of them make a step, so that groups, of 4 and 5 rows, lie across steps."""


def expected_loss(groups: list[Group]) -> float:
    """Returns the loss at ratio 1: the mean over micro-batches of the mean over tokens of minus the advantage."""
    rows = [row for group in groups for row in rows_of(group)]
    losses = []
    for batch in (rows[:ROWS], rows[ROWS : 2 * ROWS]):
        tokens = np.array([row.generated for row in batch])
        losses.append(-(tokens * [row.advantage for row in batch]).sum() / tokens.sum())
    return float(np.mean(losses))


class OwnTransfer:
    """Stands in for TRL's transfer to its own vLLM server, which needs NCCL: the stream's model takes the weights."""

    def __init__(self, stream: HandmadeStream) -> None:
        self._weights = stream.weights("policy")

    def init_weight_transfer(self) -> None: ...

    def pause(self) -> None: ...

    def send_weights(self, iterator: Iterator[tuple[str, torch.Tensor]]) -> None:
        self._weights.update(self._weights.version + 1, state_dict={name: each.clone() for name, each in iterator})

    def resume(self) -> None: ...

    def destroy(self) -> None: ...


def main(folder: Path, steps: int, *, token_budget: int = -1, max_staleness: int = 2, pushes: int = 1) -> None:
    cpu_attention.install()
    stream = HandmadeStream(save_tiny(folder / "tiny"), max_staleness=2)
    rollouts = AsyncRollouts(stream, pushes=bool(pushes))
    args = AsyncGRPOConfig(
        output_dir=str(folder / "trainer"),
        per_device_train_batch_size=ROWS,
        gradient_accumulation_steps=2,
        max_steps=max(1, steps),
        token_budget=token_budget,
        learning_rate=1e-3,
        max_staleness=max_staleness,
        save_steps=1,
        logging_steps=1,
        use_cpu=True,
        bf16=False,
        report_to=[],
        gradient_checkpointing=False,
        disable_tqdm=True,
    )
    trainer = AsyncGRPOTrainer(
        model=str(folder / "tiny"),
        args=args,
        train_dataset=placeholder_dataset(),
        processing_class=tiny_tokenizer(),
        rollout_worker=rollouts.worker,
        weight_transfer=rollouts.transfer or OwnTransfer(stream),
    )
    rollouts.attach(trainer)
    if not steps:
        trainer.model.get_output_embeddings().weight = torch.nn.Parameter(torch.zeros(300, 64))
    try:
        trainer.train()
    except UserError as error:
        print(json.dumps({"refused": str(error), "version": stream.version}))
        return
    saved = [json.loads(path.read_text()) for path in sorted((folder / "trainer").glob("*/ray_gym_cursor.json"))]
    found = {
        "log": [entry for entry in trainer.state.log_history if "ratio" in entry],
        "expected": expected_loss(stream.delivered),
        "rows": [len(rows_of(group)) for group in stream.delivered],
        "saved": saved,
        "told": stream.told,
        "acknowledged": stream.acknowledged,
        "open": len(stream.delivered) - len(stream.acknowledged),
        "collated": sorted(trainer._trained_groups),
        "version": stream.version,
        "counts": rollouts.worker.counts,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    given = dict(argument.split("=") for argument in sys.argv[3:])
    main(Path(sys.argv[1]), int(sys.argv[2]), **{key: int(value) for key, value in given.items()})
