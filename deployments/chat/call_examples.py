"""Tells calls from examples of them, in formats whose calls have no marks."""

from __future__ import annotations

import re

from ray_gym.deployments.chat.call_pieces import end_of_json

_OPENED = re.compile(r"(?<!``)`\Z")  # and no code block
_QUOTED = re.compile(r"`\{[^`]*\}`")


def is_no_example(answer: str, start: int, end: int, _begin: str) -> bool:
    """Returns True unless a call of JSON is between backquotes, and words are behind it. `start`, `end`: indexes of its
    beginning, as `Frame.when` takes them.
    """
    if start != end or not _OPENED.search(answer, max(start - 3, 0), start):
        return True
    stop = end_of_json(answer, end)
    if stop is None or answer[stop : stop + 1] != "`":
        return True
    if not answer[stop + 1 :].strip():  # it ends the answer
        return True
    beside = _QUOTED.sub("", answer[: start - 1] + answer[stop + 1 :])
    return re.search(r"\w", beside) is None
