"""Tells the thoughts in a message from its words, for models whose engine has not done so.

Models that reason write their thoughts between marks: `<think>` and `</think>` (DeepSeek R1, Qwen 3 and many more) or
`[THINK]` and `[/THINK]` (Mistral). A prompt may have opened the first thought, so that its first mark is missing.
"""

from __future__ import annotations

from msgspec.structs import replace

from ray_gym.messages import Message

MARKS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))


def tell_apart(text: str) -> tuple[str, str]:
    """Returns the thoughts in a text, and its words without them; both are stripped if there are thoughts, and else the
    thoughts are "" and the words the text as it is. A thought that begins the text and is not closed
    goes to the end. It takes linear time.
    """
    thoughts: list[str] = []
    said = text
    for begin, end in MARKS:
        if begin in said or end in said:
            said = _take_out(said, begin, end, thoughts)
    if said == text:
        return "", text
    return "\n".join(thought for thought in map(str.strip, thoughts) if thought), said.strip()


def with_thoughts_apart(message: Message) -> Message:
    """Returns a message whose thoughts are its `reasoning`, after those that it has there already."""
    thoughts, said = tell_apart(message.content)
    if said == message.content:
        return message
    reasoning = "\n".join(part for part in (message.reasoning, thoughts) if part)
    return replace(message, content=said, reasoning=reasoning or None)


def _take_out(text: str, begin: str, end: str, thoughts: list[str]) -> str:
    """Returns a text without its thoughts, which are appended to `thoughts`."""
    *closed, rest = text.split(end)
    kept: list[str] = []
    for index, part in enumerate(closed):
        before, mark, thought = part.partition(begin)
        if mark or index:  # without a mark it was opened by the prompt, or closes nothing
            kept.append(before)
            thoughts.append(thought)
        else:
            thoughts.append(part)
    said = "".join([*kept, rest])
    if not said.lstrip().startswith(begin):
        return said
    thoughts.append(said.lstrip().removeprefix(begin))  # it goes to the end
    return ""
