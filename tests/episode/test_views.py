"""Checks what each participant sees of an episode, and what it never sees."""

from __future__ import annotations

from typing import Any

import pytest
from playing import Alone, Reply, Talk, calls, play_script

from ray_gym import Environment, Episode, Message, Opening, Participant, Task, ToolCall, Turn, tool


class Desk(Talk):
    @tool(participants=("policy",))
    def look_up(self, state: Any, caller: Participant, word: str) -> str:
        return f"secret {word}"

    @tool(participants=("user",))
    def press(self, state: dict[int, bool], caller: Participant, button: int) -> str:
        state[button] = True
        return f"button {button} is lit"

    def opening(self, task: Task, state: Any) -> Opening:
        return Opening(
            messages={"policy": "Help the caller."},
            system={"policy": "You are staff.", "user": "You are cross, and rich."},
        )


async def test_each_sees_its_own_prompt_and_what_the_other_said() -> None:
    answer = Message("assistant", "It is broken?", reasoning="They sound cross.")
    game = await play_script(Desk(), [calls("look_up", word="x"), answer, "Bye."], ["Yes!"], limits={"max_turns": 2})
    assert game.models["policy"].seen(2) == [
        ("system", "You are staff."),
        ("user", "Help the caller."),
        ("assistant", ""),
        ("tool", "secret x"),
        ("assistant", "It is broken?"),
        ("user", "Yes!"),
    ]
    assert game.models["user"].seen(0) == [("system", "You are cross, and rich."), ("user", "It is broken?")]


async def test_nothing_private_is_in_anothers_thread_or_marked_as_visible_to_it() -> None:
    policy = [calls("look_up", "Wait.", word="x"), Message("assistant", "Ready.", reasoning="They sound cross.")]
    user: list[Reply] = [
        Message("assistant", "Good.", reasoning="At last.", tool_calls=calls("press", button=1).tool_calls),
        "Done.",
    ]
    game = await play_script(Desk(), policy, user, policy={"max_turns": 1})
    shown = {name: repr(game.episode.threads[name].messages) for name in ("policy", "user")}
    assert all(word not in shown["user"] for word in ("You are staff", "secret x", "They sound cross", "look_up"))
    assert all(word not in shown["policy"] for word in ("You are cross", "lit", "At last", "press"))
    for event in game.episode.events:
        if event.kind in ("system", "tool_result", "opening"):
            assert event.visible_to == [event.participant]
    told = next(event for event in game.episode.events if event.content == "Wait.\nReady.")
    assert (told.kind, told.participant, told.visible_to) == ("relay", "policy", ["user"])


async def test_each_is_offered_its_own_tools_only() -> None:
    game = await play_script(Desk(), ["Hi."], ["Hi."], policy={"max_turns": 1})
    offered = {name: [tool.name for tool in model.requests[0].tools] for name, model in game.models.items()}
    assert offered == {"policy": ["look_up"], "user": ["press"]}
    assert all(model.requests[0].allowed_tools == model.requests[0].tools for model in game.models.values())


async def test_a_tool_of_the_other_is_refused_and_does_nothing() -> None:
    game = await play_script(Desk(), [calls("press", button=1), "Sorry."], ["Hi."], policy={"max_turns": 1})
    refused = next(event for event in game.episode.events if event.kind == "tool_result")
    assert refused.error == "there is no tool 'press'; the tools are: look_up" and game.episode.state == {}
    assert game.episode.usage.tool_errors == 1 and game.episode.turns[0].tool_errors == 1


async def test_no_tools_are_shown_under_tool_choice_none() -> None:
    game = await play_script(Desk(), ["Hi."], ["Hi."], policy={"max_turns": 1, "tool_choice": "none"})
    request = game.models["policy"].requests[0]
    assert (request.tools, request.allowed_tools, request.tool_choice) == ((), (), "none")


class Public(Desk):
    """Both may press the buttons, so each may know what they do."""

    @tool(participants=("policy", "user"))
    def press(self, state: dict[int, bool], caller: Participant, button: int) -> str:
        return super().press(state, caller, button)


async def test_a_turn_of_calls_without_words_tells_all_results_of_tools_that_the_others_have() -> None:
    pressed = Message("assistant", tool_calls=tuple(ToolCall(f"c{b}", "press", f'{{"button": {b}}}') for b in (1, 2)))
    user = {"max_steps_per_turn": 2}
    game = await play_script(
        Public(), ["Press.", "Thanks."], [pressed, calls("press", button=3), "Bye."], user=user, policy={"max_turns": 2}
    )
    told = game.models["policy"].seen(1)[-1]
    assert told == ("user", "button 1 is lit\nbutton 2 is lit\nbutton 3 is lit")
    assert game.episode.state == {1: True, 2: True, 3: True}


async def test_words_beside_tool_calls_are_told_without_their_results() -> None:
    said = Message("assistant", "I press it.", tool_calls=calls("press", button=1).tool_calls)
    game = await play_script(
        Desk(), ["Press.", "Thanks."], [said], limits={"max_turns": 2}, user={"max_steps_per_turn": 1, "max_turns": 1}
    )
    assert game.models["policy"].seen(1)[-1] == ("user", "I press it.")


