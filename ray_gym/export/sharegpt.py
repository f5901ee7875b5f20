"""Writes conversations in the ShareGPT form, as LLaMA-Factory reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

from ray_gym.export.chats import ChatOptions, Chats, View
from ray_gym.export.conversation import Chat
from ray_gym.export.selection import Counts, LeftOut
from ray_gym.run.directory.reading import Run

NOT_IN_TURNS = "conversations that are not turn and turn about, which LLaMA-Factory skips"
WORDS_BESIDE_CALLS = "conversations with words beside a tool call, which ShareGPT has no place for"
LATER_SYSTEM = "conversations with a system message that is not the first"
JOINED = "conversations with messages of the user in a row, which were joined"

BETWEEN_RESULTS = "\n</tool_response>\n<tool_response>\n"
"""Text between the results of parallel calls, as LLaMA-Factory's own converter of OpenAI's messages joins them."""
ASKED, ANSWERED = ("human", "observation"), ("gpt", "function_call")
"""Values of `from` in the odd and in the even turns."""


class SharegptOptions(ChatOptions):
    """Holds the options of `--form sharegpt`."""

    strict: bool = True
    """True to leave out conversations that are not turn and turn about. Only other readers than LLaMA-Factory take
    them."""


@dataclass(frozen=True)
class Sharegpt(Chats):
    """Writes the turns of a participant's conversation: `conversations`, `system`, and `tools` as a JSON text."""

    strict: bool = True
    """True to leave out conversations that are not turn and turn about."""
    Options = SharegptOptions
    to = "sharegpt"

    @classmethod
    @contextmanager
    def open_form(cls, options: Any, run: Run) -> Iterator[Self]:
        """Makes the form of `SharegptOptions`, and closes its source of tools after the block."""
        with super().open_form(options, run) as form:
            yield replace(form, strict=options.strict)

    def fields(self, view: View, counts: Counts) -> dict[str, Any]:
        """Returns the turns, the system prompt and the tools. Errors: LeftOut for a conversation that the form can't
        hold.
        """
        messages = view.messages
        system = ""
        if messages[0]["role"] == "system":
            system, messages = messages[0]["content"], messages[1:]
        turns = _turns(messages)
        if self.strict and not _are_in_turns(turns):
            raise LeftOut(NOT_IN_TURNS)
        counts.notes[JOINED] += any(one["role"] == other["role"] == "user" for one, other in pairwise(messages))
        tools = [tool["function"] for tool in view.tools]
        return {
            "conversations": turns,
            "system": system,
            "tools": json.dumps(tools, ensure_ascii=False) if tools else "",
        }


def _turns(messages: Chat) -> list[dict[str, str]]:
    """Returns messages as turns. Messages of the user in a row are one turn, and so are results of tools. Errors:
    LeftOut for words beside a call, and for a system message.
    """
    turns: list[dict[str, str]] = []
    for message in messages:
        turn = _turn(message)
        if turns and turn["from"] == turns[-1]["from"] and turn["from"] in ASKED:
            between = "\n\n" if turn["from"] == "human" else BETWEEN_RESULTS
            turns[-1] = {**turn, "value": turns[-1]["value"] + between + turn["value"]}
        else:
            turns.append(turn)
    return turns


def _are_in_turns(turns: list[dict[str, str]]) -> bool:
    sides = (ASKED, ANSWERED)
    return len(turns) % 2 == 0 and all(turn["from"] in sides[place % 2] for place, turn in enumerate(turns))


def _turn(message: dict[str, Any]) -> dict[str, str]:
    if message["role"] == "system":
        raise LeftOut(LATER_SYSTEM)
    if message["role"] != "assistant":
        return {"from": "observation" if message["role"] == "tool" else "human", "value": message["content"]}
    reasoning = message.get("reasoning_content")
    thought = f"<think>\n{reasoning}\n</think>\n\n" if reasoning else ""
    if "tool_calls" not in message:
        return {"from": "gpt", "value": thought + message["content"]}
    if message["content"].strip():
        raise LeftOut(WORDS_BESIDE_CALLS)
    calls = [{name: call["function"][name] for name in ("name", "arguments")} for call in message["tool_calls"]]
    return {
        "from": "function_call",
        "value": thought + json.dumps(calls if len(calls) > 1 else calls[0], ensure_ascii=False),
    }
