"""Checks each side of customer service: what it sees and may do, and how the conversation begins and ends."""

from __future__ import annotations

import json

import pytest
from customer_service_plays import (
    JUDGED,
    MORE,
    STOP,
    UNJUDGED,
    broken,
    environment,
    noting,
    played,
    results_of,
    task_of,
)
from playing_tasks import call_of, play_task, reward_of, says

from ray_gym import Message
from ray_gym.envs.customer_service.generator import KINDS
from ray_gym.envs.customer_service.perfect import agent_lines, call, says_and_does
from ray_gym.envs.customer_service.players import customer as scripted_customer
from ray_gym.envs.customer_service.task import CustomerServiceTask
from ray_gym.errors import FailureKind
from ray_gym.models.base import CompletionRequest
from ray_gym.stop import StopReason

# ---- who may see and do what ----

AGENT_TOOLS = {
    "look_up_customer",
    "verify_identity",
    "check_outages",
    "check_line",
    "show_invoice",
    "find_payment",
    "remove_invoice_line",
    "issue_credit",
    "change_plan",
    "open_ticket",
    "record_refusal",
}
CUSTOMER_TOOLS = {
    "look_at_router",
    "restart_router",
    "run_speed_test",
    "check_bank_statement",
    "read_welcome_letter",
    "send_photo_of_router",
}


@pytest.mark.parametrize("kind", list(KINDS))
async def test_each_side_sees_its_own_tools_and_nothing_private_of_the_other(kind: str) -> None:
    task = task_of(kind)
    of_policy: list[CompletionRequest] = []
    of_user: list[CompletionRequest] = []
    policy = noting(says_and_does(agent_lines(task)), of_policy)
    one = await played(task, policy=policy, user=noting(scripted_customer, of_user))
    assert reward_of(one) == 1
    assert all({tool.name for tool in request.tools} == AGENT_TOOLS for request in of_policy)
    assert all({tool.name for tool in request.tools} == CUSTOMER_TOOLS for request in of_user)

    seen_by_policy = [message.content for request in of_policy for message in request.messages]
    seen_by_user = [message.content for request in of_user for message in request.messages]
    persona = task.persona
    said = [message.content for message in one.episode.messages_of("user")]
    prompt_lines = [line for line in of_user[0].messages[0].content.splitlines() if len(line) > 40]
    private = [persona.occupation, persona.manner, persona.situation, task.goal.wish(), STOP, *prompt_lines]
    private += results_of(one, "user")
    for text in private:
        assert not any(text in seen for seen in seen_by_policy), text
        assert any(text in seen for seen in seen_by_user), text
    assert any(text in seen for text in said for seen in seen_by_policy)

    rules = [line for line in of_policy[0].messages[0].content.splitlines() if len(line) > 40]
    looked = [result for result in results_of(one, "policy") if result.startswith("{") or "PIN" in result]
    for text in [*rules, *looked]:
        assert not any(text in seen for seen in seen_by_user), text


async def test_a_tool_of_the_other_side_is_refused_by_name() -> None:
    task = task_of("slow_connection")
    one = await played(task, policy=says_and_does([call("restart_router"), MORE]))
    (refused,) = results_of(one, "policy")
    assert "there is no tool 'restart_router'" in refused and "look_at_router" not in refused
    assert broken(one) == {"line", "facts_looked_up"}
    number = task.customer.number
    grabs = call_of("issue_credit", json.dumps({"customer_number": number, "dollars": 100}))
    one = await played(task, policy=says(MORE), user=says(grabs, "It is slow.", f"Bye {STOP}"))
    (refused,) = results_of(one, "user")
    assert "there is no tool 'issue_credit'" in refused and "open_ticket" not in refused
    assert "credits" not in broken(one) and not one.episode.state.own.credits


async def test_what_the_customer_changes_is_seen_by_the_agents_tools_said_or_not() -> None:
    task = task_of("slow_connection")
    look = call("check_line", customer_number=task.customer.number)
    who = call("look_up_customer", number_or_phone=task.customer.number)
    one = await played(
        task,
        policy=says_and_does([look, Message("assistant", "Please go on."), who, look, MORE]),
        user=says("It is slow.", call_of("restart_router", "{}"), "What a nice day.", f"Bye {STOP}"),
    )
    before, _, after = (json.loads(result) for result in results_of(one, "policy"))
    assert "hangs" in before["finding"] and after["finding"] == "The line and the router are fine."
    assert after["megabits"] == after["megabits_of_plan"] > before["megabits"]
    assert reward_of(one) == 1


