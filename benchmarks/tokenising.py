"""What a step costs as its conversation grows: `python -m benchmarks.tokenising`.

The small model's tokenizer with the template for tools; histories of 1k to 64k tokens; a step adds a tool's result and a message of
the user. Tokenising is timed apart from rendering, and beside it what rivals do: render and tokenise the whole conversation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.command import add_json, begin, positive
from benchmarks.conversation import TOOL, conversation, new_messages
from benchmarks.orchestration import table
from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.deployments.chat.checkpoint import load_tokens
from ray_gym.deployments.small_model import NAME

LENGTHS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
FLAT_WITHIN = 2.0


class TimedTokenizer:
    """A tokenizer that adds up how long it rendered and how long it tokenised."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.tokenising_s = self.rendering_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def encode(self, *arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return self._tokenizer.encode(*arguments, **options)
        finally:
            self.tokenising_s += time.perf_counter() - began

    def apply_chat_template(self, *arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return self._tokenizer.apply_chat_template(*arguments, **options)
        finally:
            self.rendering_s += time.perf_counter() - began


def measure(lengths: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """The best of the repeats, which go round the lengths: whatever else the machine does can only make it longer."""
    tokens = load_tokens(NAME)
    timed = TimedTokenizer(tokens.tokenizer)
    chat_format = ChatFormat(timed, tokens.stop_ids)
    talks = {length: conversation(chat_format, tokens.tokenizer, tokens.stop_ids[0], length) for length in lengths}
    figures: dict[int, list[tuple[float, float, float, float, int]]] = {length: [] for length in lengths}
    for number in range(repeats + 1):
        for length, talk in talks.items():
            messages = [*talk.messages, *new_messages(number)]
            timed.tokenising_s = timed.rendering_s = 0.0
            began = time.perf_counter()
            prompt = chat_format.prompt(messages, [TOOL], len(talk.messages), talk.history)
            step_s, tokenising_s, rendering_s = time.perf_counter() - began, timed.tokenising_s, timed.rendering_s
            if prompt.fork_reason is not None:
                raise RuntimeError(f"a step forked: {prompt.fork_reason}")
            text = tokens.tokenizer.decode(talk.history)
            began = time.perf_counter()
            tokens.tokenizer.encode(text, add_special_tokens=False)
            again_s = time.perf_counter() - began
            if number:  # the first round warms caches up
                figures[length].append((tokenising_s, rendering_s, step_s, again_s, len(prompt.new_ids)))
    return [
        {
            "history (tokens)": len(talks[length].history),
            "messages": len(talks[length].messages),
            "new tokens": rows[0][4],
            "tokenising (ms)": 1000 * min(row[0] for row in rows),
            "all again (ms)": 1000 * min(row[3] for row in rows),
            "rendering (ms)": 1000 * min(row[1] for row in rows),
            "whole step (ms)": 1000 * min(row[2] for row in rows),
        }
        for length, rows in figures.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    given, heading = begin(_parser(), arguments)
    lines = measure(given.lengths, given.repeats)
    times = [line["tokenising (ms)"] for line in lines]
    ratio = max(times) / min(times)
    print(table(lines))
    print(f"\ntokenising a step, slowest over fastest: {ratio:.2f} (bound {FLAT_WITHIN:g})")
    heading.write(given.json, lines=lines, ratio=ratio)
    return 0 if ratio <= FLAT_WITHIN else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tokenising", description=__doc__)
    parser.add_argument("--lengths", type=positive, nargs="+", default=LENGTHS)
    parser.add_argument("--repeats", type=positive, default=15)
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
