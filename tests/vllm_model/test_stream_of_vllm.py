"""Reads a stream while its trainer updates the weights of a real model, and tells the stream of it by nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import run
from stream_weights import BATCH, STALENESS
from tiny_llama import make_llama
from told_versions import Checkpoints, check

pytestmark = [pytest.mark.models, pytest.mark.ray, pytest.mark.engine, pytest.mark.timeout(900)]


def test_the_stream_knows_what_serves(cluster: dict[str, str], tmp_path: Path) -> None:
    for seed, name in enumerate(("first", "second", "third")):
        make_llama(tmp_path / name, seed)
    run("stream_weights.py", tmp_path, tmp_path / "results.json", environment=cluster, within_s=800)
    lives: dict[str, Any] = json.loads((tmp_path / "results.json").read_text())
    first, second = lives["first"], lives["second"]

    for group in first["taken"]:
        assert group["served"] <= group["known"] <= group["version"] + STALENESS, group["number"]
    assert {group["version"] for group in first["taken"][-BATCH:]} == {5}
    assert first["status"]["stale"] > 0 and first["status"]["version"] == 5 == first["cursor"]["version"]
    dropped = [json.loads(path.read_text()) for path in (tmp_path / "runs" / "stream" / "dropped").iterdir()]
    assert {one["reason"] for one in dropped} == {"stale"}

    assert second["began"] == 5 and {group["version"] for group in second["taken"]} == {5}
    numbers = [group["number"] for life in (first, second) for group in life["taken"]]
    assert len(set(numbers)) == len(numbers)

    samples = [sample for life in (first, second) for group in life["taken"] for sample in group["samples"]]
    told = check(samples, Checkpoints(tmp_path, {0: "first", 1: "second", 2: "third", 5: "second"}))
    assert set(np.concatenate(told).tolist()) == {0, 1, 2, 5}
