"""Plays two lines of adapters on one engine: every token is what its line's adapter of its version says.

The lines have the same version numbers with different adapters, so a token of the other line's would be found.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import run
from tiny_llama import make_adapter, make_llama, merged
from told_versions import Checkpoints, check

pytestmark = [pytest.mark.models, pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    for seed, name in enumerate(("first", "second")):
        make_llama(folder / name, seed)
    for seed, name in enumerate(("a", "b", "c"), 4):
        merged(folder / "first", make_adapter(folder / name, seed), folder / f"first_{name}")
    merged(folder / "second", folder / "b", folder / "second_b")
    return folder


@pytest.fixture(scope="module")
def played(folder: Path, cluster: dict[str, str]) -> dict[str, Any]:
    run("update_lines.py", folder, folder / "results.json", environment=cluster, within_s=1200)
    scenes: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return scenes


def told(scene: dict[str, Any], line: str, folder: Path, names: dict[int, str]) -> set[int]:
    """Checks every token of a line's conversations, and returns the versions that they came from."""
    talks = scene["talks"][line]
    assert talks["failures"] == []
    samples = [sample for thread in talks["threads"] for sample in thread]
    return set(np.concatenate(check(samples, Checkpoints(folder, names))).tolist())


def test_lines_with_the_same_versions_generate_with_their_own_adapters(played: dict[str, Any], folder: Path) -> None:
    scene = played["apart"]
    assert told(scene, "policy", folder, {0: "first", 1: "first_a", 2: "first_c"}) == {0, 1, 2}
    assert told(scene, "user", folder, {0: "first", 1: "first_b"}) == {0, 1}
    assert scene["versions"] == {"policy": 2, "user": 1}


def test_what_a_line_does_not_take_is_refused(played: dict[str, Any]) -> None:
    refusals = played["refusals"]
    assert "the line user takes adapters only" in refusals["path"]
    assert refusals["unknown"].startswith("line: the model has no line 'usr'; it has policy, user")
    assert refusals["version"] == "version: 1 is not greater than 1, which the line user serves"
    assert refusals["below"] == "version: 2 is not greater than 2, which the line policy serves"


def test_a_replica_that_was_killed_comes_back_with_both_lines(played: dict[str, Any], folder: Path) -> None:
    scene = played["killed"]
    assert told(scene, "policy", folder, {2: "first_c"}) == {2} and told(scene, "user", folder, {1: "first_b"}) == {1}
    assert scene["versions"] == {"policy": 2, "user": 1}


def test_other_weights_below_take_the_adapters_away(played: dict[str, Any], folder: Path) -> None:
    scene = played["below"]
    assert told(scene, "policy", folder, {2: "first_c", 3: "second"}) == {2, 3}
    assert told(scene, "user", folder, {1: "first_b", 3: "second", 4: "second_b"}) == {1, 3, 4}
    assert scene["versions"] == {"policy": 3, "user": 4}
