"""Makes a folder of runs for the tests in a browser: two that can be compared, hostile text, damage, and long samples."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from shown_runs import damage, episode, event, sample, write

TASKS, REPEATS = 20, 4
TOOLS = {"policy": [{"type": "function", "function": {"name": "look_up", "description": "Finds an order."}}]}
LONG = 100_000
"""Tokens of the longest sample."""
PAYLOADS = [
    "<script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "<svg/onload=document.title='taken'>",
    "\"><script>document.title='taken'</script>",
    "'><img src=x onerror=document.title='taken'>",
    "javascript:document.title='taken'",
    "<iframe srcdoc=\"<script>parent.document.title='taken'</script>\"></iframe>",
    "<object data=javascript:alert(1)>",
    "<embed src=//evil.example/x>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{display:none}</style>",
    "<form action=//evil.example><input autofocus onfocus=document.title='taken'></form>",
    "<a href=//evil.example target=_top>press</a>",
    "<video><source onerror=document.title='taken'>",
    "<details open ontoggle=document.title='taken'>",
    "<math><mtext><table><mglyph><style><img src=x onerror=document.title='taken'>",
    "[link](javascript:document.title='taken')",
    "![picture](//evil.example/x.png)",
    "{{constructor.constructor('document.title=1')()}}",
    "${document.title='taken'}",
    "<!--", "]]>", "<![CDATA[", "</textarea><script>document.title='taken'</script>",
    "%3Cscript%3Edocument.title='taken'%3C/script%3E",
    "\\u003cscript\\u003edocument.title='taken'\\u003c/script\\u003e",
    "__proto__", "constructor", "toString",
    "\u202egnissel\u202c", "\u2066left\u2069", "\u200b\u200d\ufeff", "\U000e0041\U000e0042",
    "\x1b]8;;http://evil.example\x07press\x1b]8;;\x07", "\x1b[31mred", "a\x00b", "\u2028\u2029", "\r\n\r\n",
    "x" * 5000,
]  # fmt: skip
"""Texts of which none may be anything but text."""


def talk(number: int, reward: float | None, **given: Any) -> dict[str, Any]:
    """Returns an episode in which a user asks, the policy calls a tool, and a judge looks at it."""
    start = 100.0 + number
    call = {"id": "c1", "name": "look_up", "arguments": json.dumps({"order": number, "customer": 2**53 + 1})}
    broken = number % 10 == 3
    events = [
        event(0, "system", "You sell tea.", turn=-1, role="system"),
        event(1, "message", f"Where is order {number}?", "user", visible_to=["user", "policy"], started_at=start),
        event(2, "relay", f"Where is order {number}?", "user", visible_to=["policy"], started_at=start + 1),
        event(3, "message", "", tool_calls=[call], reasoning="I have to look it up.", started_at=start + 1),
        event(4, "tool_result", "It is lost." if broken else "It is here.", tool_call_id="c1", started_at=start + 2),
        event(5, "message", f"Order {number} is on its way.", visible_to=["policy", "user"], started_at=start + 3),
        event(6, "judge", "Was that right?", "judge", role="user", visible_to=["judge"], started_at=start + 4),
        event(7, "judge", "YES", "judge", role="assistant", visible_to=["judge"], started_at=start + 4),
        event(8, "verdict", "the judge said YES", None, reward=reward, visible_to=[]),
    ]
    if broken:
        events[4]["error"] = "the database is locked"
    samples = [sample(60, 30)] if reward is not None else []
    if number % 5 == 0 and samples:
        samples.append(sample(70, 20, fork_reason="edited_history", token_ids=[*range(10, 50), *range(100, 130)]))
    task = number // REPEATS
    named = {"task_id": f"t{task}", "group_id": f"g{task}", "repeat": number % REPEATS, "group_size": REPEATS}
    talked = {"events": events, "samples": samples, "tools_shown": json.dumps(TOOLS), "turns": number % 7 + 1}
    return episode(number, reward, **{**named, **talked, **given})


def hostile(number: int, text: str) -> dict[str, Any]:
    """Returns an episode whose every text is a payload."""
    row = talk(number, 0.5)
    for one in row["events"]:
        one |= {"content": [{"type": "text", "text": text}], "reasoning": text, "error": text}
        one["tool_calls"] = [{"id": "c1", "name": text, "arguments": text}] if one["tool_calls"] else []
    shown = {text: [{"type": "function", "function": {"name": text, "description": text, "parameters": text}}]}
    failure = {"kind": text, "where": text, "message": text}
    row |= {"task": json.dumps(text), "task_id": text, "stop_text": text, "stop_reason": text, "failure": failure}
    return row | {"traceback": text, "tools_shown": json.dumps(shown), "env_id": text}


def pictured() -> dict[str, Any]:
    """Returns an episode with pictures of its state: a board, Markdown, and each payload in both forms."""
    board = '<table class="board other"><tr><td>X</td><td>O</td></tr></table>'
    good = [("html", board), ("markdown", "# Shelf\n\n| a | b |\n|---|---|\n| 1 | 2 |")]
    bad = [(kind, text) for kind in ("html", "markdown") for text in PAYLOADS]
    made = [{"event_seq": 1, "kind": kind, "text": text} for kind, text in [*good, *bad]]
    return talk(0, 1.0, renderings=made)


def long_sample() -> dict[str, Any]:
    """Returns a sample of LONG tokens in spans of 200, every second of which was generated."""
    spans = [
        {"event_seq": 1, "start": at, "end": at + 200, "generated": at % 400 == 200, "sampling": None, "kind": "plain"}
        for at in range(0, LONG, 200)
    ]
    mask = [int(at % 400 >= 200) for at in range(LONG)]
    drawn = {"loss_mask": mask, "logprobs": [-0.5 * one for one in mask], "spans": spans, "versions": []}
    return sample(LONG, 0, token_ids=[at % 5000 for at in range(LONG)], **drawn)


def make_runs(folder: Path) -> None:
    """Makes the runs `before`, `after`, `hostile`, `pictured`, `damaged` and `long`."""
    rng = random.Random(0)
    rewards = [None if number % 11 == 5 else round(rng.random(), 2) for number in range(TASKS * REPEATS)]
    better = [None if reward is None else min(1.0, reward + 0.25) for reward in rewards]
    for name, given in (("before", rewards), ("after", better)):
        rows = [talk(number, reward) for number, reward in enumerate(given)]
        write(folder / name, *rows[:40], number=1)
        write(folder / name, *rows[40:], number=2)
    write(folder / "hostile", *(hostile(number, text) for number, text in enumerate(PAYLOADS)))
    write(folder / "pictured", pictured())
    file = write(folder / "damaged", *(talk(number, 0.5) for number in range(12)), rows_a_group=4)
    damage(file, 1)
    big = event(1, "message", "lorem ipsum\n" * 900_000)
    write(
        folder / "long", talk(0, 1.0, samples=[long_sample()]), talk(1, 1.0, events=[event(0, "message", "Hi."), big])
    )
