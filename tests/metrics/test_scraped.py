"""Reads a run on a real cluster as Prometheus does, from the node's own endpoint, found where Ray tells it to look."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest import REPOSITORY, eventually, ray_gym
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from ray_gym.load import load
from ray_gym.metrics.table import (
    EPISODES_COMMITTED,
    GENERATED_TOKENS,
    JOURNAL_WRITTEN,
    LOOP_LAG,
    MODEL_CALL,
    STEP,
    TABLE,
)

pytestmark = pytest.mark.ray
Sums = dict[str, dict[tuple[tuple[str, str], ...], float]]


def samples(cluster: dict[str, str]) -> Iterator[Sample]:
    """Yields all samples that all nodes export now."""
    token = {"Authorization": f"Bearer {cluster['RAY_AUTH_TOKEN']}"}
    found = httpx.get(f"{cluster['RAY_GYM_TEST_JOBS']}/api/prometheus/sd", headers=token, timeout=60).json()
    for target in {target for group in found for target in group["targets"]}:
        for family in text_string_to_metric_families(httpx.get(f"http://{target}/metrics", timeout=60).text):
            yield from family.samples


def scraped(cluster: dict[str, str]) -> Sums:
    """The sums of all our series over nodes and processes, by name and our own labels."""
    labels = {label for metric in TABLE for label in metric.labels}
    sums: Sums = defaultdict(lambda: defaultdict(float))
    for sample in samples(cluster):
        if sample.name.startswith("ray_gym_"):
            own = tuple(sorted((key, value) for key, value in sample.labels.items() if key in labels))
            sums[sample.name][own] += sample.value
    return sums


@pytest.mark.first
@pytest.mark.runs
def test_the_totals_that_are_scraped_are_those_of_the_rows(cluster: dict[str, str], tmp_path: Path) -> None:
    lasting = "models.random.delay_s=0.2"  # long enough for the workers to look at their loops
    overrides = ["tasks.limit=8", "tasks.repeats=2", lasting, "log.level=debug", f"output.dir={tmp_path}"]
    done = ray_gym("rollout", "configs/tic_tac_toe_scripted.yaml", "--log", "json", *overrides, environment=cluster)
    assert done.returncode == 0 and not done.stdout, done.stderr + done.stdout
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    (run,) = {line["run"] for line in lines}
    rows = load(tmp_path / run).episodes.to_pylist()
    told = {(line["episode"], line["attempt"]) for line in lines if line["message"].startswith("committed with ")}
    assert told == {(row["episode_id"], row["attempt"]) for row in rows} and len(rows) == 16
    assert lines[-1]["message"] == "the run has ended" and lines[-1]["episodes"] == 16

    due = Counter((row["env_id"], row["status"], row["stop_reason"]) for row in rows)
    calls = sum(row["usage"]["model_calls"] for row in rows)

    def is_there() -> Sums | None:
        sums = scraped(cluster)
        whole = sum(sums[EPISODES_COMMITTED.name].values()) >= len(rows)
        return sums if whole and sums[f"{MODEL_CALL.name}_count"] else None

    sums = eventually(is_there, within_s=60)
    ends = {tuple(value for _, value in labels): count for labels, count in sums[EPISODES_COMMITTED.name].items()}
    assert ends == due
    assert sum(sums[f"{MODEL_CALL.name}_count"].values()) == calls
    steps = sums[f"{STEP.name}_count"]
    assert sum(steps.values()) == calls
    assert {dict(labels)["participant"] for labels in steps} == {"policy", "user"}
    assert sum(sums[GENERATED_TOKENS.name].values()) == sum(row["usage"]["generated_tokens"] for row in rows)
    assert {dict(labels)["role"] for labels in sums[f"{LOOP_LAG.name}_count"]} == {"worker", "driver"}
    assert sum(sums[JOURNAL_WRITTEN.name].values()) > 0
    known = {name for metric in TABLE for name in metric.series}
    assert set(sums) <= known


@pytest.mark.engine
@pytest.mark.timeout(900)
@pytest.mark.models
def test_engines_export_what_the_page_and_the_dashboard_name(
    model_cluster: dict[str, str], small_model_app: str, tmp_path: Path
) -> None:
    named = set[str]()
    for file in ("docs/metrics.md", "cluster/grafana/ray_gym.json"):
        named |= (here := set(re.findall(r"\bray_vllm_\w*\w", (REPOSITORY / file).read_text())))
        assert here, file
    overrides = [f"models.small.app={small_model_app}", "tasks.limit=2", "tasks.repeats=2", f"output.dir={tmp_path}"]
    done = ray_gym("rollout", "configs/tic_tac_toe.yaml", *overrides, environment=model_cluster)
    assert done.returncode == 0, done.stderr + done.stdout
    (run,) = tmp_path.iterdir()
    generated = sum(row["usage"]["generated_tokens"] for row in load(run).episodes.to_pylist())

    def counted() -> set[str] | None:
        found = [sample for sample in samples(model_cluster) if sample.labels.get("model_name") == "small"]
        tokens = sum(sample.value for sample in found if sample.name == "ray_vllm_generation_tokens_total")
        return {sample.name for sample in found} if tokens >= generated > 0 else None

    there = eventually(counted, within_s=60)
    there |= {name.removesuffix("_count") for name in there}  # what the page calls a histogram
    seldom = {"ray_vllm_num_preemptions_total"}  # a counter is not there before it has counted something
    assert named - seldom <= there, named - there
