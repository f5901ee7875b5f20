"""Groups become AReaL's trajectories: which tensors, of which types, and what a config must not change."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
import torch
from handmade import handmade_groups, tiny_model

from ray_gym.errors import RunFailed, UserError
from ray_gym.trainers.areal.trajectory import ADVANTAGES_ARE_OURS, check_config, trajectory_of
from ray_gym.trainers.areal.weight_server import KEPT, SavedWeights
from ray_gym.trainers.rows import rows_of


def test_a_group_with_forks_is_one_trajectory_of_padded_rows() -> None:
    rows = rows_of(handmade_groups(tiny_model(), version=3)[0])
    data = trajectory_of(rows)
    assert data is not None
    shape = (5, max(len(row.token_ids) for row in rows))
    assert {name: (tuple(value.shape), value.dtype) for name, value in data.items()} == {
        "input_ids": (shape, torch.int32),
        "attention_mask": (shape, torch.bool),
        "loss_mask": (shape, torch.int32),
        "logprobs": (shape, torch.float32),
        "versions": (shape, torch.int32),
        "rewards": ((5,), torch.float32),
    }
    for number, row in enumerate(rows):
        tokens = len(row.token_ids)
        assert data["attention_mask"][number].tolist() == [n < tokens for n in range(shape[1])]
        for name in ("input_ids", "loss_mask", "logprobs", "versions"):
            own = row.token_ids if name == "input_ids" else getattr(row, name)
            assert data[name][number, :tokens].tolist() == own.tolist()
        assert set(data["versions"][number, tokens:].tolist()) <= {-1}
        assert data["rewards"][number].item() == pytest.approx(row.advantage)


def test_a_group_without_rows_is_rejected() -> None:
    assert trajectory_of([]) is None


def config(**changes: Any) -> Any:
    actor = {**ADVANTAGES_ARE_OURS, "kl_ctl": 0.0, "weight_update_mode": "disk", "use_lora": False}
    given = {"ref": None, "n_samples": 1, **changes}
    gconfig, ref = SimpleNamespace(n_samples=given.pop("n_samples")), given.pop("ref")
    return SimpleNamespace(actor=SimpleNamespace(**{**actor, **given}), gconfig=gconfig, ref=ref)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reward_norm": object()}, "actor.reward_norm"),
        ({"adv_norm": object()}, "actor.adv_norm"),
        ({"reward_bias": -0.5}, "actor.reward_bias: -0.5"),
        ({"reward_scaling": 10.0}, "give 1.0"),
        ({"discount": 0.99}, "actor.discount"),
        ({"kl_ctl": 0.1}, "actor.kl_ctl: 0.1 without a ref"),
        ({"n_samples": 8}, "gconfig.n_samples: 8"),
        ({"weight_update_mode": "xccl"}, "actor.weight_update_mode"),
        ({"use_lora": True}, "use_lora: false"),
    ],
)
def test_a_config_that_would_change_advantages_or_groups_is_refused(changes: dict[str, Any], said: str) -> None:
    check_config(config())
    check_config(config(kl_ctl=0.1, ref=object()))
    with pytest.raises(UserError, match=said):
        check_config(config(**changes))


def saved(root: Path, version: int) -> Path:
    folder = root / "trial" / f"weight_update_v{version}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_text(f"weights {version}")
    return folder


def test_weights_are_loaded_once_from_a_copy_that_outlives_the_trainers(tmp_path: Path) -> None:
    loaded = []
    weights = SavedWeights(tmp_path, lambda version, path: loaded.append((version, path)))
    for version in (1, 2):
        folder = saved(tmp_path, version)
        assert [weights.load(str(folder)) for _ in range(2)] == [version] * 2, "a repeated request changes nothing"
        (folder / "model.safetensors").unlink()
    assert [version for version, _ in loaded] == [1, 2]
    assert (loaded[1][1] / "model.safetensors").read_text() == "weights 2"
    assert [path.name for path in (tmp_path / KEPT).iterdir()] == ["2"], "the last is enough"


def test_a_failed_update_is_not_taken_for_served(tmp_path: Path) -> None:
    fails = [True]

    def update(version: int, path: Path) -> None:
        if fails.pop():
            raise RunFailed("no")

    weights, folder = SavedWeights(tmp_path, update), str(saved(tmp_path, 1))
    with pytest.raises(RunFailed):
        weights.load(folder)
    fails.append(False)
    assert weights.load(folder) == 1


def test_folders_elsewhere_are_refused(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    weights = SavedWeights(root, lambda version, path: None)
    for folder in (
        saved(other, 1),
        root / "trial" / ".." / ".." / "other" / "trial" / "weight_update_v1",
        root / "any",
    ):
        with pytest.raises(UserError, match="no folder weight_update_v"):
            weights.load(str(folder))
