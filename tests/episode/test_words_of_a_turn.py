"""Checks what the others are told of a turn: all its words and none of its thoughts, and no private tool's result."""

from __future__ import annotations

from typing import Any

import pytest
from playing import Reply, Talk, calls, play_script

from ray_gym import Episode, Opening, Participant, ToolError, Turn, tool
from ray_gym.errors import FailureKind


class Office(Talk):
    """Each side has a tool of its own, and there is one for both."""

    @tool(participants=("user",))
    def read_secret(self, state: Any, caller: Participant) -> str:
        return "SECRET: 4711"

    @tool(participants=("policy",))
    def look_up(self, state: Any, caller: Participant) -> str:
        return "ORDER 12: sent"

    @tool(participants=("policy", "user"))
    def ring(self, state: Any, caller: Participant) -> str:
        return "ding"


class Chatty(Office):
    """Its `relay` does not look at who listens."""

    def relay(self, state: Any, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return f"({turn.speaker} said {turn.text})"


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([calls("look_up", "Let me look."), "It was sent."], "Let me look.\nIt was sent."),
        ([calls("look_up", "It was sent."), ""], "It was sent."),
        ([calls("look_up", "One."), calls("look_up", " \n"), calls("look_up", "Two."), "Three."], "One.\nTwo.\nThree."),
        ([calls("look_up", "\u200b"), "It was sent.", "\ufeff\u2060"], "It was sent."),
        ([calls("look_up"), "  It was sent.  "], "  It was sent.  "),
        ([calls("ring", "Hear!"), "   "], "Hear!"),
        ([calls("ring"), ""], "ding"),
        ([calls("look_up", "<think>a\nb</think>\n\nOne."), "<think>c</think>Two."], "One.\nTwo."),
        (["[THINK]hm[/THINK]Hello."], "Hello."),
        (["so be it</think>Hello."], "Hello."),
    ],
)
async def test_all_words_of_a_turn_are_told_in_their_order(steps: list[Reply], told: str) -> None:
    game = await play_script(Office(), steps, ["bye"], user={"stop_text": "bye"})
    assert game.stop == ("stop_text", "bye"), game.played.failure
    assert game.models["user"].seen()[-1] == ("user", told)
    assert game.episode.turns[0].text == ("" if told == "ding" else told)


@pytest.mark.parametrize(
    "said", ["", "  \n", "\u200b", "\ufeff \u2060", "<think>What shall I say?</think>", "<think>never closed"]
)
async def test_a_private_tools_result_is_never_told(said: str) -> None:
    game = await play_script(Office(), ["Hello."], [calls("read_secret"), said])
    assert game.played.failure is not None and game.played.failure.kind is FailureKind.USER
    assert "said nothing" in game.played.failure.message
    assert not any(
        "SECRET" in text for request in game.models["policy"].requests for text in map(str, request.messages)
    )
    with_words = await play_script(
        Office(), ["Hello.", "bye"], [calls("read_secret", "Wait."), said], policy={"stop_text": "bye"}
    )
    assert with_words.stop == ("stop_text", "bye")
    assert with_words.models["policy"].seen()[-1] == ("user", "Wait.")


async def test_the_results_of_tools_that_both_may_call_are_told_and_no_others() -> None:
    game = await play_script(Office(), [calls("look_up"), calls("ring"), ""], ["bye"], user={"stop_text": "bye"})
    assert game.models["user"].seen()[-1] == ("user", "ding")
    unknown = await play_script(
        Office(), [calls("no_such_tool"), calls("ring"), ""], ["bye"], user={"stop_text": "bye"}
    )
    assert unknown.models["user"].seen()[-1] == ("user", "ding")


class Line(Office):
    """Two tools may fail: one for both sides, and one of the policy's."""

    @tool()
    def lift(self, state: Any, caller: Participant, floor: int) -> str:
        if floor > 9:
            raise ToolError(f"the {caller.name} has no key to floor {floor}")
        return f"floor {floor}"

    @tool(participants=("policy",))
    def line_test(self, state: Any, caller: Participant) -> str:
        return "LINE: up"


