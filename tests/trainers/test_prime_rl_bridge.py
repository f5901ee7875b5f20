"""prime-rl's own data loader, packing and loss take our files: a checkout of it, in the venv of `make trainer`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import checkout
from handmade import handmade_groups, tiny_model
from trainer_venvs import TrainerVenv

from ray_gym.trainers.prime_rl import TESTED
from ray_gym.trainers.prime_rl.micro_batches import grid_of, write_step
from ray_gym.trainers.rows import rows_of

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1300)]
LIMIT_S = 600


@pytest.mark.parametrize(("ranks", "multiple_of"), [(1, 1), (3, 16)])
def test_its_data_loader_and_loss_take_the_files(
    in_venv_of: Callable[[str], TrainerVenv], tmp_path: Path, ranks: int, multiple_of: int
) -> None:
    folder = checkout("RAY_GYM_PRIME_RL", TESTED[-1])
    venv = in_venv_of("prime_rl")
    rows = [row for group in handmade_groups(tiny_model()) for row in rows_of(group)]
    write_step(tmp_path, 5, grid_of(rows, [1.0] * len(rows), "handmade", ranks, 112 if ranks > 1 else 100, multiple_of))
    arguments = (str(folder), str(tmp_path), "5", str(ranks))
    found = venv.run("prime_rl_scripts/batches.py", *arguments, within_s=LIMIT_S, cwd=tmp_path)
    theirs, ours = found["fields"]
    assert theirs[: len(ours)] == ours and len(ours) == found["required"], "the order of the fields is the format"
    assert found["sequences"] == len(rows) and found["tokens"] == found["generated"]
    assert found["loss"] == pytest.approx(found["expected"], abs=1e-5) and found["gradient"] > 0
    assert found["largest_gap"] < 1e-4, "every ratio is 1"
    assert found["restarts"] and found["temperatures"] == [1.0]
    if ranks == 1:
        assert found["names"] == ["handmade"] and found["read"] == found["own"], "packed as prime-rl packs"
    else:
        assert found["batches"][0] % ranks == 0 and all(tokens % multiple_of == 0 for tokens in found["batches"][1])
