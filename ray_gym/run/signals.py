"""Says which signals stop a run or a service, and lets them unwind what was started."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

AGAIN_S = 0.05
"""Seconds after which a signal is sent again whose error was dropped."""


def stop_signals() -> list[signal.Signals]:
    """Returns SIGINT, SIGTERM and SIGHUP, which a terminal sends that is closed; without SIGHUP where it is ignored, as
    under `nohup`. (SIGINT counts although it may be ignored: a shell does that to what its scripts start in the
    background.)
    """
    hangs_up = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hangs_up else [])]


def leave_within(seconds: float) -> None:
    """Has this process end with exit code 0 after `seconds`, if threads or handlers of others keep it from ending before. To be
    called when everything is done.
    """
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()


@contextmanager
def unwind_on_signals() -> Iterator[None]:
    """Makes the signals that stop raise KeyboardInterrupt while the block runs, so that models are taken down even while
    they are loading. One that comes where Python drops errors (in a `__del__`, or in what `logging` does at a fork) is sent
    again. The earlier handlers are put back afterwards. Errors: ValueError outside of the main thread.
    """
    tell = sys.unraisablehook

    def send_again(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.SIGINT)).start()
        else:
            tell(dropped)

    before = {number: signal.signal(number, signal.default_int_handler) for number in stop_signals()}
    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = tell
        _put_back(before)


@contextmanager
def call_on_signals(call: Callable[[], object]) -> Iterator[None]:
    """Makes the signals that stop call a function while the block runs, and nothing else. The earlier handlers are put
    back afterwards. Errors: ValueError outside of the main thread.
    """
    before = {number: signal.signal(number, lambda number, frame: call()) for number in stop_signals()}
    try:
        yield
    finally:
        _put_back(before)


def ignore_signals() -> None:
    """Makes the signals that stop do nothing from now on until this process ends, also after the blocks of this module
    that it is in. It is for a command whose outcome is known, so that it is written and told as it is. Errors: ValueError
    outside of the main thread.
    """
    for number in stop_signals():
        signal.signal(number, _ignore)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Ignores a signal. Unlike SIG_IGN, processes that are started inherit nothing of it."""


def _put_back(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        if signal.getsignal(number) is not _ignore:
            signal.signal(number, handler)


@contextmanager
def hold_signals_back() -> Iterator[None]:
    """Holds the signals that stop back while the block runs, for calls that leave half a thing behind if an exception comes
    out of them. The last one is sent again AGAIN_S seconds after the block. Outside of the main thread, which alone
    gets signals, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in stop_signals()}
    before = {number: handler for number, handler in handlers.items() if handler is not None}  # None: not of Python's
    for number in before:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            threading.Timer(AGAIN_S, os.kill, (os.getpid(), came[-1])).start()


def end_on_signals() -> None:
    """Makes a signal that stops end this process at once, with a line and exit code 1. It is for a process that is ending
    anyway: a KeyboardInterrupt would be a traceback out of what others do at its end. Signals that `ignore_signals`
    ignores stay so, also when Python has given up its handlers.
    """
    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN if signal.getsignal(number) is _ignore else _end)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"ray-gym: interrupted\n")
    os._exit(1)


def serve_until_signalled(serve: Callable[[], int]) -> int:
    """Runs a server until it ends by itself, and returns its exit code; or until a signal stops it, and returns 0. Errors:
    ValueError outside of the main thread.
    """
    with suppress(KeyboardInterrupt), unwind_on_signals():
        return serve()
    return 0
