"""A real model plays a customer with private knowledge and tools, and the policy. What either was shown, token for token."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import REPOSITORY, ray_gym

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.envs.customer_service import CustomerService
from ray_gym.envs.customer_service.task import CustomerServiceTask
from ray_gym.load import load

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.models, pytest.mark.timeout(600)]

Row = dict[str, Any]
EPISODES = 16
SIDES = ("policy", "user")
# A sentence a turn: a customer whose message is cut has failed, and is tried again.
CONFIG = """\
environment: {{id: "customer_who_looks:LooksFirst", judge: false}}
tasks: {{generate: {episodes}}}
models:
  small: {{engine: vllm, app: {app}}}
participants:
  policy: {{model: small, sampling: {{temperature: 1.0, max_tokens: 40, stop: [".", "!", "?", ",", "\\n"]}}}}
  user: {{model: small, stop_text: "[END]", sampling: {{temperature: 0.7, max_tokens: 40, stop: [".", "!", "?", ",", "\\n"]}}}}
limits: {{max_turns: 2, max_steps_per_turn: 2, episode_deadline_s: 400, retries: {{user: 8}}}}
fanout: {{workers: 1, concurrency: 16}}
"""


@pytest.fixture(scope="module")
def rows(model_cluster: dict[str, str], small_model_app: str, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    folder = tmp_path_factory.mktemp("privacy")
    config = folder / "customer.yaml"
    config.write_text(CONFIG.format(episodes=EPISODES, app=small_model_app))
    environment = {**model_cluster, "PYTHONPATH": str(REPOSITORY / "tests" / "vllm_model")}
    given = ["run.name=privacy", f"output.dir={folder / 'runs'}"]
    done = ray_gym("rollout", str(config), *given, environment=environment)
    assert done.returncode == 0, done.stderr + done.stdout
    played: list[Row] = load(folder / "runs" / "privacy").episodes.to_pylist()
    assert len(played) == EPISODES
    assert [row["failure"] for row in played if row["failure"] is not None] == []
    return played


def test_every_row_has_a_trajectory_of_each_side_and_an_ordered_one_of_both(rows: list[Row]) -> None:
    for row in rows:
        assert {sample["participant"] for sample in row["samples"]} == set(SIDES)
        for sample in row["samples"]:
            assert sample["trainable"] == (sample["participant"] == "policy")
            assert len(sample["token_ids"]) == len(sample["loss_mask"]) and any(sample["loss_mask"])
        events = row["events"]
        assert [event["seq"] for event in events] == list(range(len(events)))
        assert {event["participant"] for event in events if event["kind"] == "message"} == set(SIDES)
        for event in events:
            if event["kind"] in ("system", "tool_result"):
                assert event["visible_to"] == [event["participant"]]


@pytest.mark.parametrize(("owner", "other"), [SIDES, SIDES[::-1]])
def test_nothing_private_is_among_the_tokens_of_the_other_side(rows: list[Row], owner: str, other: str) -> None:
    from transformers import AutoTokenizer  # slow to import, so not where tests are only collected

    decode = AutoTokenizer.from_pretrained(checkpoint_dir()).decode
    for row in rows:
        own, others = (text_of(row, side, decode) for side in (owner, other))
        private = private_strings(row, owner)
        for text in private:
            assert text in own, f"{owner} was not shown this itself: {text!r}"
            assert text not in others, f"{other} was shown what is {owner}'s: {text!r}"


def text_of(row: Row, side: str, decode: Callable[..., str]) -> str:
    """Returns the decoded text of all samples of a side."""
    samples = [sample["token_ids"] for sample in row["samples"] if sample["participant"] == side]
    return "\n".join(decode(ids, clean_up_tokenization_spaces=False) for ids in samples)


def private_strings(row: Row, owner: str) -> list[str]:
    """Returns what only the owner was shown and did not say aloud: lines of its prompt, its tools and their results."""
    shown = [*prompt_lines(row, owner), *tool_strings(owner), *results(row, owner)]
    if owner == "user":
        task = CustomerServiceTask.model_validate_json(row["task"])
        shown += [task.persona.situation, f"- manner: {task.persona.manner}", task.goal.wish()]
    said = [content_of(event) for event in row["events"] if event["kind"] == "message"]
    private = [text for text in shown if not any(text in words for words in said)]
    assert len(private) > 20, "nearly all of it was said aloud, so nothing would be tested"
    return private


def prompt_lines(row: Row, side: str) -> list[str]:
    (prompt,) = (content_of(e) for e in row["events"] if e["kind"] == "system" and e["participant"] == side)
    return [line for line in prompt.splitlines() if len(line) > 40]


def tool_strings(side: str) -> list[str]:
    """Names, as JSON has them, and descriptions."""
    schemas = [tool.schema for tool in CustomerService.tools.values() if tool.offered_to(side)]
    return [text for schema in schemas for text in (f'"{schema.name}"', schema.description)]


def results(row: Row, side: str) -> list[str]:
    """Returns the results of tools that answer with data. Other results may be meant for both sides, as a photo is."""
    found = [content_of(e) for e in row["events"] if e["kind"] == "tool_result" and e["participant"] == side]
    answers = [text for text in found if text.startswith("{") and isinstance(json.loads(text), dict)]
    assert len(answers) >= 2, "each side has looked something up"
    return answers


def content_of(event: Row) -> str:
    return "".join(part["text"] for part in event["content"])
