"""Chains of tool calls: the last list that was handed over is the answer, in its order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import call_of, generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym import Message
from ray_gym.config.file import read_config
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.multi_step import MultiStep
from ray_gym.envs.multi_step.environment import MOST, SynonymsTask
from ray_gym.envs.multi_step.thesaurus import THESAURUS, value_of
from ray_gym.play.play import Played

EXAMPLES = Path(__file__).parents[2] / "envs" / "multi_step" / "example.jsonl"
CONFIG = Path(__file__).parents[2] / "configs" / "multi_step.yaml"
TASK = SynonymsTask(word="cab", synonyms=("ab", "c", "bb"))  # worth 195, 99 and 196


def extract(*values: int) -> Message:
    return hand_over(json.dumps({"synonym_values": values}))


def hand_over(arguments: str) -> Message:
    return call_of("extract_synonym_values", arguments)


def parts_of(played: Played) -> tuple[float, float, float]:
    assert played.score is not None
    return reward_of(played), played.score.parts["overlap"], played.score.parts["order_failure"]


async def test_the_perfect_player_is_right_on_every_generated_task() -> None:
    environment = MultiStep()
    for index in range(200):
        task = generated(environment, index)
        played = await play_task(environment, task)
        assert parts_of(played) == (1, 1, 0)
        assert played.episode.usage.tool_calls == len(task.synonyms) + 1 and played.episode.usage.tool_errors == 0


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((extract(195, 99, 196), "Done."), (1, 1, 0)),
        ((extract(1), extract(195, 99, 196), "Done."), (1, 1, 0)),
        ((extract(195, 99, 196), hand_over('{"synonym_values": ["195"]}'), "Done."), (1, 1, 0)),
        ((extract(195, 99, 196), extract(195, 99), "Done."), (0, 2 / 3, 0)),
        ((extract(99, 195, 196), "Done."), (0, 1, 1)),
        ((extract(196, 99, 195), "Done."), (0, 1, 1)),
        ((extract(195, 99), "Done."), (0, 2 / 3, 0)),
        ((extract(195, 99, 196, 294), "Done."), (0, 3 / 4, 0)),
        ((extract(195, 99, 196, 196), "Done."), (0, 1, 0)),
        ((extract(195, 195, 99, 196), "Done."), (0, 1, 0)),
        ((extract(1, 2, 3), "Done."), (0, 0, 0)),
        ((extract(), "Done."), (0, 0, 0)),
        ((hand_over('{"synonym_values": ["195", "99", "196"]}'), "Done."), (0, 0, 0)),
        ((hand_over('{"synonym_values": [195.0, 99, 196]}'), "Done."), (0, 0, 0)),
        ((hand_over('{"synonym_values": "195, 99, 196"}'), "Done."), (0, 0, 0)),
        ((hand_over("[195, 99, 196]"), "Done."), (0, 0, 0)),
        (("The values are [195, 99, 196].",), (0, 0, 0)),
        ((call_of("get_synonym_value", '{"synonym": "ab"}'), "195, 99, 196"), (0, 0, 0)),
    ],
)
async def test_the_last_list_that_was_handed_over_counts(
    said: tuple[str | Message, ...], expected: tuple[float, float, float]
) -> None:
    played = await play_task(MultiStep(), TASK, {"policy": says(*said)}, limits={"max_turns": 1})
    assert parts_of(played) == expected
    verdict = next(event for event in played.episode.events if event.kind == "verdict")
    assert "expected [195, 99, 196]" in verdict.content and verdict.reward == expected[0]


async def test_a_long_list_is_cut_in_the_verdict() -> None:
    played = await play_task(MultiStep(), TASK, {"policy": says(extract(*range(5_000)), "Done.")})
    (verdict,) = [event.content for event in played.episode.events if event.kind == "verdict"]
    assert len(verdict) < 400 and "handed over [0, 1, 2" in verdict and verdict.endswith("expected [195, 99, 196]")


async def test_what_the_tools_answer() -> None:
    calls = (call_of("get_synonym_value", '{"synonym": "bb"}'), extract(196), "Done.")
    played = await play_task(MultiStep(), TASK, {"policy": says(*calls)}, limits={"max_turns": 1})
    results = [json.loads(event.content) for event in played.episode.events if event.kind == "tool_result"]
    assert results == [{"synonym": "bb", "value": 196}, {"received": [196]}]
    (question,) = [event.content for event in played.episode.events if event.kind == "opening"]
    assert question == "Word: cab\nSynonyms: ab, c, bb"


async def test_the_config_leaves_room_for_the_longest_task_and_for_its_end() -> None:
    """Where every message had to be a call, the right list would be followed by others."""
    config = read_config(CONFIG)
    assert config.participants["policy"].tool_choice == "auto"
    synonyms = THESAURUS["brave"][:MOST]
    played = await play_task(
        MultiStep(), SynonymsTask(word="brave", synonyms=synonyms), limits=config.limits.model_dump()
    )
    assert len(synonyms) == MOST and reward_of(played) == 1 and played.episode.answer == "Done."


def begun(arguments: str, answer: str) -> list[dict[str, Any]]:
    """Returns a conversation in which a list was handed over, or nearly so."""
    call = {"id": "a", "name": "extract_synonym_values", "arguments": arguments}
    return [
        {"role": "user", "content": "Word: cab\nSynonyms: ab, c, bb"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": answer},
        {"role": "assistant", "content": "Is that all?"},
        {"role": "user", "content": "Look again."},
    ]


RIGHT_LIST = '{"synonym_values": [195, 99, 196]}'


@pytest.mark.parametrize(
    ("arguments", "answer", "said", "reward"),
    [
        (RIGHT_LIST, '{"received": [195, 99, 196]}', ("It is.",), 1),
        (RIGHT_LIST, '{"error": "not now"}', ("It is.",), 0),
        (RIGHT_LIST, '{"received": [195, 99, 196]}', (extract(1), "It is."), 0),
        ('{"synonym_values": [1]}', '{"received": [1]}', (extract(195, 99, 196), "It is."), 1),
    ],
)
async def test_what_was_handed_over_earlier_counts_until_another_list_is(
    arguments: str, answer: str, said: tuple[str | Message, ...], reward: float
) -> None:
    row = {"word": "cab", "synonyms": ["ab", "c", "bb"], "messages": begun(arguments, answer)}
    task = SynonymsTask.model_validate(row)
    played = await play_task(MultiStep(), task, {"policy": says(*said)}, limits={"max_turns": 1})
    assert reward_of(played) == reward
    assert reward_of(await play_task(MultiStep(), task)) == 1, "by the perfect player"


async def test_the_example_rows_are_played() -> None:
    rows = read_tasks(TasksSection(path=str(EXAMPLES)), MultiStep(), 0, Path())
    assert [row.task_id for row in rows] == [f"multi_step-{index}" for index in range(5)]
    for row in rows:
        assert parts_of(await play_task(MultiStep(), SynonymsTask.model_validate_json(row.task))) == (1, 1, 0)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"word": "big", "synonyms": []}, "at least 1 item"),
        ({"word": "big", "synonyms": ["large", "huge", "large"]}, "'large' is there twice"),
        ({"word": "big", "synonyms": ["large", ""]}, "at least 1 character"),
        ({"word": "", "synonyms": ["large"]}, "at least 1 character"),
        ({"synonyms": ["large"]}, "Field required"),
        ({"word": "big", "synonyms": [5]}, "valid string"),
        (
            {"word": "cab", "synonyms": ["ab"], "messages": begun('{"synonym_values": ["1"]}', "{}")},
            """call 'a' was carried out, but has no list of whole numbers: {"synonym_values": ["1"]}""",
        ),
    ],
)
def test_bad_rows_are_refused(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        SynonymsTask.model_validate(row)


def test_generated_tasks_differ_and_are_the_seeds() -> None:
    environment = MultiStep()
    tasks = [generated(environment, index) for index in range(1000)]
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert tasks[:50] == [generated(environment, index) for index in range(50)]
    assert tasks[:50] != [generated(environment, index, seed=1) for index in range(50)]
    for task in tasks:
        assert set(task.synonyms) <= set(THESAURUS[task.word]) and task.word not in task.synonyms
        assert len(set(task.expected_values())) == len(task.synonyms), "an order that can be told"


def test_the_thesaurus_says_nothing_twice() -> None:
    assert len(THESAURUS) == 50
    for word, synonyms in THESAURUS.items():
        assert len({word, *synonyms}) == len(synonyms) + 1 and len(set(map(value_of, synonyms))) >= 6, word
