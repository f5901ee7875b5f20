"""The workflows have bounds and few rights, and run commands that there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from gate import GROUPS, PARTS

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {file.name: file for file in (ROOT / ".github" / "workflows").glob("*.yml")}
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
WRITING = {
    "release.yml": {"image": {"packages"}, "index": {"id-token"}, "github": {"contents"}},
}
"""Rights to write, by workflow and job; no other has any."""


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOWS[name].read_text())
    return found


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in read(name)["jobs"].values() for step in job.get("steps", [])]


def test_there_are_these() -> None:
    assert set(WORKFLOWS) == {"gate.yml", "nightly.yml", "release.yml", "wheel.yml"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_job_ends_in_time_and_may_do_little(name: str) -> None:
    workflow = read(name)
    assert workflow["permissions"] == {"contents": "read"}
    assert "concurrency" in workflow or list(workflow[True]) == ["workflow_call"]  # YAML reads `on` as true
    for job_name, job in workflow["jobs"].items():
        assert "uses" in job or 0 < job["timeout-minutes"] <= 90, job_name
        writes = {right for right, level in job.get("permissions", {}).items() if level == "write"}
        assert writes == WRITING.get(name, {}).get(job_name, set()), job_name


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_and_no_secret_is_asked_for(name: str) -> None:
    text = WORKFLOWS[name].read_text()
    assert "secrets." not in text
    for used in re.findall(r"uses: (\S+)", text):
        assert used.startswith("./.github/workflows/") or re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", used), used


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_text_of_a_stranger_becomes_a_command(name: str) -> None:
    for step in steps(name):
        assert "${{" not in step.get("run", ""), step


@pytest.mark.parametrize("name", WORKFLOWS)
def test_commands_are_there(name: str) -> None:
    for command in (step["run"] for step in steps(name) if "run" in step):
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= TARGETS, command
        assert all((ROOT / file).is_file() for file in re.findall(r"\.ci/[\w.]+", command)), command


def test_the_shards_are_the_groups_of_the_gate() -> None:
    shards = read("gate.yml")["jobs"]["test"]["strategy"]["matrix"]["shard"]
    assert sorted(shard["name"] for shard in shards) == sorted(GROUPS)


def test_the_nightly_parts_are_those_of_the_makefile() -> None:
    """The nightly workflow, the tests and the runner know the same parts; the gate is one of them."""
    [command] = [step["run"] for step in steps("nightly.yml") if step.get("id") == "read"]
    pipeline = command.partition("$(")[2].partition(" | jq")[0]
    found = subprocess.run(["bash", "-ec", pipeline], cwd=ROOT, check=True, capture_output=True, text=True)
    listed = re.findall(r'^    "(\w+)":', (ROOT / ".ci" / "run_parts.py").read_text(), re.MULTILINE)
    assert found.stdout.split() == ["gate", *PARTS] == listed


def test_the_images_are_targets_of_the_container_file() -> None:
    image = read("release.yml")["jobs"]["image"]
    containerfile = (ROOT / "cluster" / "Dockerfile").read_text()
    targets = set(re.findall(r"^FROM \S+ AS (\w+)$", containerfile, re.MULTILINE))
    assert set(image["strategy"]["matrix"]["target"]) == targets - {"base", "page"}
    [build] = [step["with"] for step in image["steps"] if "build-push" in step.get("uses", "")]
    assert (ROOT / build["file"]).is_file() and build["context"] == "."


def test_hooks_run_tools_of_the_lock() -> None:
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in local["hooks"]:
        folder, _, tool = hook["entry"].split()[0].rpartition("/")
        assert folder == ".venv/bin" and Path(sys.executable).with_name(tool).is_file(), hook["id"]
        assert hook["language"] == "system", hook["id"]
