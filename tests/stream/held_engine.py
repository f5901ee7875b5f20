"""Holds the version of the engine of `lucky_questions` as real models hold theirs; no replica of it is ever updated."""

from __future__ import annotations

from collections.abc import Callable

from lucky_questions import VersionedEngine, VersionedOptions

from ray_gym.weights.holder import FirstWeights, dismiss_holder, start_holder


class HeldOptions(VersionedOptions):
    weights_version: int = 0


class HeldEngine(VersionedEngine):
    Options = HeldOptions
    app = ""

    def __init__(self, options: HeldOptions) -> None:
        super().__init__(options)
        self._first = FirstWeights(options.weights_version, ranks=1)

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        self.app = f"{run_id}-{name}"
        start_holder(self.app, self._first)

    def stop(self) -> None:
        dismiss_holder(self.app)
