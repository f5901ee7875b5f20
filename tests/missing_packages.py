"""Skips, by the package that is missing, what needs an engine or a library of the adapters where these are not installed.

They can't be on every Python that ray_gym runs on. Where all are installed, as `make test` has them on 3.11, nothing here skips anything.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from importlib.util import find_spec

import pytest

ENGINE = ("vllm", "torch")
ADAPTERS = ("aviary", "gymnasium", "reasoning_gym")
MISSING = [name for name in (*ENGINE, *ADAPTERS) if find_spec(name) is None]
_NOT_FOUND = re.compile(rf"No module named '({'|'.join(MISSING)})\b|\b({'|'.join(MISSING)}) is not installed here")


def _missing(text: str) -> str | None:
    """Returns a reason that names the missing package an error is about; None if it is about none of them."""
    found = _NOT_FOUND.search(text) if MISSING else None
    return f"{found[1] or found[2]} is not installed" if found else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gone = [name for name in ENGINE if name in MISSING]
    for item in items if gone else []:
        if item.get_closest_marker("engine"):
            item.add_marker(pytest.mark.skip(reason=f"{' and '.join(gone)} not installed"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skips a module whose imports fail for a missing package."""
    report = yield
    if report.failed and (reason := _missing(str(report.longrepr))):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skips a test that imports a missing package, itself or in a process of its own, or is told by ray_gym which extra
    has it.
    """
    report = yield
    if report.failed and (reason := _missing(str(report.longrepr))):
        report.outcome, report.longrepr = "skipped", (str(item.path), 1, f"Skipped: {reason}")
    return report
