"""A state dict becomes a checkpoint once a node, and is gone when nobody uses it any more, however they ended."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from ray_gym.deployments.vllm.node_copy import NodeCopy
from ray_gym.errors import UserError
from ray_gym.weights.manifest import read_manifest

STATE = {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3).T}


def never() -> Mapping[str, Any]:
    raise AssertionError("it is there already")


def test_the_first_writes_it_all_use_it_and_the_last_removes_it(tmp_path: Path) -> None:
    first = NodeCopy(tmp_path, "x", lambda: STATE)
    second = NodeCopy(tmp_path, "x", never)
    assert first.folder == second.folder
    np.testing.assert_array_equal(load_file(first.folder / "model.safetensors")["a.weight"], STATE["a.weight"])
    first.release()
    assert second.folder.exists()
    second.release()
    assert list(tmp_path.iterdir()) == []


def test_tied_tensors_of_torch_are_written_twice(tmp_path: Path) -> None:
    tied = torch.ones(3, 2, dtype=torch.bfloat16)
    copy = NodeCopy(tmp_path, "x", lambda: {"embed.weight": tied, "lm_head.weight": tied, "t.weight": tied.T})
    found = read_manifest(copy.folder).tensors
    assert {name: entry.shape for name, entry in found.items()} == {
        "embed.weight": (3, 2),
        "lm_head.weight": (3, 2),
        "t.weight": (2, 3),
    }
    copy.release()


@pytest.mark.parametrize("state", [{"a": 1}, [1], {"a": np.ones(1), "b": torch.ones(1)}])
def test_what_is_no_state_dict_is_refused_and_leaves_nothing(tmp_path: Path, state: Any) -> None:
    with pytest.raises(UserError, match="state_dict: "):
        NodeCopy(tmp_path, "x", lambda: state)
    assert list(tmp_path.iterdir()) == []


def hold(directory: Path, ready: Any) -> None:
    copy = NodeCopy(directory, "held", lambda: STATE)
    ready.set()
    signal.pause()
    copy.release()


@pytest.mark.chaos
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(tmp_path, ready))
    process.start()
    assert ready.wait(60) and process.pid is not None
    other = NodeCopy(tmp_path, "other", lambda: STATE)
    assert (tmp_path / "held").exists(), "in use"
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    other.release()
    NodeCopy(tmp_path, "third", lambda: STATE).release()
    assert list(tmp_path.iterdir()) == []


def test_one_that_waits_for_a_copy_which_is_removed_makes_its_own(tmp_path: Path) -> None:
    """The lock's file may be unlinked between opening it and getting the lock."""
    first = NodeCopy(tmp_path, "x", lambda: STATE)
    stale = (tmp_path / "x.lock").open("a")
    first.release()
    second = NodeCopy(tmp_path, "x", lambda: STATE)
    fcntl.flock(stale, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of a file that nobody finds any more
    assert second.folder.exists()
    stale.close()
    second.release()
