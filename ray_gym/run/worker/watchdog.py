"""Ends a worker whose event loop is stuck, whose memory is over its limit, or whose journal was fenced (another worker
has taken its episodes over), and leaves behind where code ends it by `os._exit`.

It runs in a thread, because a stuck event loop can't watch itself. Such a process can't be repaired: the charge is
handed to `on_end`, and the process ends by SIGKILL. Code that holds the GIL also stops this thread. Then the driver has
to notice that the worker does not answer, and a `StackFile` says where it was, as of a crash.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NoReturn

from ray_gym.engines import scripted_model
from ray_gym.episode.episode import Episode
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.stacks import StackFile
from ray_gym.plugins import package_of
from ray_gym.printable import printable

BEAT_S = 0.5
"""Seconds between two beats of the event loop, and between two looks at them."""
FENCE_S = 1.0
"""Seconds between two calls of `is_fenced`."""
ON_END_S = 5.0
"""Seconds that `on_end` may take. It may wait for a lock that the stuck event loop holds."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Says why a worker is ended, and which episode caused it if one is to blame."""

    reason: Literal["stuck", "memory", "fenced"]
    episode_id: str | None
    """Id of the episode that was running on the event loop; None if there was none, or it is not known."""
    attempt: int | None
    """Attempt of that episode; None if there is no such episode."""
    message: str


class Watchdog:
    """Watches an event loop from a thread, and kills the process if something is wrong. `start` and `stop` are called
    on the event loop's thread; `on_end` and `is_fenced` are called on the watchdog's threads.

    It kills when a callback blocks the event loop for `stuck_after_s` seconds, when the resident memory exceeds
    `memory_limit_bytes` (None: no limit), or when `is_fenced` returns True. Before that, `on_end` gets the charge.
    While `is_fenced` blocks, nothing is watched. `os._exit` leaves its caller's place behind.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stuck_after_s: float,
        memory_limit_bytes: int | None,
        on_end: Callable[[Charge], None],
        is_fenced: Callable[[], bool],
        stacks: StackFile | None = None,
    ) -> None:
        self._loop = loop
        self._stacks = stacks
        self._loop_thread = 0
        self._stuck_after_s = stuck_after_s
        self._memory_limit = memory_limit_bytes
        self._on_end = on_end
        self._is_fenced = is_fenced
        self._has_beaten = threading.Event()
        self._beat: asyncio.TimerHandle | None = None
        self._stopped = threading.Event()
        self._process = os.getpid()
        self._exit = os._exit

    def start(self) -> None:
        """Starts the beats of the event loop, and the thread that watches them."""
        self._loop_thread = threading.get_ident()
        self._tick()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        os._exit = self._note_exit

    def stop(self) -> None:
        """Stops watching; the process is not ended any more."""
        self._stopped.set()
        os._exit = self._exit
        if self._beat is not None:
            self._beat.cancel()
        if self._stacks is not None:
            self._stacks.stop()

    def _note_exit(self, status: int) -> NoReturn:
        """Ends the process, as `os._exit` does, and leaves behind where code calls it, unless that is a forked process."""
        if os.getpid() == self._process and self._stacks is not None:
            self._stacks.write_exit()
        self._exit(status)

    def _tick(self) -> None:
        """Records that the event loop runs, and schedules the next beat."""
        self._has_beaten.set()
        if self._stacks is not None:
            self._stacks.go_on()
        self._beat = self._loop.call_later(BEAT_S, self._tick)

    # ---- the thread ----

    def _watch(self) -> None:
        blocked_s, fence_s, looked_at = 0.0, 0.0, time.monotonic()
        while not self._stopped.wait(BEAT_S):
            now = time.monotonic()
            # While the whole process was suspended the loop was not stuck: such a gap counts as two beats at most.
            passed_s, looked_at = min(now - looked_at, 2 * BEAT_S), now
            blocked_s = 0.0 if self._has_beaten.is_set() else blocked_s + passed_s
            self._has_beaten.clear()
            fence_s += passed_s if passed_s < 2 * BEAT_S else -fence_s  # who was suspended may take a breath first
            if fence_s >= FENCE_S:
                fence_s = 0.0
                if self._ask_if_fenced():
                    self._end(Charge("fenced", None, None, "another attempt has taken this worker's episodes over"))
            charge = self._judge(blocked_s)
            if charge is not None:
                self._end(charge)

    def _judge(self, blocked_s: float) -> Charge | None:
        memory = memory_bytes()
        if self._memory_limit is not None and memory > self._memory_limit:
            message = f"the worker took {_in_mb(memory)} of memory, over its limit of {_in_mb(self._memory_limit)}"
            # An episode is to blame only if the loop is inside it, rather than passing through it by chance.
            running = self._running_code() if blocked_s > 0 else None
            return _charge("memory", message, running if running and not self._goes_on() else None)
        if blocked_s >= self._stuck_after_s:
            running = self._running_code()
            if not self._has_beaten.is_set():  # else it came free just now, and another episode may be running
                return _charge("stuck", f"the event loop was blocked for {blocked_s:.0f} s", running)
        return None

    def _goes_on(self) -> bool:
        """Says whether the event loop still runs callbacks, within `BEAT_S` seconds. On a busy machine, the process may
        only have missed its turn.
        """
        came_round = threading.Event()
        try:
            self._loop.call_soon_threadsafe(came_round.set)
        except RuntimeError:  # closed meanwhile
            return False
        return came_round.wait(BEAT_S)

    def _ask_if_fenced(self) -> bool:
        """Says whether the worker was fenced. A failed check counts as no, since the journal may be out of reach for a
        while.
        """
        try:
            return self._is_fenced()
        except Exception:
            sys.stderr.write(printable(traceback.format_exc()))
            return False

    def _running_code(self) -> RunningCode | None:
        return find_running(sys._current_frames().get(self._loop_thread))

    def _end(self, charge: Charge) -> None:
        """Calls `on_end` in a thread, waits for it `ON_END_S` seconds at most, and kills the process. Does nothing if
        the watchdog was stopped.
        """
        if self._stopped.is_set():
            return
        telling = threading.Thread(target=self._on_end, args=(charge,), name="watchdog-end", daemon=True)
        try:
            telling.start()
            telling.join(ON_END_S)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)


# ---- what the loop is doing ----


_IN_A_THREAD = "have what it waits for run in a thread: `await episode.in_thread(function, ...)`"
_CANT_AWAIT = ("tools_for", "opening", "next_speaker", "relay", "narrow", "finished", "render", "perfect")
_HOOKS = (*_CANT_AWAIT, "setup", "furnish", "run", "score", "score_group")


@dataclass(frozen=True, slots=True)
class RunningCode:
    """Names the episode and the place of the code that runs on an event loop."""

    spec: EpisodeSpec | None
    """Specification of the episode; None if none is running."""
    place: str
    """Function, file and line."""
    remedy: str = ""
    """Words for its author, who has to keep it from blocking the loop; empty if the code is nobody's in particular."""


