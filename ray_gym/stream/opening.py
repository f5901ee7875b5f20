"""Opens streams, on the trainer's event loop or for a trainer without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ray_gym.stream.blocking import BlockingMixture, BlockingStream
from ray_gym.stream.mixture import Mixture
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.shared import SharedStream
from ray_gym.stream.stream import Stream


class OpenableStream(Stream):
    """Opens by `async with` as a `Stream`, or by `with` as a `BlockingStream`."""

    def __enter__(self) -> BlockingStream:
        blocking = BlockingStream(self)
        blocking.open()
        self._blocking = blocking
        return blocking

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocking.close(error)


class OpenableSharedStream(SharedStream, OpenableStream):
    """Opens as an `OpenableStream`, for one rank of several."""


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
    rank: int = 0,
    world_size: int = 1,
) -> OpenableStream:
    """Returns a stream of the groups that a config plays, for `async with`, or for `with` in a trainer without an event
    loop. It has no end unless `epochs` gives one.

    `cursor` is the value of `stream.cursor` that was saved with the checkpoint to resume from; None means the start.
    `version` is the version of the weights now; None means the cursor's. Models that don't tell the version of their
    weights (endpoints) need it beside `max_staleness`, and `Stream.advance` after each update. `StreamOptions` describes the rest.

    With a `world_size` above 1, as many processes on one Ray cluster open the stream, each with a `rank` from 0 on and
    the same config and options, and each group goes to one of them (`ray_gym.stream.shared`). Rank 0's `cursor` and
    `version` count. Errors: UserError for a mistake in the config, the options or the cursor.
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
        world_size=world_size,
    )
    if (rank, world_size) != (0, 1):
        return OpenableSharedStream(config, overrides, options, cursor, version, rank)
    return OpenableStream(config, overrides, options, cursor, version)


class OpenableMixture(Mixture):
    """Opens by `async with` as a `Mixture`, or by `with` as a `BlockingMixture`."""

    def __enter__(self) -> BlockingMixture:
        blocking = BlockingMixture(self)
        blocking.open()
        self._blocking = blocking
        return blocking

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocking.close(error)


def open_mixture(
    shares: Mapping[str | Path, float],
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
) -> OpenableMixture:
    """Returns a mixture of the groups that several configs play, for `async with` or `with`.

    `shares`: share of the groups of each config, by its path or name; only their ratios count. The configs have names of
    their own (`run.name`), and the same sections for models of the same name, which they share. `overrides` apply to
    each. `cursor` is a saved value of `mixture.cursor`. `groups_per_version` and `max_open_groups` count the groups of
    all sources. The rest is as for `open_stream`. The mixture ends when a source whose turn it is has no more groups.
    Errors: UserError for a mistake in a config, the shares, the options or the cursor.
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
    return OpenableMixture(shares, overrides, options, cursor, version)
