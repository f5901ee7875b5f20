"""Converts a sample's tokens to NeMo RL's message log: one message for each span, with log probabilities of generated
tokens only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Log = list[dict[str, Any]]
"""Messages with `role`, `content`, `token_ids` (int [n]) and, if they were generated, `generation_logprobs` (float
[n])."""


def message_log(sample: dict[str, Any], events: dict[int, dict[str, Any]]) -> Log:
    """Returns the message log of a sample, with all its tokens in their order. `events`: rows of the episode's events,
    by their number.

    NeMo RL trains on the role `assistant`. So tokens that were not generated in this sample have the role system, tool
    or user, even if a model said them.
    """
    log: Log = []
    for start, end, generated, seq in _pieces(sample):
        event = events.get(seq, {})
        text = "".join(part["text"] for part in event.get("content") or ())
        message: dict[str, Any] = {
            "role": "assistant" if generated else _prompt_role(event),
            "content": text,
            "token_ids": sample["token_ids"][start:end],
        }
        if generated:
            message["generation_logprobs"] = sample["logprobs"][start:end]
        log.append(message)
    return log


def prompt_length(log: Log) -> int:
    """Returns the number of tokens in a log before the first generated message; all of them if none was generated."""
    length = 0
    for message in log:
        if message["role"] == "assistant":
            break
        length += len(message["token_ids"])
    return length


def token_ids(log: Log, length: int) -> list[int]:
    """Returns the first `length` token ids of a log, or all of them if it has fewer."""
    ids: list[int] = []
    for message in log:
        if len(ids) >= length:
            break
        ids += message["token_ids"]
    return ids[:length]


def split(log: Log, length: int) -> tuple[Log, Log]:
    """Splits a log after `length` tokens, which all belong to the prompt, and returns the parts before and after. A
    message across the border becomes two with the text "".
    """
    before: Log = []
    after: Log = []
    for message in log:
        ids = message["token_ids"]
        room = max(0, length - sum(len(one["token_ids"]) for one in before)) if not after else 0
        if room >= len(ids):
            before.append(message)
        elif room:
            before.append({**message, "content": "", "token_ids": ids[:room]})
            after.append({**message, "content": "", "token_ids": ids[room:]})
        else:
            after.append(message)
    return before, after


def _pieces(sample: dict[str, Any]) -> Iterator[tuple[int, int, bool, int]]:
    """Yields the spans of a sample as (start, end, generated, event number), and the gaps between them with event
    number -1.
    """
    position = 0
    for span in sample["spans"]:
        if span["start"] > position:
            yield position, span["start"], False, -1
        yield span["start"], span["end"], span["generated"], span["event_seq"]
        position = span["end"]
    if position < len(sample["token_ids"]):
        yield position, len(sample["token_ids"]), False, -1


def _prompt_role(event: dict[str, Any]) -> str:
    role = event.get("role")
    return role if role in ("system", "tool") else "user"
