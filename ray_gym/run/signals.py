"""Says which signals stop a run or a service, and lets them unwind what was started."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


def stop_signals() -> list[signal.Signals]:
    """Returns SIGINT, SIGTERM and SIGHUP, which a terminal sends that is closed; without SIGHUP where it is ignored, as
    under `nohup`. (SIGINT counts although it may be ignored: a shell does that to what its scripts start in the
    background.)
    """
    hangs_up = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hangs_up else [])]


def heed_interrupts() -> None:
    """Makes SIGINT raise KeyboardInterrupt also where it is ignored, as a shell does that to what its scripts start in the
    background. Call it before imports: what comes while a signal is ignored is lost. Errors: ValueError outside of the
    main thread.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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


def serve_until_signalled(serve: Callable[[], int]) -> int:
    """Runs a server until it ends by itself, and returns its exit code; or until a signal stops it, and returns 0. Errors:
    ValueError outside of the main thread.
    """
    with suppress(KeyboardInterrupt), unwind_on_signals():
        return serve()
    return 0
