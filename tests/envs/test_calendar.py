"""Written and live conversations with a scheduling assistant."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from calendar_cases import LIVE, TASK, WRITTEN, A, calendar, entry
from playing_tasks import generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym import Message
from ray_gym.envs.calendar.answer import read_calendar, write_calendar
from ray_gym.envs.calendar.phrases import NO_CALENDAR
from ray_gym.envs.calendar.players import scripted_user
from ray_gym.envs.calendar.prompts import ASSISTANT, POLICY_BEGINS
from ray_gym.envs.calendar.revealing import ONLY_THIS
from ray_gym.envs.calendar.solver import solve
from ray_gym.envs.calendar.task import CalendarTask
from ray_gym.models.base import CompletionRequest
from ray_gym.play.play import Played
from ray_gym.stop import StopReason


async def test_the_perfect_player_gets_the_reward_in_written_mode() -> None:
    for index in range(200):
        played = await play_task(WRITTEN, generated(WRITTEN, index))
        assert reward_of(played) == 1
        assert len(played.episode.turns) == 1 and played.episode.stop is not None
        assert played.episode.stop.reason == StopReason.COMPLETED


async def test_the_policy_sees_the_whole_conversation_and_plays_only_its_last_turn() -> None:
    task = generated(WRITTEN, 4)
    episode = (await play_task(WRITTEN, task)).episode
    system, *earlier, answer = episode.threads["policy"].messages
    assert system == Message("system", ASSISTANT)
    assert [(each.role, each.content) for each in earlier] == [(each.role, each.content) for each in task.messages]
    assert earlier[-1].role == "user" and task.expected_state[-1].event_name in earlier[-1].content
    assert answer.role == "assistant" and episode.usage.model_calls == 1
    for said in earlier[1::2]:
        assert said.role == "assistant" and read_calendar(said.content) is not None
    assert all(name in str(earlier) for name in (each.event_name for each in task.expected_state))
    assert (
        task.expected_state[0].min_time in earlier[0].content and task.expected_state[0].max_time in earlier[0].content
    )


async def test_a_row_without_a_conversation_asks_for_everything_at_once() -> None:
    episode = (await play_task(WRITTEN, TASK)).episode
    asked = episode.threads["policy"].messages[1].content
    assert len(asked.splitlines()) == 5
    first, *_, last = asked.splitlines()
    assert first == (
        "Everything has to lie between 09:00 and 17:00 today: "
        'please put "Budget review" into my calendar, 60 minutes, and it has to be over by 10:45.'
    )
    assert last.endswith('17:00 today: please put "Travel planning" into my calendar, 90 minutes.')
    assert ", between 12:00 and 13:00." in asked


@pytest.mark.parametrize("options", [{"first_speaker": "policy"}, {"stop_text": "[DONE]"}])
def test_options_about_the_user_need_the_live_mode(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="this is mode: written"):
        calendar(**options)
    assert calendar(mode="live", **options).participants == ("policy", "user")


def said_by_user(played: Played) -> list[str]:
    return [each.content for each in played.episode.messages_of("user")]


def heard_by_policy(played: Played) -> list[str]:
    return [each.content for each in played.episode.threads["policy"].messages if each.role == "user"]


@pytest.mark.environments
@pytest.mark.parametrize(
    ("first_speaker", "stop_text", "tasks"),
    [("user", None, 200), ("policy", None, 30), ("user", "[DONE]", 30), ("policy", "[DONE]", 30)],
)
async def test_the_scripted_user_reveals_every_request(first_speaker: str, stop_text: str | None, tasks: int) -> None:
    environment = calendar(mode="live", first_speaker=first_speaker, stop_text=stop_text)
    small_talk = 0
    for index in range(tasks):
        task = generated(environment, index)
        played = await play_task(environment, task)
        assert reward_of(played) == 1
        said, stop = said_by_user(played), played.episode.stop
        assert said[: len(task.user_lines)] == [line.text for line in task.user_lines]
        for each in task.expected_state:
            assert any(each.event_name in text for text in said)
        assert played.episode.turns[0].speaker == first_speaker
        assert stop is not None and stop.reason == StopReason.FINISHED
        if stop_text is None:
            assert stop.text == "every request was answered" and len(said) == len(task.user_lines)
            assert played.episode.turns[-1].speaker == "policy"
        else:
            assert stop.text == "the user said that it is done" and said[-1] == "Thank you, that is all. [DONE]"
            assert len(said) == len(task.user_lines) + 1 and played.episode.turns[-1].speaker == "user"
        before = [POLICY_BEGINS] if first_speaker == "policy" else []
        assert heard_by_policy(played) == before + said[: len(task.user_lines)], "what was said, and no more"
        small_talk += len(said) - len(task.expected_state)
    assert small_talk > tasks / 2


async def test_the_policys_calendar_grows_with_what_was_revealed() -> None:
    task = generated(LIVE, 3)
    played = await play_task(LIVE, task)
    sizes = [len(read_calendar(each.content) or []) for each in played.episode.messages_of("policy")]
    asked = [line.event_id is not None for line in task.user_lines]
    assert sizes == [sum(asked[: turn + 1]) for turn in range(len(asked))]
    user_heard = [each.content for each in played.episode.threads["user"].messages if each.role == "user"]
    policy_said = [each.content for each in played.episode.messages_of("policy")]
    assert user_heard[1:] == policy_said[:-1], "the user sees every calendar but the one that ends the episode"


async def test_only_the_last_calendar_counts() -> None:
    lines = len(generated(LIVE, 3).user_lines)
    final = write_calendar(generated(LIVE, 3).expected_state, solve(generated(LIVE, 3).expected_state) or {})
    late = await play_task(LIVE, generated(LIVE, 3), {"policy": says(*["wait"] * (lines - 1), final)})
    assert reward_of(late) == 1
    early = await play_task(LIVE, generated(LIVE, 3), {"policy": says(*[final] * (lines - 1), "as before")})
    assert reward_of(early) == 0


async def test_the_scripted_user_complains_where_it_sees_no_calendar() -> None:
    played = await play_task(LIVE, TASK, {"policy": says("Done!")})
    first, *others = said_by_user(played)
    assert NO_CALENDAR not in first and len(others) == 4 and all(text.startswith(NO_CALENDAR) for text in others)
    insists = await play_task(calendar(mode="live", stop_text="[DONE]"), TASK, {"policy": says("Done!")})
    assert said_by_user(insists)[-1] == NO_CALENDAR
    assert insists.episode.stop is not None and insists.episode.stop.reason == StopReason.MAX_TURNS


async def test_requests_that_a_user_model_leaves_out_or_garbles_reach_the_policy() -> None:
    lines = [line.text for line in TASK.lines()]
    own_words = "Hi! Everything has to lie between 09:00 and 17:00 today, and I need one hour for Budget Review, done before 10:45."
    garbled = '"Legal call" for 30 minutes after 15:00, all of it from 09:00 to 17:00'
    player = says(own_words, garbled, "", "How are you? [DONE]", "...")
    played = await play_task(calendar(mode="live", stop_text="[DONE]"), TASK, {"user": player}, limits={"max_turns": 6})
    assert heard_by_policy(played) == [
        own_words,
        f"{garbled}\n{ONLY_THIS}\n{lines[1]}",
        lines[2],
        f"How are you?\n{ONLY_THIS}\n{lines[3]}",
        f"...\n{ONLY_THIS}\n{lines[4]}",
        "...",
    ]
    assert reward_of(played) == 1


async def test_a_user_may_ask_for_its_events_in_another_order() -> None:
    lines = [line.text for line in TASK.lines()]
    played = await play_task(LIVE, TASK, {"user": says(" ".join(lines[3:]), *lines[:3])})
    assert heard_by_policy(played) == [" ".join(lines[3:]), *lines[:3]]
    assert reward_of(played) == 1


async def test_names_that_contain_each_other_are_told_apart() -> None:
    names = ["call", "Call with Ana", "Long call with Ana"]
    events = [{**A, "event_id": number, "event_name": name} for number, name in enumerate(names)]
    task = CalendarTask.model_validate({"expected_state": events})
    assert task.events_mentioned("the long  CALL with Ana, recalled") == {2} and task.events_mentioned(
        "a call: call with Ana."
    ) == {
        0,
        1,
    }
    for order in (task.lines(), task.lines()[::-1]):
        played = await play_task(LIVE, task, {"user": says(*(line.text for line in order))})
        assert heard_by_policy(played) == [line.text for line in order]
        assert reward_of(played) == 1


async def test_a_user_with_its_own_stop_text_may_ask_for_corrections() -> None:
    task = CalendarTask.model_validate({"expected_state": [{**A, "constraint": "at 10:00"}]})
    wrong, right = (json.dumps([entry("A", start, 60, 1)]) for start in ("11:00", "10:00"))
    environment = calendar(mode="live", stop_text="That is it.")
    user = says(task.lines()[0].text, "Not at 11:00!", "Thanks. That is it.")
    played = await play_task(environment, task, {"policy": says(wrong, right), "user": user})
    assert reward_of(played) == 1 and len(heard_by_policy(played)) == 2
    assert played.episode.stop is not None and played.episode.stop.text == "the user said that it is done"


async def test_a_stop_text_behind_the_last_request_waits_for_its_answer() -> None:
    task = CalendarTask.model_validate({"expected_state": [A]})
    user = says(f"{task.lines()[0].text} [DONE]", "[DONE]")
    played = await play_task(calendar(mode="live", stop_text="[DONE]"), task, {"user": user})
    assert reward_of(played) == 1 and heard_by_policy(played) == [task.lines()[0].text]


async def test_a_live_user_goes_on_where_the_messages_end() -> None:
    earlier = {"role": "user", "content": 'Between 09:00 and 17:00, please: "Budget review" for an hour, before 10:45.'}
    task = CalendarTask.model_validate({**TASK.model_dump(mode="json"), "messages": [earlier]})
    played = await play_task(LIVE, task)
    assert played.episode.turns[0].speaker == "policy" and reward_of(played) == 1
    assert said_by_user(played) == [line.text for line in TASK.lines()[1:]]


async def test_the_users_prompt_is_its_own() -> None:
    prompts: dict[str, str] = {}

    def noting(request: CompletionRequest, rng: random.Random) -> Message:
        prompts["user"] = request.messages[0].content
        return scripted_user(request, rng)

    played = await play_task(calendar(mode="live", stop_text="[DONE]"), TASK, {"user": noting})
    assert all(f"{number}. {line.text}\n" in prompts["user"] for number, line in enumerate(TASK.lines(), start=1))
    assert prompts["user"].endswith("answer with exactly: [DONE]")
    assert played.episode.threads["policy"].messages[0].content == ASSISTANT


async def test_a_user_without_requests_has_nothing_to_say() -> None:
    played = await play_task(LIVE, CalendarTask(expected_state=()))
    assert said_by_user(played) == ["Thank you, that is all."] and reward_of(played) == 1