def find_running(innermost: FrameType | None) -> RunningCode | None:
    """Returns the episode that a stack is running, and the innermost place in the code of its environment; None if
    there is no stack.

    Without such a place, or without an episode in the stack, it is the innermost place of all. `innermost`: the
    innermost frame of the stack.
    """
    if innermost is None:
        return None
    stack = list(frames_outwards(innermost))
    episode = next((value for frame in stack for value in frame.f_locals.values() if isinstance(value, Episode)), None)
    if episode is None:
        spec = next(
            (value for frame in stack for value in frame.f_locals.values() if isinstance(value, EpisodeSpec)), None
        )
        return RunningCode(spec, _place(innermost), _IN_A_THREAD if spec else "")
    place = authors_place(stack, episode.environment) or _place(innermost)
    return RunningCode(episode.spec, place, _remedy(place, stack, episode.environment))


def _remedy(place: str, stack: Sequence[FrameType], environment: Any) -> str:
    """Returns what the author of code that blocks the event loop can do: of a tool, a player, a hook that can't await, or
    another one. `stack`: frames, the innermost first.
    """
    if place.startswith("tool "):
        return "declare it with @tool(blocking=True), and it runs in a thread"
    for frame in stack:
        name = frame.f_code.co_name
        if frame.f_globals.get("__name__") == scripted_model.__name__:
            return "write the player with async def, and have it `await asyncio.to_thread(function, ...)`"
        if name in _HOOKS and any(value is environment for value in frame.f_locals.values()):
            if name in _CANT_AWAIT:
                return f"do it in `setup`, `run` or a tool, since `{name}` can't wait: `await episode.in_thread(function, ...)`"
            break
    return _IN_A_THREAD


def frames_outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yields a frame and its callers, the innermost first; nothing for None."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def authors_place(stack: Sequence[FrameType], environment: Any) -> str | None:
    """Returns a text that names the innermost place in the environment's own package, and the tool or the hook of the
    environment through which it was called, if any; None if no frame is of that package. `stack`: frames, the innermost
    first.
    """
    package = package_of(type(environment).__module__)
    own = [frame for frame in stack if package_of(str(frame.f_globals.get("__name__"))) == package]
    if not own:
        return None
    for frame in own:
        name = frame.f_code.co_name
        is_tool = name in environment.tools
        if (is_tool or name in _HOOKS) and any(value is environment for value in frame.f_locals.values()):
            inside = "" if frame is own[0] else f" in {own[0].f_code.co_qualname}"
            return f"{f'tool {name}' if is_tool else frame.f_code.co_qualname} ({_line(own[0])}{inside})"
    return _place(own[0])


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_qualname} ({_line(frame)})"


def _line(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _hint(reason: str, running: RunningCode) -> str:
    """Returns what an author can do about code that blocks the event loop; "" where it has other faults."""
    return f"; {running.remedy}" if reason == "stuck" and running.remedy else ""


def _charge(reason: Literal["stuck", "memory"], message: str, running: RunningCode | None) -> Charge:
    if running is None:
        return Charge(reason, None, None, message)
    spec, comma = running.spec, "," if reason == "memory" else ""
    message = f"{message}{comma} in {running.place}{_hint(reason, running)}"
    return Charge(reason, spec.episode_id if spec else None, spec.attempt if spec else None, message)


# ---- memory ----


def memory_bytes() -> int:
    """Returns the resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * resource.getpagesize()


def _in_mb(size: int) -> str:
    return f"{size / 2**20:.0f} MB"
