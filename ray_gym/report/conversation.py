"""Shows what happened in an episode: who said what, what each did not see, thoughts, calls, results and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ray_gym.report.bounds import MOST_EVENTS, Allowance
from ray_gym.report.markup import Content, Markup, element
from ray_gym.report.numbers import of, plain, short
from ray_gym.report.texts import folded, json_block, text_block

LANES = 4
"""Number of colours of participants."""
WORDS = {
    "system": "system prompt",
    "opening": "opening",
    "tool_result": "tool result",
    "tool_call": "call from outside",
    "relay": "passed on",
}
"""Words for kinds of events that are not plain by themselves."""
LONGEST_OPEN, LINES_OPEN = 300, 6
"""Characters and lines above which a system prompt, or what a judge is asked, is folded."""
Event = Mapping[str, Any]


def conversation(events: Sequence[Event], tools_shown: str | None, allowance: Allowance) -> Iterator[Content]:
    """Yields the tools that prompts showed, and the events of an episode in order."""
    yield from _tools(tools_shown, allowance)
    names = _participants(events)
    items, shown = list[Markup](), 0
    said: dict[str, str] = {}
    for event in events[:MOST_EVENTS]:
        if allowance.text <= 0:
            break
        items.append(_event(event, names, said, allowance))
        shown += 1
    yield element("ol", items, class_="events", aria_label="What happened")
    if shown < len(events):
        yield element("p", f"{of(len(events) - shown, 'more event')} left out", class_="cut")


def _participants(events: Sequence[Event]) -> list[str]:
    """Returns the names of those who speak or are told something, the policy first; judges have no lane."""
    found = dict.fromkeys(
        name
        for event in events
        if event["kind"] != "judge"
        for name in (event["participant"], *(event["visible_to"] or ()))
        if name
    )
    return sorted(found, key=lambda name: name != "policy")


def _event(event: Event, names: list[str], said: dict[str, str], allowance: Allowance) -> Markup:
    text = "\n".join(part["text"] or "" for part in event["content"] or ())
    kind, who = event["kind"], event["participant"] or ""
    is_repeated = kind == "relay" and bool(text) and said.get(who) == text
    body = [] if is_repeated else list(_body(event, text, allowance))
    if kind == "message":
        said[who] = text
    lane = _lane(event, names)
    known = kind if kind in ("message", "tool_result", "judge", "verdict", "system", "relay", "stop") else "other"
    error = "wrong" if event["error"] else ""
    classes = f"event {known} {error} {'nobody' if lane is None else f'lane-{lane}'}"
    head = element("div", _heading(event, names, is_repeated), class_="who")
    return element("li", head, body, class_=" ".join(classes.split()))


def _lane(event: Event, names: list[str]) -> int | None:
    """Returns the lane of who said an event, or of who is told what another said; None for the environment and judges."""
    told = next(iter(event["visible_to"] or ()), None) if event["kind"] == "relay" else event["participant"]
    return names.index(told) % LANES if told in names and event["kind"] != "judge" else None


def _heading(event: Event, names: list[str], is_repeated: bool) -> Iterator[Content]:
    kind, who, seen = event["kind"], event["participant"], event["visible_to"] or ()
    if kind == "relay":
        yield element("strong", short(", ".join(seen) or "nobody", 60))
        yield f" is told by {short(who or 'the environment', 60)}{' what was said above' if is_repeated else ''}"
    else:
        yield element("strong", short(who or "environment", 60))
        if kind != "message":
            yield f" {_words(event)}"
    if event["turn"] is not None and event["turn"] >= 0 and kind == "message":
        yield element("span", f"turn {event['turn'] + 1}", class_="quiet")
    if kind == "message" and event["duration_s"]:
        yield element("span", f"{event['duration_s']:.1f} s", class_="quiet")
    if unseen := [name for name in names if name not in seen] if kind in ("message", "tool_result", "system") else []:
        yield element("span", f"not seen by {short(', '.join(unseen), 80)}", class_="unseen")
    if event["finish_reason"] == "length":
        yield element("span", "cut at max_tokens", class_="chip bad")
    if event["reward"] is not None:
        yield element("span", f"reward {plain(event['reward'])}", class_="chip")


def _words(event: Event) -> str:
    if event["kind"] == "judge":
        return "answers" if event["role"] == "assistant" else "is asked"
    return WORDS.get(event["kind"]) or short(event["kind"], 40)


def _body(event: Event, text: str, allowance: Allowance) -> Iterator[Content]:
    kind = event["kind"]
    if event["reasoning"]:
        yield folded("thoughts", text_block(event["reasoning"], allowance), class_="thoughts")
    is_long = len(text) > LONGEST_OPEN or text.count("\n") > LINES_OPEN
    if is_long and (kind == "system" or (kind == "judge" and event["role"] != "assistant")):
        yield folded(short(text, 90) or "(nothing)", text_block(text, allowance))
    elif kind == "tool_result":
        yield json_block(text, allowance)
    elif text:
        yield text_block(text, allowance)
    elif kind == "message" and not event["tool_calls"]:
        yield element("p", "(nothing)", class_="quiet")
    for call in event["tool_calls"] or ():
        name = element("code", short(call["name"]) or "(no name)")
        yield element("div", element("div", "calls ", name), json_block(call["arguments"], allowance), class_="call")
        if allowance.text <= 0:
            break
    if event["error"]:
        yield text_block(event["error"], allowance, "error")


def _tools(tools_shown: str | None, allowance: Allowance) -> Iterator[Content]:
    """Yields the tools that the prompts of each participant showed, folded."""
    try:
        shown = json.loads(tools_shown or "{}")
    except ValueError:
        return
    for name, tools in shown.items() if isinstance(shown, dict) else ():
        if tools and allowance.text > 0:
            many = of(len(tools), "tool") if isinstance(tools, list) else "tools"
            yield folded(f"{many} shown to {short(str(name), 60)}", json_block(json.dumps(tools), allowance))
