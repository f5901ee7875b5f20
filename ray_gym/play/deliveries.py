"""Tracks which answers have reached the agent that asked for them.

A client of an agent repeats a call to which it got no answer, in the same words; but the same words also ask for
another sample. The two are told apart by the earlier answer: it is given again only if it was not delivered whole.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

PATIENCE_S = 0.3
"""Seconds that a call waits for news of an earlier call in the same words that still has a caller.

A client's next request may arrive before the server notices that the client has left. Samples that are asked for side
by side start late by this time."""
PATIENCE_AGAIN_S = 5.0
"""Seconds of the same wait if the client says that it repeats a call, or if the earlier answer is on its way."""


@dataclass(slots=True)
class _Call:
    waiting: set[str] = field(default_factory=set)
    """Keys of the callers that wait for its answer."""
    answered_at: float | None = None
    """Time (event loop's, seconds) at which the answer was sent to a caller; None while it is not."""
    delivered: bool = False
    """True once the answer has reached a caller whole."""
    seen: bool = False
    """True if a caller has asked it here. If it was recorded by another worker, nobody knows whether its answer was
    delivered."""

    def can_be_given(self, says_again: bool, now: float) -> bool:
        """Says whether the call's answer may be given to another caller: it was not delivered, and nobody waits for it.

        A caller that was sent an answer, and has been silent for long, does not count as waiting. If no caller has
        asked the call here, `says_again` has to be True. `now`: event loop's time, seconds.
        """
        is_silent = self.answered_at is not None and now - self.answered_at >= PATIENCE_AGAIN_S
        return not self.delivered and (is_silent if self.waiting else self.seen or says_again)

    def settles_by(self, began: float, says_again: bool) -> float:
        """Returns the time (event loop's, seconds) until which a caller that began to wait at `began` should wait for
        news of this call. `says_again`: True if that caller says that it repeats a call, which makes the wait longer.
        """
        if self.delivered or not self.waiting:
            return began
        if self.answered_at is not None:
            return self.answered_at + PATIENCE_AGAIN_S
        return began + (PATIENCE_AGAIN_S if says_again else PATIENCE_S)


class Deliveries:
    """Tracks the deliveries of one session. A call is named by the key of its command; a caller (`asker`), by the key
    of its request.
    """

    def __init__(self) -> None:
        self._by_digest: dict[bytes, dict[str, _Call]] = {}
        self._asked: dict[str, tuple[bytes, str]] = {}
        """Digest and key of the call that each waiting caller has asked."""
        self._digests: dict[str, bytes] = {}
        """Digests of the commands that were begun, by their keys."""
        self._changed = asyncio.Event()

    def note_begun(self, digest: bytes, key: str) -> None:
        """Records that the command with this key is carried out, for the first time or again."""
        self._by_digest.setdefault(digest, {}).setdefault(key, _Call())
        self._digests[key] = digest

    async def key_for(self, digest: bytes, asker: str, says_again: bool) -> str:
        """Returns the key of the command that answers a call, after waiting for news of earlier calls in the same
        words.

        It is the key of an earlier call whose answer was not delivered, or else the asker's own. `says_again`: the
        client says that it repeats a call.
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
        """Records that the asker's answer is on its way."""
        if asker in self._asked:
            digest, key = self._asked[asker]
            self._by_digest[digest][key].answered_at = _now()
            self._tell()

    def settle(self, asker: str, delivered: bool) -> None:
        """Records whether the whole answer has reached the asker (`delivered`), who does not wait any more."""
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
