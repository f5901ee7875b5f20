"""Calls back after the optimiser steps of a trainer, when the groups of a step have been trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback


class AfterSteps(TrainerCallback):  # type: ignore[misc]  # mypy does not follow imports of transformers
    """Calls a function with the number of each step that is done."""

    def __init__(self, done: Callable[[int], None]) -> None:
        self._done = done

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._done(state.global_step)


class MicroBatches(set[int]):
    """Stands where TRL's asynchronous trainer has the set of groups that it has collated, and keeps their order.

    TRL collates a micro-batch ahead of the one that it trains on. A checkpoint must not count that one as trained.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ahead: list[list[int]] = []
        """Groups of each micro-batch that was not trained on yet, once for each of its rows."""

    def update(self, *others: Any) -> None:
        for other in others:
            rows = list(other)
            self._ahead.append(rows)
            super().update(rows)

    def trained(self) -> list[int]:
        """Returns the groups of the next micro-batch that was trained on, once for each of its rows."""
        return self._ahead.pop(0)


class AfterMicroBatches(TrainerCallback):  # type: ignore[misc]  # likewise
    """Calls a function with the groups of each micro-batch that an optimiser step has been made from, once the step is
    done.
    """

    def __init__(self, batches: MicroBatches, done: Callable[[list[int]], None]) -> None:
        self._batches = batches
        self._done = done
        self._accumulated: list[int] = []

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._accumulated += self._batches.trained()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._accumulated += self._batches.trained()
        done, self._accumulated = self._accumulated, []
        self._done(done)
