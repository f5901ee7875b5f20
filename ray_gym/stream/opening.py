"""Opens streams, on the trainer's event loop or for a trainer without one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ray_gym.stream.blocking import BlockingStream
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.stream import Stream


class OpenableStream(Stream):
    """Opens by `async with` as a `Stream`, or by `with` as a `BlockingStream`."""

    def __enter__(self) -> BlockingStream:
        blocking = BlockingStream(self)
        self._leaving = ExitStack()
        blocking.open()
        self._leaving.callback(blocking.close)
        return blocking

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.close()


def open_stream(
    config: str | Path,
    overrides: Sequence[str] = (),
    *,
    cursor: Any = None,
    version: int | None = None,
    max_staleness: int | None = None,
    stale: Literal["drop", "withhold"] = "drop",
    groups_per_version: int | None = None,
    min_group_size: int = 1,
    max_open_groups: int | None = None,
    max_barren_groups: int | None = 100,
    epochs: int | None = None,
    wait_s: float | None = None,
) -> OpenableStream:
    """Returns a stream of the groups that a config plays, for `async with`, or for `with` in a trainer without an event
    loop. It has no end unless `epochs` gives one.

    `cursor` is the value of `stream.cursor` that was saved with the checkpoint to resume from; None means the start.
    `version` is the version of the weights now; None means the cursor's. Models that don't tell the version of their
    weights (endpoints) need it beside `max_staleness`, and `Stream.advance` after each update. `StreamOptions` describes the rest. Errors:
    UserError for a mistake in the config, the options or the cursor.
    """
    options = StreamOptions(
        max_staleness=max_staleness,
        groups_per_version=groups_per_version,
        min_group_size=min_group_size,
        max_open_groups=max_open_groups,
        epochs=epochs,
        stale=stale,
        max_barren_groups=max_barren_groups,
        wait_s=wait_s,
    )
    return OpenableStream(config, overrides, options, cursor, version)
