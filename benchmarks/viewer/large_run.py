"""Writes a run of 100,000 episodes, of which each has 20 events."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa

from benchmarks.viewer.made_rows import episode, event, sample
from ray_gym.record.schema import as_table
from ray_gym.run.directory.parquet import write_rows

EVENTS, IN_A_FILE, KINDS_OF_FILES = 20, 250, 8
NEEDLE = "needle"
"""Word that one episode in a hundred has."""
WORDS = [
    *("the", "order", "shelf", "tea", "coffee", "late", "refund", "policy", "customer"),
    *("please", "check", "number", "return", "status", "box", "parcel", "door"),
]


def write_large_run(run: Path, episodes: int) -> None:
    """Writes a run of made episodes, in files of 250. Some of their texts are the same."""
    rng = random.Random(0)
    (run / "episodes").mkdir(parents=True)
    kinds = [_rows_of_a_file(rng, has_needle=number % 2 == 1) for number in range(KINDS_OF_FILES)]
    for file in range(episodes // IN_A_FILE):
        with (run / "episodes" / f"part-{file + 1:08d}-a.parquet").open("wb") as out:
            write_rows(_with_ids(kinds[file % KINDS_OF_FILES], file, rng), out)


def write_long_sample(run: Path, tokens: int) -> None:
    """Writes a run of one episode, `e0`, whose sample has so many tokens."""
    (run / "episodes").mkdir(parents=True)
    with (run / "episodes" / "part-00000001-a.parquet").open("wb") as out:
        write_rows(as_table([episode(0, samples=[sample(tokens, tokens // 2)])]), out)


def _rows_of_a_file(rng: random.Random, has_needle: bool) -> pa.Table:
    rows = []
    for number in range(IN_A_FILE):
        said = [" ".join(rng.choices(WORDS, k=25)) for _ in range(EVENTS)]
        if has_needle and number % 50 == 0:
            said[0] += f" {NEEDLE}"
        events = [
            event(at, "message" if at % 2 else "tool_result", text, "policy" if at % 4 < 2 else "user")
            for at, text in enumerate(said)
        ]
        reward = None if rng.random() < 0.03 else round(rng.random(), 3)
        samples = [] if reward is None else [sample(300, 100, version=rng.randrange(40))]
        rows.append(episode(number, reward, events=events, samples=samples, turns=rng.randint(1, 10)))
    return as_table(rows)


def _with_ids(table: pa.Table, file: int, rng: random.Random) -> pa.Table:
    """Returns the rows of a file under ids of their own."""
    numbers = range(file * IN_A_FILE, (file + 1) * IN_A_FILE)
    ids = {
        "episode_id": [f"{rng.getrandbits(128):032x}" for _ in numbers],
        "task_id": [f"t{number // 8}" for number in numbers],
        "group_id": [f"g{number // 8}" for number in numbers],
    }
    for name, values in ids.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values).cast(table.schema.field(at).type))
    return table
