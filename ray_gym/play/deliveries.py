"""Knows which of an agent's calls have reached it with their answers.

Agents' clients repeat a call that they got no answer to, in the same words; but the same words are also how another
sample is asked for. The two are told apart by whether the earlier answer was delivered whole: only an answer that was
not is given again.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

PATIENCE_S = 0.3
"""Seconds that a call waits for news of an earlier one in the same words that somebody still seems to wait for: a
client's next request arrives before it is noticed that the client has gone. Samples that are asked for side by side are
late by that much."""
PATIENCE_AGAIN_S = 5.0
"""Seconds of the same wait where the client says that it asks again, or where the earlier answer is on its way."""


@dataclass(slots=True)
class _Call:
    waiting: set[str] = field(default_factory=set)
    """Keys of the callers that asked it, and were not told yet."""
    answered_at: float | None = None
    delivered: bool = False
    seen: bool = False
    """True if anybody has asked it here: of a call that was recorded elsewhere nobody knows whether its answer was
    delivered."""

    def can_be_given(self, says_again: bool, now: float) -> bool:
        """Says whether its answer can be given again, to another caller. A caller that was brought an answer, and is
        long silent, has died on the way.
        """
        is_silent = self.answered_at is not None and now - self.answered_at >= PATIENCE_AGAIN_S
        return not self.delivered and (is_silent if self.waiting else self.seen or says_again)

    def settles_by(self, began: float, says_again: bool) -> float:
        """Returns until when a caller that began to wait at `began` should wait for news of this call (event loop's
        time, seconds).
        """
        if self.delivered or not self.waiting:
            return began
        if self.answered_at is not None:
            return self.answered_at + PATIENCE_AGAIN_S
        return began + (PATIENCE_AGAIN_S if says_again else PATIENCE_S)


class Deliveries:
    """Follows the calls of one session. Calls are named by the keys of their commands; callers, by the keys that their
    requests came with.
    """

    def __init__(self) -> None:
        self._by_digest: dict[bytes, dict[str, _Call]] = {}
        self._asked: dict[str, tuple[bytes, str]] = {}
        """Digest and key of the call that each waiting caller has asked."""
        self._digests: dict[str, bytes] = {}
        """Digests of the commands that were begun, by their keys."""
        self._changed = asyncio.Event()

    def note_begun(self, digest: bytes, key: str) -> None:
        """Takes note that a command of this key is carried out, now or again."""
        self._by_digest.setdefault(digest, {}).setdefault(key, _Call())
        self._digests[key] = digest

    async def key_for(self, digest: bytes, asker: str, says_again: bool) -> str:
        """Returns the key of the command that answers this call: an earlier one's that was not delivered, or the
        asker's own.
        """
        calls, began = self._by_digest.setdefault(digest, {}), _now()
        while asker not in calls:
            earlier = [key for key, call in calls.items() if call.can_be_given(says_again, _now())]
            if earlier:
                return self._wait_for(digest, earlier[-1], asker)
            until = max((call.settles_by(began, says_again) for call in calls.values()), default=began)
            if until <= _now():
                break
            await self._news(until - _now())
        return self._wait_for(digest, asker, asker)

    def note_answered(self, asker: str) -> None:
        """Takes note that the asker's answer is on the way."""
        if asker in self._asked:
            digest, key = self._asked[asker]
            self._by_digest[digest][key].answered_at = _now()
            self._tell()

    def settle(self, asker: str, delivered: bool) -> None:
        """Takes note whether the answer has reached the asker whole."""
        of_its_own = self._digests.get(asker, b""), asker  # it asked for it elsewhere
        digest, key = self._asked.pop(asker, of_its_own)
        if (call := self._by_digest.get(digest, {}).get(key)) is not None:
            call.waiting.discard(asker)
            call.seen, call.delivered = True, call.delivered or delivered
            if key not in self._digests and not call.waiting:  # it was refused
                self._forget(digest, key)
            self._tell()

    def _wait_for(self, digest: bytes, key: str, asker: str) -> str:
        call = self._by_digest.setdefault(digest, {}).setdefault(key, _Call())
        call.waiting.add(asker)
        call.seen, call.answered_at = True, None
        self._asked[asker] = digest, key
        return key

    def _forget(self, digest: bytes, key: str) -> None:
        del self._by_digest[digest][key]
        if not self._by_digest[digest]:
            del self._by_digest[digest]

    async def _news(self, within_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _now() -> float:
    return asyncio.get_running_loop().time()
