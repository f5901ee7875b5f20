"""Checks what a caller hears whose session no worker takes."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ray_gym.openai_api.refused import Refused
from ray_gym.run.driver.tally import Tally
from ray_gym.service.sessions import session_run
from ray_gym.service.sessions.session_run import SessionRun

FULL = "no worker has started within 20 s: a worker asks for 1 CPUs (fanout.cpus_per_worker), and 0 are free"


def run_without_workers(tally: Tally) -> SessionRun:
    """Returns a run of sessions whose driver runs and has no worker."""
    run = SessionRun("mine", *[None] * 3)  # type: ignore[arg-type]
    dispatcher = SimpleNamespace(holder_of=lambda session_id: None)
    run._commits = SimpleNamespace(dispatcher=dispatcher, tally=tally)  # type: ignore[assignment]
    wait: Any = lambda within_s: asyncio.sleep(0.01)  # noqa: E731
    run._driver = SimpleNamespace(workers={}, wait_until_leased=wait)  # type: ignore[assignment]
    return run


@pytest.mark.parametrize(("slow_start", "told"), [(FULL, f": {FULL}"), ("", "")])
async def test_a_session_that_no_worker_takes_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, slow_start: str, told: str
) -> None:
    monkeypatch.setattr(session_run, "LEASE_S", 0.05)
    run = run_without_workers(Tally(1, made=0.0, slow_start=slow_start))
    run._driving = asyncio.create_task(asyncio.sleep(60))
    with pytest.raises(Refused) as refused:
        await run.holder_of("a", lambda: False)
    run._driving.cancel()
    assert (refused.value.status, refused.value.message) == (503, f"no worker has the session now{told}")