async def test_what_is_for_the_other_sides_eyes_is_passed_on_in_full() -> None:
    task = task_of("slow_connection")
    photo = call_of("send_photo_of_router", "{}").tool_calls[0]
    restart = call_of("restart_router", "{}").tool_calls[0]
    number = task.customer.number
    credits = [call("issue_credit", customer_number=number, dollars=dollars).tool_calls[0] for dollars in (1, 2)]
    of_policy: list[CompletionRequest] = []
    of_user: list[CompletionRequest] = []
    policy = says(Message("assistant", tool_calls=tuple(credits)), "", "Anything else?")
    shows = Message("assistant", tool_calls=(photo, restart, photo))
    user = says(shows, "", Message("assistant", "Here.", tool_calls=(photo,)), "And so on.", f"Bye {STOP}")
    one = await play_task(
        UNJUDGED,
        task,
        {"policy": noting(policy, of_policy), "user": noting(user, of_user)},
        user={"stop_text": STOP, "max_steps_per_turn": 2},
    )
    assert one.status == "completed", one.failure
    heard = [message.content for message in of_policy[-1].messages if message.role == "user"]
    assert heard[0].splitlines() == [
        "(Photo of a router. Lights: power green, internet blinking orange.)",
        "(Photo of a router. Lights: power green, internet green.)",
    ], "the restart's own result is private"
    assert heard[1] == "Here.\nAnd so on.\n(Photo of a router. Lights: power green, internet green.)"
    told = [message.content for message in of_user[-1].messages if message.role == "user"]
    assert told[1].splitlines() == [
        "(Text message from Larkwave: A credit of $1 was given.)",
        "(Text message from Larkwave: A credit of $2 was given.)",
    ]


async def test_an_agent_who_only_looks_things_up_is_waited_for() -> None:
    task = task_of("slow_connection")
    look = call("check_line", customer_number=task.customer.number)
    of_user: list[CompletionRequest] = []
    user = noting(says("It is slow.", f"Bye {STOP}"), of_user)
    await played(task, policy=says(look, ""), user=user)
    assert of_user[-1].messages[-1].content == "(The agent is still at it.)"


async def test_a_customer_who_uses_tools_and_says_nothing_is_at_fault() -> None:
    one = await played(task_of("slow_connection"), user=says(call_of("look_at_router", "{}"), ""))
    assert one.failure is not None and one.failure.kind == FailureKind.USER and one.score is None
    assert one.episode.messages_of("policy") == [], "there was nothing that it could have answered"


async def test_the_scripted_customer_says_what_it_knows_and_looks_up_the_rest() -> None:
    row = task_of("slow_connection").model_dump()
    row["persona"]["forgotten"] = ["security PIN"]
    task = CustomerServiceTask.model_validate(row)
    asks = ["Your phone number and PIN?", "Which lights are on?", "How fast is a speed test?", "Send a photo!", "Well."]
    one = await played(task, policy=says(*asks, "Anything else?"))
    assert [turn.text for turn in one.episode.turns if turn.speaker == "user"] == [
        task.goal.reason(task.customer),
        f"My phone number is {task.customer.phone}. My security PIN is {task.customer.pin}.",
        "The internet light is blinking orange.",
        f"The speed test says {one.episode.state.own.megabits} megabits a second.",
        "I have sent you a photo of it.",
        "Could you help me with that, please?",
        f"No, that was all. Goodbye! {STOP}",
    ]
    called = [call.name for message in one.episode.messages_of("user") for call in message.tool_calls]
    assert called == ["read_welcome_letter", "look_at_router", "run_speed_test", "send_photo_of_router"]
    section = {"stop_text": STOP, "tool_choice": "none"}
    one = await play_task(UNJUDGED, task, {"policy": says("Your PIN?", "Anything else?")}, user=section)
    assert one.episode.turns[2].text == "I don't have my security PIN at hand."


async def test_the_scripted_customer_insists_once() -> None:
    one = await played(task_of("full_refund"), policy=says("No, I can't.", "I cannot. Anything else?"))
    assert [turn.text for turn in one.episode.turns if turn.speaker == "user"][1:] == [
        "Is there really no way?",
        f"No, that was all. Goodbye! {STOP}",
    ]


async def test_a_tasks_system_prompts_win() -> None:
    task = task_of("plan_change").model_copy(update={"system_prompts": {"policy": "Be a pirate.", "user": "Be brief."}})
    of_policy: list[CompletionRequest] = []
    of_user: list[CompletionRequest] = []
    await played(task, policy=noting(says("Arr."), of_policy), user=noting(says("Hi.", f"Bye {STOP}"), of_user))
    assert of_policy[0].messages[0].content == "Be a pirate." and of_user[0].messages[0].content == "Be brief."


# ---- how it ends and begins ----


