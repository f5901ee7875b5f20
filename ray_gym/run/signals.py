"""Says which signals stop a run or a service, and lets them unwind what was started."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


def stop_signals() -> list[signal.Signals]:
    """Returns SIGINT, SIGTERM and SIGHUP, which a terminal sends that is closed; without SIGHUP where it is ignored, as
    under `nohup`. (SIGINT counts although it may be ignored: a shell does that to what its scripts start in the
    background.)
    """
    hangs_up = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hangs_up else [])]


@contextmanager
def unwind_on_signals() -> Iterator[None]:
    """Makes the signals that stop raise KeyboardInterrupt while the block runs, so that models are taken down even while
    they are loading. The earlier handlers are put back afterwards. Errors: ValueError outside of the main thread.
    """
    before = {number: signal.signal(number, signal.default_int_handler) for number in stop_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
