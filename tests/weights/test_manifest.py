"""Checks what the headers of a checkpoint tell: what is in it, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from ray_gym.errors import UserError
from ray_gym.weights.manifest import INDEX, TensorEntry, differences, read_manifest, summary
from ray_gym.weights.settings import setting_differences

TENSORS = {"a.weight": np.ones((2, 3), np.float32), "b.weight": np.ones(4, np.float16)}


def checkpoint(folder: Path, tensors: dict[str, Any] | None = None, config: dict[str, Any] | None = None) -> Path:
    folder.mkdir()
    save_file(TENSORS if tensors is None else tensors, folder / "model.safetensors")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def sharded(folder: Path) -> Path:
    folder.mkdir()
    for n, (name, tensor) in enumerate(TENSORS.items()):
        save_file({name: tensor}, folder / f"part-{n}.safetensors")
    listed = {name: f"part-{n}.safetensors" for n, name in enumerate(TENSORS)}
    (folder / INDEX).write_text(json.dumps({"weight_map": listed}))
    return folder


def test_a_manifest_is_what_safetensors_wrote(tmp_path: Path) -> None:
    expected = {
        "a.weight": TensorEntry("F32", (2, 3), "model.safetensors"),
        "b.weight": TensorEntry("F16", (4,), "model.safetensors"),
    }
    assert read_manifest(checkpoint(tmp_path / "one")).tensors == expected
    parts = read_manifest(sharded(tmp_path / "parts"))
    assert (
        differences(read_manifest(tmp_path / "one"), parts) == []
        and parts.tensors["b.weight"].file == "part-1.safetensors"
    )


@pytest.mark.parametrize("kept", [0, 7, 8, 40, -1])
def test_every_truncation_is_seen(tmp_path: Path, kept: int) -> None:
    file = checkpoint(tmp_path / "cut") / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:kept])
    with pytest.raises(UserError, match="cut off") as raised:
        read_manifest(file.parent)
    assert str(file) in str(raised.value)


def test_a_file_may_be_cut_anywhere_and_is_never_taken(tmp_path: Path) -> None:
    file = checkpoint(tmp_path / "cut") / "model.safetensors"
    whole = file.read_bytes()
    for kept in range(len(whole)):
        file.write_bytes(whole[:kept])
        with pytest.raises(UserError):
            read_manifest(file.parent)
    file.write_bytes(whole + b"x")
    with pytest.raises(UserError, match="1 bytes after its last tensor"):
        read_manifest(file.parent)


def _header(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        file = folder / "model.safetensors"
        whole = file.read_bytes()
        length = int.from_bytes(whole[:8], "little")
        header = json.loads(whole[8 : 8 + length])
        header = change(header) or header
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + length :])

    return rewrite


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_header(lambda header: b"{nonsense"), "its header is no JSON"),
        (_header(lambda header: b"[1, 2]"), "no JSON object"),
        (_header(lambda header: header["a.weight"].pop("shape") and None), "does not describe a.weight"),
        (_header(lambda header: header["a.weight"].update(shape=[3, 3])), "a.weight .F32, .3, 3.. has 24 bytes"),
        (_header(lambda header: header["a.weight"].update(shape=[-2, -3])), "which is none"),
        (_header(lambda header: header["a.weight"].update(dtype="F31")), "unknown type 'F31'"),
        (_header(lambda header: header["a.weight"].update(data_offsets=[8, 32])), "begins at byte 8|begins at byte 0"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no .safetensors files"),
        (lambda folder: (folder / INDEX).write_text("{}"), "no index"),
        (lambda folder: (folder / INDEX).write_text('{"weight_map": {"a": "../x.safetensors"}}'), "not a file of this folder"),
        (lambda folder: (folder / INDEX).write_text('{"weight_map": {"a": "gone.safetensors"}}'), "No such file"),
        (lambda folder: (folder / INDEX).write_text('{"weight_map": {"c": "model.safetensors"}}'), "where it is not"),
        (lambda folder: save_file({"a.weight": np.ones(1)}, folder / "more.safetensors"), "a.weight is in model.safetensors, too"),
    ],
)  # fmt: skip
def test_files_that_are_no_checkpoint_are_named(tmp_path: Path, spoil: Callable[[Path], Any], told: str) -> None:
    folder = checkpoint(tmp_path / "bad")
    spoil(folder)
    with pytest.raises(UserError, match=told) as raised:
        read_manifest(folder)
    assert str(folder) in str(raised.value)


def test_differences_name_tensor_file_and_how(tmp_path: Path) -> None:
    expected = read_manifest(checkpoint(tmp_path / "expected"))
    given = {"a.weight": np.ones((3, 2), np.float32), "c.weight": np.ones(1, np.float32)}
    found = differences(expected, read_manifest(checkpoint(tmp_path / "given", given)))
    file = tmp_path / "given" / "model.safetensors"
    assert found == [
        f"{file}: a.weight has the shape [3, 2], the model's has [2, 3]",
        f"{file}: the model has no c.weight",
        f"{tmp_path / 'given'}: b.weight is missing",
    ]
    assert summary(found * 3).endswith("; and 4 more")


def test_floating_types_are_cast_and_others_are_not(tmp_path: Path) -> None:
    expected = read_manifest(checkpoint(tmp_path / "expected"))
    floats = {name: tensor.astype(np.float64) for name, tensor in TENSORS.items()}
    assert differences(expected, read_manifest(checkpoint(tmp_path / "floats", floats))) == []
    whole = {**TENSORS, "b.weight": np.ones(4, np.int8)}
    (found,) = differences(expected, read_manifest(checkpoint(tmp_path / "whole", whole)))
    assert found.endswith("b.weight is I8, the model's is F16")


@pytest.mark.parametrize("ties", [True, False])
def test_a_tied_head_may_be_in_the_files_or_not(tmp_path: Path, ties: bool) -> None:
    config = {"tie_word_embeddings": ties}
    with_head = {**TENSORS, "lm_head.weight": np.ones(2, np.float32)}
    one = read_manifest(checkpoint(tmp_path / "one", config=config))
    two = read_manifest(checkpoint(tmp_path / "two", with_head, config))
    assert (differences(one, two) == []) == (differences(two, one) == []) == ties


def test_settings_that_change_what_is_computed_are_compared(tmp_path: Path) -> None:
    one = checkpoint(tmp_path / "one", config={"rms_norm_eps": 1e-6, "torch_dtype": "float32", "vocab_size": 8})
    two = checkpoint(tmp_path / "two", config={"rms_norm_eps": 1e-5, "torch_dtype": "bfloat16", "more": 1})
    assert setting_differences(one, two) == [f"{two / 'config.json'}: rms_norm_eps is 1e-05, the model's is 1e-06"]
    assert setting_differences(one, checkpoint(tmp_path / "none")) == []