async def test_the_stop_text_ends_it_at_once() -> None:
    asked: list[CompletionRequest] = []
    policy = noting(says("Hello.", "And so on."), asked)
    one = await played(task_of("plan_change"), policy=policy, user=says("Hi.", f"Never mind. {STOP}", "More."))
    assert one.episode.stop is not None and one.episode.stop.reason == StopReason.STOP_TEXT
    assert len(asked) == 1 and one.episode.usage.model_calls == 3 and reward_of(one) == 0
    assert one.episode.events[-1].kind != "message"


async def test_leaving_before_the_agent_said_anything_is_the_customers_fault() -> None:
    for playing in (JUDGED, UNJUDGED):
        one = await played(task_of("plan_change"), playing, user=says(f"Hi and bye {STOP}"))
        assert one.failure is not None and one.failure.kind == FailureKind.USER
        assert one.episode.messages_of("policy") == []


async def test_completion_signals_are_the_policys_own_words() -> None:
    signals = environment(judge=False, completion_signals=["anything else", "Glad I could help"])
    task = task_of("plan_change")
    one = await played(
        task, signals, user=says("Is there ANYTHING ELSE? Glad I could help.", "Still here."), policy=says("No.")
    )
    assert one.episode.stop is not None and one.episode.stop.reason == StopReason.MAX_TURNS
    one = await played(task, signals, policy=says("Hm.", "So GLAD I could HELP!"), user=says("Hi.", "Oh."))
    assert one.episode.stop is not None and one.episode.stop.reason == StopReason.FINISHED
    assert one.episode.stop.text == "the agent said 'Glad I could help'"
    assert one.episode.turns_of("policy") == 2 and one.episode.turns_of("user") == 2
    one = await played(task, policy=says("Hm.", "So glad I could help!"), user=says("Hi.", "Oh.", f"Bye {STOP}"))
    assert one.episode.stop is not None and one.episode.stop.reason == StopReason.STOP_TEXT, "off by default"
    assert reward_of(await played(task, signals)) == 1


async def test_a_completion_signal_stands_by_itself() -> None:
    signals = environment(judge=False, completion_signals=["resolved"])
    lines = ["Your issue is still unresolved.", "Now it is RESOLVED!"]
    one = await played(task_of("plan_change"), signals, policy=says(*lines), user=says("Hi."))
    assert one.episode.stop is not None and one.episode.stop.text == "the agent said 'resolved'"
    assert one.episode.turns_of("policy") == 2


async def test_the_agent_is_told_its_completion_signals() -> None:
    told: list[CompletionRequest] = []
    signals = environment(judge=False, completion_signals=["all settled", "Glad I could help"])
    await played(task_of("plan_change"), signals, policy=noting(says("All settled."), told), user=says("Hi."))
    await played(task_of("plan_change"), policy=noting(says("Hm."), told), user=says("Hi.", f"Bye {STOP}"))
    with_signals, without = (request.messages[0].content for request in (told[0], told[-1]))
    assert with_signals.startswith(without)
    assert with_signals.endswith('close the chat with a message that says "all settled" or "Glad I could help".')


async def test_a_completion_signal_beside_a_call_waits_for_what_comes_of_it() -> None:
    signals = environment(judge=False, completion_signals=["anything else"])
    task = task_of("plan_change")
    look = Message("assistant", MORE.content, tool_calls=call("look_up_customer", number_or_phone="x").tool_calls)
    one = await played(task, signals, policy=says(look, "Nobody found.", MORE), user=says("Hi."))
    assert [turn.text for turn in one.episode.turns] == ["Hi.", f"{MORE.content}\nNobody found.", "Hi.", MORE.content]
    one = await played(task, signals, policy=says(look, ""), user=says("Hi."))
    assert [turn.text for turn in one.episode.turns] == ["Hi.", MORE.content], "its last message may be empty"
    assert one.episode.stop is not None and one.episode.stop.reason == StopReason.FINISHED


async def test_an_earlier_conversation_does_not_end_by_its_own_signal() -> None:
    earlier = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Is there anything else?"}]
    row = {**task_of("plan_change").model_dump(), "messages": earlier}
    signals = environment(judge=False, completion_signals=["anything else"])
    task = CustomerServiceTask.model_validate(row)
    one = await played(task, signals, user=says(f"No, bye {STOP}"))
    assert one.status == "completed" and one.episode.stop is not None
    assert one.episode.stop.reason == StopReason.STOP_TEXT, "and leaving at once is no fault then"


async def test_the_policy_may_speak_first() -> None:
    asked: list[CompletionRequest] = []
    playing = environment(judge=False, first_speaker="policy")
    one = await played(
        task_of("plan_change"), playing, policy=says("Good morning."), user=noting(says("Hi.", f"Bye {STOP}"), asked)
    )
    assert [turn.speaker for turn in one.episode.turns] == ["policy", "user", "policy", "user"]
    assert [message.content for message in asked[0].messages[1:]] == ["Good morning."]
