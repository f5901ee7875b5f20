"""Defines scripted players that say nothing of use, that act at random, and that misbehave.

Their messages depend on the request and its seed alone.
"""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Mapping

from ray_gym.check.arguments import BROKEN, UNKNOWN, fitting_arguments
from ray_gym.check.mangle import mangle
from ray_gym.check.texts import odd_text
from ray_gym.graders.judge import BETWEEN, ONE_OF
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.tools.tool import Tool

MOST_CALLS = 6
"""Most tool calls of one message."""
_WORD = re.compile(r"[\w.:@-]+")


def null_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Answers every request by an empty message or by "I don't know."."""
    return Message("assistant", rng.choice(("", "I don't know.", "I don't know.")))


def random_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Calls a tool that it is offered, with words of the conversation as arguments, or says some of these words."""
    seen = _WORD.findall("\n".join(message.content[-2_000:] for message in request.messages)) or ["yes"]

    def words() -> str:
        return " ".join(rng.choices(seen, k=rng.randint(1, 3)))

    if request.tools and rng.random() < 0.7:
        tool = rng.choice(request.tools)
        return Message("assistant", tool_calls=(_call(rng, tool.name, fitting_arguments(tool, rng, words)),))
    return Message("assistant", rng.choice(("", "OK. ", r"\boxed{", "Answer: ")) + words())


def random_judge(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays at random, but gives one of the labels where a `Judge` asks again for one: else no episode had a score."""
    _, asked, labels = request.messages[-1].content.rpartition(ONE_OF)
    return Message("assistant", rng.choice(labels.split(BETWEEN))) if asked else random_player(request, rng)


def nasty_player(tools: Mapping[str, Tool], perfect: Player | None = None) -> Player:
    """Makes a player whose messages nobody expects: odd or empty texts, broken arguments, unknown tools and those of
    others, the same call again, many calls at once.

    `tools` are all tools of the environment by name. `perfect`: a player whose messages it sometimes gives, right or
    spoilt; None: there is none.
    """

    async def player(request: CompletionRequest, rng: random.Random) -> Message:
        if perfect is not None and rng.random() < 0.4:
            right = await _right_move(perfect, request, rng)
            return right if rng.random() < 0.3 else mangle(right, rng)
        text = odd_text(rng)
        if (not tools and rng.random() < 0.8) or rng.random() < 0.2:
            return Message("assistant", text, reasoning=rng.choice((None, odd_text(rng))))
        own = [message for message in request.messages if message.role == "assistant" and message.tool_calls]
        if own and rng.random() < 0.2:
            return own[-1]
        count = rng.choice((1, 1, 2, MOST_CALLS))
        calls = [_nasty_call(list(request.tools), tools, rng) for _ in range(count)]
        return Message("assistant", rng.choice(("", text)), tool_calls=tuple(calls))

    return player


async def _right_move(perfect: Player, request: CompletionRequest, rng: random.Random) -> Message:
    """Returns the perfect player's message, or "Pardon?" if it raises, since it may not cope with this conversation."""
    try:
        done = perfect(request, rng)
        return await done if inspect.isawaitable(done) else done
    except (Exception, SystemExit):
        return Message("assistant", "Pardon?")


def _nasty_call(offered: list[ToolSchema], tools: Mapping[str, Tool], rng: random.Random) -> ToolCall:
    def text() -> str:
        return odd_text(rng) if rng.random() < 0.7 else rng.choice(("yes", "0", "a b"))

    kind = rng.randrange(5)
    if kind == 0 or not tools:
        return _call(rng, rng.choice(("no_such_tool", "", "__class__", "score", "\u202e", "setup")), "{}")
    schema = rng.choice([tool.schema for tool in tools.values()] if kind == 1 or not offered else offered)
    arguments = rng.choice((*BROKEN, UNKNOWN)) if kind == 2 else fitting_arguments(schema, rng, text)
    return _call(rng, schema.name, arguments)


def _call(rng: random.Random, name: str, arguments: str) -> ToolCall:
    return ToolCall(f"call_{rng.getrandbits(64):016x}", name, arguments)
