"""Server-sent events, parsed as the WHATWG's HTML standard says (9.2.6, interpreting an event stream). Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class ServerSentEvent:
    type: str
    data: str
    id: str
    """The last one that the stream has said, perhaps with an earlier event."""


class EventParser:
    """Of one connection. An event that isn't complete when the connection ends is none."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry_s: float | None = None
        """How long the server wants clients to wait before they connect again."""
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")  # drops a byte order mark at the start
        self._unfinished: list[str] = []
        self._after_return = False
        self._id = last_id
        self._type = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """The events that end in this piece."""
        for line in self._lines(self._decoder.decode(piece)):
            if line:
                self._take(line)
            elif (event := self._dispatch()) is not None:
                yield event

    def _lines(self, text: str) -> Iterator[str]:
        """Lines that end in this text, without their ends. A return and a line feed may come in two pieces."""
        if self._after_return and text:
            text = text.removeprefix("\n")
            self._after_return = False
        start = 0
        for end in _LINE_END.finditer(text):
            yield "".join([*self._unfinished, text[start : end.start()]])
            self._unfinished.clear()
            start = end.end()
        self._after_return = self._after_return or text.endswith("\r")
        if start < len(text):
            self._unfinished.append(text[start:])

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and re.fullmatch("[0-9]{1,9}", value):
            self.retry_s = int(value) / 1000
        # a line that begins with a colon is a comment (its name is empty); unknown fields are ignored

    def _dispatch(self) -> ServerSentEvent | None:
        self.last_id = self._id
        event = ServerSentEvent(self._type or "message", "\n".join(self._data), self._id) if self._data else None
        self._type, self._data = "", []
        return event
