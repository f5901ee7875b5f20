"""Damage costs the row groups that have it, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from shown_runs import damage, episode, write

from ray_gym.run.directory.intact import intact_batches
from ray_gym.run.directory.location import storage_at


@pytest.mark.parametrize("rows", [7, 10, 1000])
@pytest.mark.parametrize(
    ("damaged", "missing"), [((), ()), ((0,), (10,)), ((1,), (10,)), ((1, 3), (10, 5)), ((3,), (5,))]
)
def test_all_row_groups_but_the_damaged_ones_are_read(
    tmp_path: Path, rows: int, damaged: tuple[int, ...], missing: tuple[int, ...]
) -> None:
    file = write(tmp_path, *(episode(number, 1.0) for number in range(35)), rows_a_group=10)
    for group in damaged:
        damage(file, group)
    damages: list[str] = []
    batches = list(intact_batches(storage_at(str(tmp_path)), file.name, ["episode_id"], rows, damages))
    ids = [one for batch in batches for one in batch.column("episode_id").to_pylist()]
    assert ids == [f"e{number}" for number in range(35) if number // 10 not in damaged]
    assert [line.partition(" ")[0] for line in damages] == [str(count) for count in missing]
    assert all(f"{file.name}: this file of rows is damaged" in line for line in damages)


def test_a_file_without_its_end_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, episode(0, 1.0))
    file.write_bytes(file.read_bytes()[:-9])
    damages: list[str] = []
    assert list(intact_batches(storage_at(str(tmp_path)), file.name, ["episode_id"], 10, damages)) == []
    assert len(damages) == 1 and file.name in damages[0]
