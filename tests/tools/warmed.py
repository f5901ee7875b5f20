"""Stands for a library module that warms up, in test_library_warm_up."""

from __future__ import annotations

import os

warm: list[int] = []


def warm_up() -> None:
    warm.append(os.getpid())


def where_it_was_warmed_up() -> list[int]:
    return [*warm, os.getppid()]
