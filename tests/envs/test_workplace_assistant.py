"""Office work played in process: what gets the reward and what does not."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from playing_tasks import call_of, generated, play_task, reward_of, says
from pydantic import ValidationError

from ray_gym import Episode, Message, ToolCall
from ray_gym.envs.workplace_assistant import WorkplaceAssistant
from ray_gym.envs.workplace_assistant.clock import TODAY
from ray_gym.envs.workplace_assistant.players import player_of_calls
from ray_gym.envs.workplace_assistant.requests import make_request
from ray_gym.envs.workplace_assistant.requests.wanted import Wanted, call
from ray_gym.envs.workplace_assistant.task import ExpectedCall, WorkplaceTask, carry_out_calls
from ray_gym.envs.workplace_assistant.workplace import Workplace
from ray_gym.models.player import Player
from ray_gym.play.play import Played

ENVIRONMENT = WorkplaceAssistant()
EXAMPLES = Path("envs/workplace_assistant/example.jsonl").read_text().splitlines()
CONFIG = yaml.safe_load(Path("configs/workplace_assistant.yaml").read_text())
SIX_STEPS = CONFIG["limits"]
OFFICE = Workplace.fresh()
SOMEBODY, OTHER = list(OFFICE.people)[1:3]

MAIL = call("email_send", recipient=SOMEBODY, subject="The office move", body="It is on Friday.")
CANCEL = call("calendar_delete", event_id="event-200")
LEAD = call("customer_update", customer_id="customer-1", field="status", new_value="Won")
TALK = call("calendar_create", name="Talk", participant=OTHER, start="2026-03-20 10:00", minutes=30)
EVENT_201 = OFFICE.events.base["event-201"]
NEWCOMER = next(address for address in OFFICE.people if address not in (OFFICE.user.address, EVENT_201.participant))
BOTH = WorkplaceTask(request="Cancel it, and tell them.", expected_calls=(MAIL, CANCEL))
NOTHING = WorkplaceTask(request="If it rains, cancel it.", expected_calls=(call("email_search", query="rain"),))


def wanted_of(index: int) -> Wanted:
    """Returns the request from which `generated` makes the task of an index."""
    return make_request(random.Random(f"0/{index}"))


def changed(expected: ExpectedCall, **arguments: Any) -> ExpectedCall:
    return call(expected.name, **{**expected.arguments, **arguments})


async def play_calls(task: WorkplaceTask, *calls: ExpectedCall) -> Played:
    return await play_task(ENVIRONMENT, task, {"policy": player_of_calls(calls)}, limits=SIX_STEPS)


def errors_of(played_: Played) -> list[str]:
    return [event.error for event in played_.episode.events if event.error is not None]


async def test_true_calls_get_the_reward_on_300_generated_tasks_in_six_steps() -> None:
    without_changes = 0
    for index in range(300):
        task, wanted = generated(ENVIRONMENT, index), wanted_of(index)
        assert task.expected_calls == (*wanted.lookups, *wanted.actions)
        done = await play_task(ENVIRONMENT, task, limits=SIX_STEPS)
        assert reward_of(done) == 1 and errors_of(done) == [], task
        assert done.episode.usage.model_calls <= 6 and done.episode.answer == "That is done."
        assert done.episode.state.changes() == carry_out_calls(task.expected_calls).changes()
        assert bool(done.episode.state.changes()) == bool(wanted.actions), task
        without_changes += not wanted.actions
    assert 20 <= without_changes <= 100, "some requests need nothing to be changed, most do"


def test_lookups_tell_all_that_the_request_does_not_in_time() -> None:
    """Ids and addresses are never to be guessed, and no search that is needed leaves rows out."""
    for index in range(400):
        wanted, workplace = wanted_of(index), Workplace.fresh()
        known = wanted.request
        assert len(wanted.lookups) <= 4, "with a message for the actions and one for the last words, that is six"
        for lookup in wanted.lookups:
            for value in lookup.arguments.values():
                assert "@" not in str(value) or str(value) in known
            answer = json.dumps(lookup.carry_out(workplace))
            assert "not_shown" not in answer
            known += answer
        assert not workplace.changes(), "a lookup changes nothing"
        for action in wanted.actions:
            for name, value in action.arguments.items():
                if name.endswith("_id") or "@" in str(value):
                    assert value in known, (wanted.request, value)


WRONG: Mapping[str, tuple[ExpectedCall, ...]] = {
    "nothing at all": (),
    "only a part": (MAIL,),
    "the wrong person": (changed(MAIL, recipient=OTHER), CANCEL),
    "another text": (changed(MAIL, body="It is on Monday."), CANCEL),
    "the wrong event": (MAIL, changed(CANCEL, event_id="event-201")),
    "the same email twice": (MAIL, CANCEL, MAIL),
    "a side effect in another table": (MAIL, CANCEL, LEAD),
    "a side effect in the same table": (MAIL, CANCEL, changed(CANCEL, event_id="event-201")),
    "a plot that nobody wanted": (
        MAIL,
        CANCEL,
        call("analytics_plot", metric="total_visits", from_date="2026-03-01", to_date="2026-03-02", kind="bar"),
    ),
    "a change instead of a deletion": (
        MAIL,
        call("calendar_update", event_id="event-200", field="name", new_value="x"),
    ),
    "an invitation can't be taken back": (MAIL, TALK, changed(CANCEL, event_id=OFFICE.events.next_id), CANCEL),
    "nor one to an event that was there": (
        MAIL,
        call("calendar_update", event_id="event-201", field="participant", new_value=NEWCOMER),
        call("calendar_update", event_id="event-201", field="participant", new_value=EVENT_201.participant),
        CANCEL,
    ),
    "a sent email can't be hidden": (MAIL, MAIL, CANCEL, call("email_delete", email_id="email-302")),
}


@pytest.mark.parametrize("calls", WRONG.values(), ids=WRONG)
async def test_other_tables_than_the_expected_ones_are_worth_nothing(calls: tuple[ExpectedCall, ...]) -> None:
    assert reward_of(await play_calls(BOTH, *calls)) == 0


RIGHT: Mapping[str, tuple[ExpectedCall, ...]] = {
    "in another order": (CANCEL, MAIL),
    "in other letters and addresses": (changed(MAIL, body=" IT is on  friday.", recipient=SOMEBODY.upper()), CANCEL),
    "with many lookups": (call("directory_find", name="a"), call("calendar_search"), CANCEL, MAIL),
    "after refusals": (changed(CANCEL, event_id="event-9999"), changed(MAIL, recipient="nobody"), MAIL, CANCEL),
    "with a change that was undone": (
        MAIL,
        CANCEL,
        LEAD,
        changed(LEAD, new_value=OFFICE.customers.base["customer-1"].status),
    ),
    "with an event of the user's own that was added and deleted": (
        MAIL,
        changed(TALK, participant=OFFICE.user.address),
        changed(CANCEL, event_id=OFFICE.events.next_id),
        CANCEL,
    ),
}


@pytest.mark.parametrize("calls", RIGHT.values(), ids=RIGHT)
async def test_the_tables_count_and_not_the_way_to_them(calls: tuple[ExpectedCall, ...]) -> None:
    assert reward_of(await play_calls(BOTH, *calls)) == 1


async def test_an_event_that_was_put_right_leaves_no_trace_but_the_wrong_guest_does() -> None:
    task = WorkplaceTask(request="Book it.", expected_calls=(TALK,))
    created = OFFICE.events.next_id
    later = call("calendar_update", event_id=created, field="start", new_value="2026-03-20 10:00")
    guest = call("calendar_update", event_id=created, field="participant", new_value=OTHER)
    assert reward_of(await play_calls(task, changed(TALK, start="2026-03-21 09:00"), later)) == 1
    wrong = await play_calls(task, changed(TALK, participant=SOMEBODY), guest)
    assert reward_of(wrong) == 0
    verdict = next(event for event in wrong.episode.events if event.kind == "verdict")
    assert verdict.content == "FinalState: withdrawn_invitations should not be there"


def begun(*calls: tuple[ExpectedCall, str]) -> list[dict[str, Any]]:
    """Returns a conversation in which these calls were answered so."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Cancel it."}]
    for number, (made, answer) in enumerate(calls):
        tool_call = {"id": f"c{number}", "name": made.name, "arguments": json.dumps(made.arguments)}
        messages.append({"role": "assistant", "tool_calls": [tool_call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": answer})
    return [*messages, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Now tell them."}]


async def test_a_conversation_is_resumed_in_the_office_that_it_has_left() -> None:
    refused = changed(LEAD, new_value="Big")
    earlier = begun((CANCEL, "deleted event-200"), (refused, '{"error": "there is no such status"}'))
    task = WorkplaceTask.model_validate({"request": "-", "messages": earlier, "expected_calls": [MAIL.model_dump()]})
    done = await play_task(ENVIRONMENT, task)
    assert reward_of(done) == 1 and done.episode.usage.tool_calls == 1
    assert done.episode.state.events.get("event-200") is None, "it was deleted before"
    assert reward_of(await play_task(ENVIRONMENT, task, {"policy": says("Told.")})) == 0
    again = call_of(CANCEL.name, json.dumps(CANCEL.arguments))
    tried = await play_task(ENVIRONMENT, task, {"policy": says(again, "It is gone.")})
    assert errors_of(tried) == ["there is no event 'event-200'; ids look like event-7, and a search tells them"]


async def test_new_rows_may_have_got_their_ids_in_another_order() -> None:
    other = changed(MAIL, recipient=OTHER)
    task = WorkplaceTask(request="Tell both.", expected_calls=(MAIL, other))
    assert reward_of(await play_calls(task, other, MAIL)) == 1
    assert reward_of(await play_calls(task, other, other)) == 0


async def test_nothing_is_right_where_nothing_has_to_be_changed() -> None:
    assert reward_of(await play_task(ENVIRONMENT, NOTHING, {"policy": says("There is no rain.")})) == 1
    assert reward_of(await play_calls(NOTHING, MAIL)) == 0


async def test_names_of_fixed_lists_are_told_apart_by_case() -> None:
    task = WorkplaceTask(request="We won it.", expected_calls=(LEAD,))
    refused = await play_calls(task, changed(LEAD, new_value="won"))
    assert reward_of(refused) == 0
    assert errors_of(refused) == ["'won' is none of: Lead, Qualified, Proposal, Won, Lost"]
    assert reward_of(await play_calls(task, changed(LEAD, new_value="won"), LEAD)) == 1


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (call_of("email_send", '{"recipient":'), "bad arguments for email_send: Invalid JSON"),
        (call_of("email_send", "{}"), "bad arguments for email_send: recipient: Field required"),
        (call_of("email_sent", "{}"), "there is no tool 'email_sent'; the tools are: directory_find, email_search"),
        (call_of("email_delete", '{"email_id": 7}'), "email_id: Input should be a valid string"),
        (call_of("calendar_delete", '{"event_id": "7"}'), "there is no event '7'; ids look like event-7"),
    ],
)
async def test_what_is_refused_is_told_and_changes_nothing(message: Message, error: str) -> None:
    answers = says(message, *(one_call(each) for each in BOTH.expected_calls), "Done.")
    done = await play_task(ENVIRONMENT, BOTH, {"policy": answers}, limits=SIX_STEPS)
    assert len(errors_of(done)) == 1 and error in errors_of(done)[0]
    assert reward_of(done) == 1


def one_call(expected: ExpectedCall) -> Message:
    return call_of(expected.name, json.dumps(expected.arguments))


async def test_several_calls_may_be_in_one_message() -> None:
    assert SIX_STEPS["max_steps_per_turn"] == 6 and CONFIG["participants"]["policy"]["parallel_tool_calls"]
    calls = tuple(ToolCall(str(i), c.name, json.dumps(c.arguments)) for i, c in enumerate(BOTH.expected_calls))
    player: Player = says(Message("assistant", tool_calls=calls), "Done.")
    done = await play_task(ENVIRONMENT, BOTH, {"policy": player}, limits=SIX_STEPS)
    assert reward_of(done) == 1 and done.episode.usage.model_calls == 2


async def test_the_session_is_scored_and_not_its_calls() -> None:
    class BrokenOffice(WorkplaceAssistant):
        def setup(self, task: WorkplaceTask, episode: Episode) -> Workplace:
            workplace = super().setup(task, episode)
            workplace.events.remove("event-1")
            return workplace

    done = await play_task(BrokenOffice(), BOTH)
    assert reward_of(done) == 0
    verdict = next(event for event in done.episode.events if event.kind == "verdict")
    assert "events.removed" in verdict.content


async def test_prompts_say_what_day_it_is_and_fit_a_context_of_8192_tokens() -> None:
    done = await play_task(ENVIRONMENT, BOTH)
    system, request = done.episode.threads["policy"].messages[:2]
    assert "Thursday, 12 March 2026, 08:30" in system.content and "Mara Lindqvist" in system.content
    assert TODAY.weekday() == 3
    assert request.content == BOTH.request
    schemas = json.dumps([tool.schema.as_openai() for tool in ENVIRONMENT.tools.values()])
    assert len(schemas) + len(system.content) < 3 * 5000, (
        "more than three characters a token, so less than 5,000 tokens"
    )


async def test_1000_sessions_open_in_five_seconds_and_share_what_they_do_not_change() -> None:
    episode = (await play_task(ENVIRONMENT, BOTH)).episode
    rows = [generated(ENVIRONMENT, index).model_dump_json() for index in range(10)]
    began, sessions = time.perf_counter(), []
    for number in range(1000):
        task = WorkplaceTask.model_validate_json(rows[number % len(rows)])
        sessions.append(ENVIRONMENT.setup(task, episode))
        ENVIRONMENT.opening(task, sessions[-1])
    assert time.perf_counter() - began < 5
    first, *others = sessions
    CANCEL.carry_out(first)
    MAIL.carry_out(first)
    for other in others:
        assert other is not first and other.people is first.people and other.visits is first.visits
        for name in ("emails", "events", "tasks", "customers"):
            ours, theirs = getattr(first, name), getattr(other, name)
            assert ours is not theirs and ours.base is theirs.base and theirs.own == {}
        assert other.events.get("event-200") is not None and not other.changes()
    assert all(event is others[0].events.get(event.id) for event in first.events), "unchanged rows of a changed table"
    assert len(list(first.events)) == len(list(others[0].events)) - 1


@pytest.mark.parametrize("row", EXAMPLES, ids=range(len(EXAMPLES)))
async def test_example_rows_can_be_played_and_are_still_what_the_generator_makes(row: str) -> None:
    task = WorkplaceTask.model_validate_json(row)
    assert reward_of(await play_task(ENVIRONMENT, task, limits=SIX_STEPS)) == 1
    assert task.task_id is not None
    made = generated(ENVIRONMENT, int(task.task_id.removeprefix("workplace_assistant-")))
    assert (task.request, task.expected_calls) == (made.request, made.expected_calls)


def test_there_are_five_example_rows() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"request": "Do it."}, "expected_calls\n  Field required"),
        ({"request": "", "expected_calls": []}, "at least 1 character"),
        ({"request": " ", "expected_calls": []}, "it is blank"),
        ({"request": "Do it.", "expected_calls": [], "reward": 1}, "Extra inputs are not permitted"),
        ({"request": "Do it.", "expected_calls": [{"name": "dance"}]}, "expected_calls[0]: there is no tool 'dance'"),
        (
            {"request": "Do it.", "expected_calls": [{"name": "email_read", "arguments": {"id": "email-1"}}]},
            "expected_calls[0]: bad arguments for email_read: email_id: Field required; id: Extra inputs",
        ),
        (
            {"request": "Do it.", "expected_calls": [MAIL.model_dump(), CANCEL.model_dump(), CANCEL.model_dump()]},
            "expected_calls[2]: calendar_delete refuses it: there is no event 'event-200'",
        ),
        (
            {"request": "-", "expected_calls": [], "messages": begun((CANCEL, "deleted"), (CANCEL, "deleted"))},
            "messages[4]: call 'c1' was carried out, but: calendar_delete refuses it: there is no event 'event-200'",
        ),
        (
            {"request": "-", "expected_calls": [CANCEL.model_dump()], "messages": begun((CANCEL, "deleted"))},
            "expected_calls[0]: calendar_delete refuses it: there is no event 'event-200'",
        ),
    ],
)
def test_rows_that_cannot_be_done_are_refused(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        WorkplaceTask.model_validate(row)
