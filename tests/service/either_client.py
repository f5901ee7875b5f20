"""Wraps Client and AsyncClient in one interface, so that one test tries both."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any


class EitherClient:
    """Runs asynchronous methods to their end, and returns what they yield as a list."""

    def __init__(self, inner: Any, runner: asyncio.Runner) -> None:
        self._inner = inner
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not inspect.ismethod(found):
            return found

        def called(*args: Any, **options: Any) -> Any:
            given = found(*args, **options)
            if inspect.isasyncgen(given):
                given = _listed(given)
            if inspect.iscoroutine(given):
                given = self._runner.run(given)
            if inspect.isgenerator(given):
                return list(given)
            is_session = type(given).__name__ in ("Session", "AsyncSession")
            return EitherClient(given, self._runner) if is_session else given

        return called


async def _listed(given: Any) -> list[Any]:
    return [one async for one in given]
