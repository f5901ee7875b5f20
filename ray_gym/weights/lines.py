"""Describes what a model serves beside its own weights: lines of LoRA adapters, each with versions of its own.

A line is a model of a config that is trained by adapters on the weights of another model. Several lines share one
engine, and learn apart. A line without an adapter generates with the weights below it, and has their version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ray_gym.errors import UserError
from ray_gym.weights.checkpoint import Checkpoint, Folder, StateDict, check_version, next_checkpoint


@dataclass(frozen=True, slots=True)
class ServedLines:
    """Holds the checkpoints that a model serves: `own`, which calls of no line get, and that of each known line, by its
    name.
    """

    own: Checkpoint
    lines: Mapping[str, Checkpoint] = field(default_factory=dict)

    def of(self, line: str) -> Checkpoint:
        """Returns the checkpoint of a line, of the model's own for "". A line that is not known has no adapter."""
        if not line:
            return self.own
        return self.lines.get(line) or replace(self.own.whole, line=line)

    def having(self, checkpoint: Checkpoint) -> ServedLines:
        """Returns what is served once a checkpoint was loaded. If the weights below are other ones then, no line has an
        adapter any more.
        """
        own, lines = self.own, dict(self.lines)
        if checkpoint.whole != own.whole:
            own, lines = checkpoint.whole, {line: replace(checkpoint.whole, line=line) for line in lines}
        if checkpoint.line:
            return ServedLines(own, {**lines, checkpoint.line: checkpoint})
        return ServedLines(checkpoint, lines)

    def having_line(self, line: str) -> ServedLines:
        """Returns what is served once a line is known; it has no adapter at first."""
        return self.having(self.of(line))

    @property
    def loadable(self) -> ServedLines:
        """Returns what a replica can load when it starts: see `Checkpoint.loadable`. Adapters for weights that were
        transferred are not among it.
        """
        return self if self.own.loadable == self.own else self.having(self.own.loadable)

    @property
    def adapters(self) -> list[Checkpoint]:
        """Returns the checkpoints of the lines that have an adapter."""
        return [checkpoint for checkpoint in self.lines.values() if checkpoint.is_adapter]

    @property
    def versions(self) -> dict[str, int]:
        """Returns the model's own version under "", and that of each line with an adapter by the line's name."""
        return {"": self.own.version} | {checkpoint.line: checkpoint.version for checkpoint in self.adapters}

    def next(self, line: str, version: int, source: Folder | StateDict) -> Checkpoint:
        """Returns a line's checkpoint of a newer version, or the model's own for the line "".

        Errors: UserError if the line is not known, if the version is not greater than the line's, if a line gets other
        weights than an adapter, or if weights below adapters get a version that is not greater than those of all lines.
        """
        if line and line not in self.lines:
            known = f"it has {', '.join(sorted(self.lines))}" if self.lines else "it has none"
            raise UserError(f"line: the model has no line {line!r}; {known} (engine: vllm_adapter)")
        new = next_checkpoint(self.of(line), version, source)
        if not new.is_adapter:
            self.check_whole(version)
        return new

    def check_whole(self, version: int) -> None:
        """Checks the version of new weights below all lines, whose version they become. Errors: UserError if it is not
        greater than that of every line.
        """
        for checkpoint in (self.own, *self.lines.values()):
            check_version(checkpoint, version)
