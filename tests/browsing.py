"""Starts a viewer and a headless Chromium for tests, and notes what a page asks for and complains of."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.viewer import browsed

REPOSITORY = Path(__file__).resolve().parents[1]
SLOW_MS = 30_000
REFUSED = re.compile(r"the server responded with a status of 4\d\d")
"""Words by which Chromium logs an answer that refuses something."""


def chromium() -> str:
    """Returns the path of Chromium. Skips the test without one; where all parts have to be had, it fails."""
    found = shutil.which("chromium")
    if found is None:
        reason = "chromium is not installed: apt-get install chromium"
        pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)
    return str(found)


@contextmanager
def browser_here() -> Iterator[Any]:
    """Gives a headless Chromium, which ends with the block. Skips the test without one, as `chromium` does."""
    chromium()
    with browsed.chromium() as browser:
        yield browser


class Watched:
    """Holds a page of the browser, with all addresses that it asked for, and all that it complained of."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.asked: list[str] = []
        self.complaints: list[str] = []
        page.set_default_timeout(SLOW_MS)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning") and not REFUSED.search(message.text):
            self.complaints.append(message.text)

    def open(self, path: str, shows: str) -> None:
        """Opens a path of the viewer, and waits until something is shown."""
        self.page.goto(f"{self.address}{path}")
        self.page.wait_for_selector(shows)

    def until(self, condition: str) -> None:
        """Waits until a condition in JavaScript holds. The page's policy forbids Playwright's own way, which is eval."""
        ends = time.monotonic() + SLOW_MS / 1000
        while not self.page.evaluate(condition):
            assert time.monotonic() < ends, f"{condition} at {self.page.url}"
            self.page.wait_for_timeout(20)

    def check(self) -> None:
        """Checks that nothing left this machine's loopback, and that the page had nothing to complain of."""
        assert all(one.startswith((self.address, "data:")) for one in self.asked), self.asked
        assert self.complaints == []