async def test_what_the_environment_relays_replaces_what_was_said() -> None:
    class Muted(Desk):
        def relay(self, state: Any, episode: Episode, turn: Turn, listener: Participant) -> str | None:
            return f"{turn.speaker} to {listener.name}: {turn.text.upper()}" if listener.name != turn.speaker else None

    game = await play_script(Muted(), ["hi"], ["ho"], policy={"max_turns": 1})
    assert game.models["user"].seen()[-1] == ("user", "policy to user: HI")
    relayed = next(event for event in game.episode.events if event.kind == "relay")
    assert (relayed.participant, relayed.thread, relayed.visible_to) == ("policy", "user", ["user"])


@pytest.mark.parametrize(
    ("in_task", "in_config", "shown"), [("t", "c", "t"), (None, "c", "c"), (None, None, "You are cross, and rich.")]
)
async def test_system_prompts_of_the_task_win_then_the_configs(
    in_task: str | None, in_config: str | None, shown: str
) -> None:
    task = Task(system_prompts={"user": in_task} if in_task else {})
    game = await play_script(
        Desk(), ["hi"], ["ho"], task=task, policy={"max_turns": 1}, user={"system_prompt": in_config}
    )
    assert game.models["user"].seen()[0] == ("system", shown)
    assert game.models["policy"].seen()[0] == ("system", "You are staff.")


async def test_an_opening_may_hold_a_partial_conversation() -> None:
    """Earlier assistant and tool turns are shown as they are, and nobody is said to have generated them."""
    call = ToolCall("c0", "look_up", '{"word": "x"}')
    before = [
        Message("user", "What is x?"),
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", "secret x", tool_call_id="c0"),
        Message("assistant", "It is secret."),
        Message("user", "Say it again."),
    ]

    class Later(Desk):
        def opening(self, task: Task, state: Any) -> Opening:
            return Opening(messages={"policy": before}, first="policy")

    game = await play_script(Later(), ["Still secret."], ["Fine."], policy={"max_turns": 1})
    assert game.models["policy"].requests[0].messages == before and game.models["policy"].requests[0].known == 0
    assert [event.kind for event in game.episode.events[:6]] == ["opening"] * 5 + ["message"]
    assert game.episode.usage.tool_calls == 0 and game.episode.usage.model_calls == 2


async def test_the_other_side_may_begin() -> None:
    class Ringing(Desk):
        def opening(self, task: Task, state: Any) -> Opening:
            return Opening(messages={"user": "Begin."}, first="user")

    game = await play_script(Ringing(), ["How can I help?"], ["Hello?"], user={"max_turns": 1})
    assert [turn.speaker for turn in game.episode.turns] == ["user", "policy"]
    assert game.models["policy"].seen() == [("user", "Hello?")]


async def test_narrow_may_change_the_schema_that_it_is_given() -> None:
    class Narrow(Desk):
        def narrow(self, tool: Any, state: Any, caller: Participant) -> Any:
            if caller == "user":
                tool.parameters["properties"].clear()
            return tool

    game = await play_script(Narrow(), ["hi"], ["ho"], policy={"max_turns": 1})
    look_up, press = (Narrow.tools[name].schema for name in ("look_up", "press"))
    assert game.models["policy"].requests[0].allowed_tools[0] is look_up
    asked = game.models["user"].requests[0]
    assert asked.tools[0] is press and "button" in press.parameters["properties"]
    assert asked.allowed_tools[0].parameters["properties"] == {}


async def test_a_narrowed_schema_is_what_is_allowed_and_not_what_is_shown() -> None:
    class Narrow(Desk):
        def narrow(self, tool: Any, state: Any, caller: Participant) -> Any:
            return type(tool)(tool.name, f"only for {caller.name}", {})

    game = await play_script(Narrow(), ["hi"], ["ho"], policy={"max_turns": 1})
    request = game.models["policy"].requests[0]
    assert request.allowed_tools[0].description == "only for policy" and request.allowed_tools[0].parameters == {}
    assert "word" in request.tools[0].parameters["properties"]


async def test_single_step_is_one_question_and_one_answer() -> None:
    game = await play_script(Alone(), ["42"])
    assert game.models["policy"].seen() == [("user", "What is 6 times 7?")]
    assert [event.kind for event in game.episode.events] == ["opening", "message", "stop"]


async def test_sessions_share_nothing_and_randomness_is_the_episodes() -> None:
    class Dice(Alone):
        def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
            rolls = [episode.rng("a").random(), episode.rng("b").random(), episode.rng("a").random()]
            return {"rolls": rolls, "ids": [episode.new_id(), episode.new_id()]}

        def finished(self, state: dict[str, Any], episode: Episode) -> None:
            state["seen"] = [event.content for event in episode.events if event.kind == "message"]

    environment = Dice()
    first, again, other = [await play_script(environment, [str(seed)], seed=seed) for seed in (1, 1, 2)]
    assert first.episode.state == again.episode.state and first.episode.state is not again.episode.state
    assert first.episode.state["seen"] == ["1"] and other.episode.state["seen"] == ["2"]
    rolls, ids = first.episode.state["rolls"], first.episode.state["ids"]
    assert len(set(rolls)) == 3 and len(set(ids)) == 2
    assert not set(rolls) & set(other.episode.state["rolls"]) and not set(ids) & set(other.episode.state["ids"])


def test_an_environment_knows_the_type_of_its_tasks() -> None:
    class Own(Task):
        word: str

    class Typed(Environment[Own, str]):
        pass

    class Derived(Typed):
        pass

    class Wider(Own):
        more: int = 0

    class Retyped(Typed):
        task_type = Wider

    assert Retyped.task_type is Wider, "a subclass may play a wider task"
    assert Typed.task_type is Own and Derived.task_type is Own and Alone.task_type is Task
