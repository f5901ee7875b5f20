"""Checks what validation measures, and how long it takes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import free_port
from processor import slowness

from ray_gym import Environment, EpisodeFailure, FailureKind, Opening, Task
from ray_gym.data.lengths import LengthSpread, character_ruler, token_ruler
from ray_gym.data.prepared import rows_of
from ray_gym.data.report import report_lines
from ray_gym.data.rows import TaskFile
from ray_gym.data.tasks import generate_tasks
from ray_gym.data.validation import ValidationReport, validate
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.errors import UserError
from ray_gym.plugins import find_environment

SMALL_MODEL = "smollm2-135m-instruct"
ROWS, SECONDS = 10_000, 10.0


def written(path: Path, rows: list[dict[str, Any]]) -> TaskFile:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return TaskFile(path)


def generated_rows(environment: Environment[Any, Any], count: int) -> list[dict[str, Any]]:
    return rows_of(list(generate_tasks(environment, 0, count)))


@pytest.mark.clock
@pytest.mark.parametrize("name", ["mcqa", "workplace_assistant", "calendar"])
def test_ten_thousand_rows_within_ten_seconds(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Any
) -> None:
    """Checks the environments whose rows cost most, and a plain one.

    It measures processor time, so that other load on the machine does not count, and how slow the processor is.
    """
    environment = find_environment(name)()
    file = written(tmp_path / "tasks.jsonl", generated_rows(environment, ROWS))
    slow = slowness()
    began, began_wall = time.process_time(), time.monotonic()
    report = validate(file, environment, character_ruler())
    took, took_wall = time.process_time() - began, time.monotonic() - began_wall
    with capsys.disabled():
        print(f"\n{ROWS:,} rows of {name} in {took:.1f} s of processor time, {took_wall:.1f} s of the clock")
    assert report.good == ROWS and len(report.lengths) == ROWS
    assert took < SECONDS * max(slow, slowness())


class Asked(Task):
    question: str
    ask_a_model: bool = False


class Asking(Environment[Asked, None]):
    participants = ("policy", "user")
    auxiliary = ("author",)

    async def setup(self, task: Asked, episode: Any) -> None:
        if task.ask_a_model:
            await episode.ask("author", "Make something up.")

    def opening(self, task: Asked, state: None) -> Opening:
        return Opening(system={"policy": "12345", "user": "x" * 1000}, messages={"policy": task.question})


def lengths_of(path: Path, *rows: dict[str, Any]) -> ValidationReport:
    return validate(written(path / "tasks.jsonl", list(rows)), Asking(), character_ruler())


def test_what_is_measured_is_what_the_policy_is_shown_first(tmp_path: Path) -> None:
    """The prompt is the system prompt and the opening, or what the row has in their place; never the user's side."""
    earlier = [
        {"role": "system", "content": "1"},
        {"role": "user", "content": "22"},
        {"role": "assistant", "content": "333"},
    ]
    prompts = {"policy": "1" * 50}
    report = lengths_of(
        tmp_path,
        {"question": "1234567"},
        {"question": "", "messages": earlier},
        {"question": "1", "system_prompts": prompts},
    )
    assert report.lengths == [12, 6, 51]
    assert report.spread == LengthSpread(3, 6, 12, 51, 51)
    assert report_lines(report)[-1] == "first prompt of the policy, in characters: min 6, median 12, p95 51, max 51"


class Connected(Asking):
    is_open = False

    async def setup(self, task: Asked, episode: Any) -> None:
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False


def test_what_setting_up_opened_is_closed(tmp_path: Path) -> None:
    environment = Connected()
    report = validate(written(tmp_path / "tasks.jsonl", [{"question": "1"}]), environment, character_ruler())
    assert report.lengths == [6] and not environment.is_open


def test_where_a_model_is_asked_first_nothing_is_measured(tmp_path: Path) -> None:
    report = lengths_of(tmp_path, {"question": "1"}, {"question": "1", "ask_a_model": True})
    assert report.good == 2 and report.lengths == [6]
    assert "  not measured: 1 of 2, which ask a model before the policy is shown anything" in report_lines(report)


def test_an_environment_that_opens_something_outside_is_not_asked_to(tmp_path: Path) -> None:
    """No server listens at the address: a session that began would fail."""
    address = {"base_url": f"http://127.0.0.1:{free_port()}", "retries": 0}
    environment_class = find_environment("nemo_gym")
    rows = [{"responses_create_params": {"input": "12345", "instructions": "678"}}, {"responses_create_params": {}}]
    file = written(tmp_path / "tasks.jsonl", rows)
    report = validate(file, environment_class(environment_class.Options(**address)), character_ruler())
    assert report.lengths == [8]
    assert list(report.bad) == [2] and "input (messages, or one text)" in report.bad[2][0]


class Outage(Environment[Task, None]):
    def setup(self, task: Task, episode: object) -> None:
        raise EpisodeFailure(FailureKind.INFRA, "the library", "nobody listens")


def test_an_outage_is_not_told_as_bad_rows(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no fault of the rows: the library: nobody listens"):
        validate(written(tmp_path / "tasks.jsonl", [{}, {}]), Outage(), character_ruler())


def test_tokens_are_those_of_the_model(tmp_path: Path) -> None:
    """The count includes the marks of the model's chat template, and the tools are counted apart."""
    if not checkpoint_dir().exists():
        pytest.fail(f"no small model at {checkpoint_dir()}: make model")
    environment = find_environment("session_counter")()
    file = written(tmp_path / "tasks.jsonl", [{"expected_count": 1, "request": text} for text in ("one", "one two")])
    report = validate(file, environment, token_ruler(SMALL_MODEL))
    assert report.lengths[1] == report.lengths[0] + 1, "one more word is one more token"
    assert report.lengths[0] > 10
    assert report.tools_length is not None and report.tools_length > 50
    assert f"in tokens of {SMALL_MODEL}: min {report.lengths[0]}" in "\n".join(report_lines(report))
