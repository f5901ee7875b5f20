"""Makes micro-batches of prime-rl of rows, and writes those of a step to the files that its trainer reads.

A micro-batch is a msgspec struct as an array, so that the order of its fields is the format. Fields that follow are
optional, and belong to images, reference models and distillation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ray_gym.trainers.rows import Row

PADDING = 1
"""Token id of what fills a micro-batch up; it is not trained on."""


class MicroBatch(msgspec.Struct, array_like=True):
    """A micro-batch holds token sequences one after another. All fields but the lengths have an entry a token."""

    input_ids: list[int]
    loss_mask: list[bool]
    advantages: list[float]
    inference_logprobs: list[float]
    position_ids: list[int]
    """Position of each token in its sequence, from 0."""
    sequence_lengths: list[int]
    temperatures: list[float]
    env_names: list[str]
    seq_lens: list[int]
    """Equal to `sequence_lengths`; they differ where samples have images."""


def grid_of(
    rows: Sequence[Row],
    temperatures: Sequence[float],
    environment: str,
    ranks: int,
    most_tokens: int,
    multiple_of: int = 1,
) -> list[list[MicroBatch]]:
    """Packs rows into micro-batches of at most `most_tokens` tokens, and returns those of each rank, of equal number.

    Rows are packed by first fit, the longest first, and whole. `temperatures`: one for each row. `ranks`: number of
    data-parallel ranks. `multiple_of`: number that divides the tokens of each micro-batch; it has to divide
    `most_tokens`. A rank without enough gets a micro-batch that trains nothing. Errors: ValueError for a row that is
    longer.
    """
    bins: list[list[int]] = []
    for number in sorted(range(len(rows)), key=lambda n: -len(rows[n].token_ids)):
        if len(rows[number].token_ids) > most_tokens:
            raise ValueError(
                f"{rows[number].episode_id}: {len(rows[number].token_ids)} tokens, at most {most_tokens} fit"
            )
        room = (one for one in bins if _tokens(rows, one) + len(rows[number].token_ids) <= most_tokens)
        found = next(room, None)
        if found is None:
            bins.append([number])
        else:
            found.append(number)
    grid: list[list[MicroBatch]] = [[] for _ in range(ranks)]
    for place, numbers in enumerate(sorted(bins, key=lambda one: -_tokens(rows, one))):
        chosen, drawn_at = [rows[n] for n in numbers], [temperatures[n] for n in numbers]
        grid[place % ranks].append(_padded(_packed(chosen, drawn_at, environment), multiple_of))
    for of_rank in grid:
        if len(of_rank) < len(grid[0]):
            of_rank.append(_without_loss(grid[0][0]))
    return grid


def write_step(folder: Path, step: int, grid: Sequence[Sequence[MicroBatch]]) -> None:
    """Writes the micro-batches of each rank below prime-rl's run directory, as its trainer waits for them."""
    of_step = folder / "rollouts" / f"step_{step}"
    of_step.mkdir(parents=True, exist_ok=True)
    for rank, batches in enumerate(grid):
        scratch = of_step / f"rank_{rank}.bin.tmp"
        scratch.write_bytes(msgspec.msgpack.encode(list(batches)))
        scratch.rename(of_step / f"rank_{rank}.bin")


def _tokens(rows: Sequence[Row], numbers: Sequence[int]) -> int:
    return sum(len(rows[number].token_ids) for number in numbers)


def _packed(rows: Sequence[Row], temperatures: Sequence[float], environment: str) -> MicroBatch:
    lengths = [len(row.token_ids) for row in rows]
    return MicroBatch(
        input_ids=[int(token) for row in rows for token in row.token_ids],
        loss_mask=[bool(mask) for row in rows for mask in row.loss_mask],
        advantages=[row.advantage * int(mask) for row in rows for mask in row.loss_mask],
        inference_logprobs=[float(logprob) for row in rows for logprob in row.logprobs],
        position_ids=[position for length in lengths for position in range(length)],
        sequence_lengths=lengths,
        temperatures=[drawn_at for drawn_at, length in zip(temperatures, lengths, strict=True) for _ in range(length)],
        env_names=[environment] * sum(lengths),
        seq_lens=list(lengths),
    )


def _padded(batch: MicroBatch, multiple_of: int) -> MicroBatch:
    """Adds tokens that are not trained on to the last sequence, as prime-rl does."""
    missing = -len(batch.input_ids) % multiple_of
    if missing:
        batch.input_ids += [PADDING] * missing
        batch.loss_mask += [False] * missing
        batch.advantages += [0.0] * missing
        batch.inference_logprobs += [0.0] * missing
        batch.position_ids += range(missing)
        batch.temperatures += [1.0] * missing
        batch.env_names += [""] * missing
        batch.sequence_lengths[-1] += missing
        batch.seq_lens[-1] += missing
    return batch


def _without_loss(batch: MicroBatch) -> MicroBatch:
    """Returns a copy of a micro-batch that trains nothing."""
    tokens = len(batch.input_ids)
    return msgspec.structs.replace(batch, loss_mask=[False] * tokens, advantages=[0.0] * tokens)
