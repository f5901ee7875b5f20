"""Gives a stream to a trainer without an event loop: `with open_stream(...) as stream: for group in stream: ...`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from ray_gym.config.sections import RunConfig
from ray_gym.stream.group import Group
from ray_gym.stream.mixture import Mixture
from ray_gym.stream.options import StreamOptions
from ray_gym.stream.stream import Stream
from ray_gym.weights.client import Weights

Result = TypeVar("Result")


class Delivering(Protocol):
    """Describes what streams and mixtures have in common. `Stream` describes the methods."""

    async def __aenter__(self) -> Any: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def __anext__(self) -> Group: ...

    def acknowledge(self, *groups: Group) -> None: ...

    def advance(self, version: int | Mapping[str, int]) -> None: ...

    def weights(self, model: str) -> Weights: ...

    @property
    def version(self) -> int: ...

    @property
    def cursor(self) -> dict[str, Any]: ...

    async def evaluate(
        self, config: str | Path, overrides: Sequence[str] = (), *, name: str, first: bool = True
    ) -> dict[str, Any]: ...

    async def remove_before(self, cursor: Any) -> int: ...

    async def status(self) -> dict[str, Any]: ...


Delivered = TypeVar("Delivered", bound=Delivering)


class Blocking(Generic[Delivered]):
    """Has the methods of a `Stream` or a `Mixture`, and blocks where that awaits. Its event loop runs in a thread of its
    own.

    Threads may share it: each call is made on that loop. It raises what the stream raises. A call that is interrupted
    (Ctrl-C) is cancelled, and loses no group.
    """

    def __init__(self, stream: Delivered) -> None:
        self._stream = stream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ray_gym stream", daemon=True)

    def open(self) -> None:
        """Starts the loop and opens the stream. Errors: those of `Stream`, after which the loop has ended."""
        self._thread.start()
        try:
            self._wait(self._stream.__aenter__())
        except BaseException:
            self._end_loop()
            raise

    def close(self, error: BaseException | None = None) -> None:
        """Closes the stream and ends the loop. `error`: error that ended the trainer's block, if one did."""
        try:
            self._wait(self._stream.__aexit__(None if error is None else type(error), error, None))
        finally:
            self._end_loop()

    def __iter__(self) -> Iterator[Group]:
        return self

    def __next__(self) -> Group:
        """Waits for the next group, and returns it. Errors: StopIteration if there are no more groups."""
        try:
            return self._wait(self._stream.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def acknowledge(self, *groups: Group) -> None:
        """Acknowledges groups (`Stream.acknowledge`)."""
        self._call(lambda: self._stream.acknowledge(*groups))

    def advance(self, version: int | Mapping[str, int]) -> None:
        """Tells the stream the version of the weights, or of each model's (`Stream.advance`)."""
        self._call(lambda: self._stream.advance(version))

    def weights(self, model: str) -> Weights:
        """Returns the `Weights` of a model of the config (`Stream.weights`)."""
        return self._stream.weights(model)

    @property
    def version(self) -> int:
        """Returns the version of the weights that the stream knows of (`Stream.version`)."""
        return self._stream.version

    @property
    def cursor(self) -> dict[str, Any]:
        """Returns the present cursor, to be saved in a checkpoint (`Stream.cursor`)."""
        return self._call(lambda: self._stream.cursor)

    def evaluate(
        self, config: str | Path, overrides: Sequence[str] = (), *, name: str, first: bool = True
    ) -> dict[str, Any]:
        """Plays another config on the stream's models, and returns its summary (`Stream.evaluate`)."""
        return self._wait(self._stream.evaluate(config, overrides, name=name, first=first))

    def remove_before(self, cursor: Any) -> int:
        """Deletes files from before a cursor, and returns their number (`Stream.remove_before`)."""
        return self._wait(self._stream.remove_before(cursor))

    def status(self) -> dict[str, Any]:
        """Returns the stream's numbers by name (`Stream.status`)."""
        return self._wait(self._stream.status())

    def _call(self, function: Callable[[], Result]) -> Result:
        """Calls a function on the loop, which is where the stream's state is, and returns its result."""

        async def called() -> Result:
            return function()

        return self._wait(called())

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class BlockingStream(Blocking[Stream]):
    """Gives a stream to a trainer without an event loop (`Blocking`)."""

    @property
    def config(self) -> RunConfig:
        """Returns the config that the stream plays (`Stream.config`)."""
        return self._stream.config

    @property
    def options(self) -> StreamOptions:
        """Returns the options that the stream was opened with (`Stream.options`)."""
        return self._stream.options

    @property
    def versions(self) -> dict[str, int]:
        """Returns the version of the weights of each trained model, by its name (`Stream.versions`)."""
        return self._stream.versions

    @property
    def location(self) -> str:
        """Returns the path or URI of the stream's run directory."""
        return self._stream.location


class BlockingMixture(Blocking[Mixture]):
    """Gives a mixture to a trainer without an event loop (`Blocking`)."""

    @property
    def sources(self) -> Mapping[str, Stream]:
        """Returns the streams that are mixed, by name (`Mixture.sources`)."""
        return self._stream.sources
