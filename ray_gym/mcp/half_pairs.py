"""Reads what servers answer over HTTP without half surrogate pairs, for which the protocol's client refuses an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ray_gym.half_pairs import HalfPairs


def whole_pairs(stream: Any) -> Any:
    """Returns a stream of a body's bytes in which escapes of half pairs are "?". `stream`: an `AsyncByteStream` of httpx."""
    from httpx2 import AsyncByteStream

    class WholePairs(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            pairs = HalfPairs()
            async for piece in stream:
                yield pairs.feed(piece)
            yield pairs.end()

        async def aclose(self) -> None:
            await stream.aclose()

    return WholePairs()