@pytest.mark.parametrize(
    "refused",
    [
        calls("line_test"),
        calls("no_such_tool"),
        calls("lift", floor="4711"),
        calls("lift"),
        calls("lift", floor=4711),
        calls("read_secret", key="4711"),
        calls(""),
    ],
)
async def test_a_refused_call_is_never_told(refused: Reply) -> None:
    game = await play_script(
        Line(), ["Hello.", "bye"], [refused, calls("lift", floor=3), ""], policy={"stop_text": "bye"}
    )
    assert game.stop == ("stop_text", "bye"), game.played.failure
    assert game.models["policy"].seen()[-1] == ("user", "floor 3")
    [turn] = [turn for turn in game.episode.turns if turn.speaker == "user"]
    assert len(turn.tool_results) == 2 and turn.tool_errors == 1  # its own relay may still tell of it
    alone = await play_script(Line(), ["Hello.", "bye"], [refused, ""], policy={"stop_text": "bye"})
    assert alone.played.failure is not None and "said nothing" in alone.played.failure.message
    assert [said for said in alone.models["policy"].seen() if "tool" in said[1] or "4711" in said[1]] == []


@pytest.mark.parametrize(
    "said", ["<think>Shall I say ###STOP###?</think>My order is late.", "[THINK]###STOP###[/THINK]Late."]
)
async def test_thoughts_neither_stop_nor_are_told(said: str) -> None:
    game = await play_script(
        Talk(), ["Hello.", "bye"], [said], user={"stop_text": "###STOP###"}, policy={"stop_text": "bye"}
    )
    assert game.stop == ("stop_text", "bye")
    heard = game.models["policy"].seen()[-1]
    assert heard[0] == "user" and "###STOP###" not in heard[1] and "[" not in heard[1] and "<" not in heard[1]
    [event] = [event for event in game.episode.events if event.kind == "message" and event.participant == "user"]
    assert "###STOP###" in (event.reasoning or "") and event.content == heard[1]


class Mute(Office):
    """Its `relay` tells blank texts."""

    blank = "  \n"

    def relay(self, state: Any, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return self.blank if turn.speaker == "user" else turn.text


@pytest.mark.parametrize("blank", ["  \n", "\u200b", "\u2060\ufeff"])
async def test_a_blank_text_of_relay_tells_nothing(blank: str) -> None:
    muted = Mute()
    muted.blank = blank
    game = await play_script(muted, ["Hello.", "bye"], ["Good day."], policy={"stop_text": "bye"})
    assert game.models["policy"].seen()[0][0] == "user" and game.models["user"].seen() == [("user", "Hello.")]
    assert [event.participant for event in game.episode.events if event.kind == "relay"] == []
    assert all(text.strip(blank) for _, text in game.models["policy"].seen())


class Markup(str):
    """Stands for a class of jinja2, which makes such texts."""


class Templates(Office):
    def opening(self, task: Any, state: Any) -> Opening:
        return Opening(system={"policy": Markup("Be kind.")}, messages={"policy": Markup("Hi.")})

    def relay(self, state: Any, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return Markup(f"<p>{turn.text}</p>")


async def test_texts_of_templates_are_texts() -> None:
    game = await play_script(Templates(), ["Hello.", "bye"], ["Good day."], policy={"stop_text": "bye"})
    assert game.stop == ("stop_text", "bye") and game.models["user"].seen() == [("user", "<p>Hello.</p>")]
    assert {type(event.content) for event in game.episode.events} == {str}


@pytest.mark.parametrize("last", ["", "  \n", "\u200b", "<think>hm</think>\ufeff"])
async def test_the_answer_is_the_last_message_with_words(last: str) -> None:
    game = await play_script(
        Office(), ["Hello.", calls("look_up", "Answer: 4"), last], ["Well?"], policy={"max_turns": 2}
    )
    assert game.episode.answer == "Answer: 4"


async def test_a_speaker_is_not_told_of_its_own_turn() -> None:
    game = await play_script(Chatty(), ["Hello.", "bye"], ["Good day."], policy={"stop_text": "bye"})
    assert game.stop == ("stop_text", "bye")
    assert game.models["policy"].seen() == [
        ("user", "What is 6 times 7?"), ("assistant", "Hello."), ("user", "(user said Good day.)"),
    ]  # fmt: skip
    assert game.models["user"].seen() == [("user", "(policy said Hello.)")]
