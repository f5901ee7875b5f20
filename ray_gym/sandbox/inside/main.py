"""Answers the worker's requests until its end of the connection is closed."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys

from . import files, keeper
from .capture import Capture
from .forwarder import Forwarder
from .frames import FrameReader, pack
from .guard import Guard
from .loop import Loop, Outlet, read_some
from .run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .frames import Message

PATHS = {"work": "work", "HOME": "home", "TMPDIR": "tmp"}
"""Folders below the root of the sandbox; `work` is the one that paths are relative to."""
MORE_PROCESSES = 64
"""Processes that the kernel's limit allows beyond twice the sandbox's: the guard tells first who exceeded it."""


def counts_by_namespace() -> bool:
    """Says whether the kernel counts a user's processes by the user's namespace (5.14); else it counts all of them."""
    try:
        return tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 14)
    except ValueError:
        return False


def main() -> NoReturn:
    """Runs the supervisor on the standard streams. The first frame has its settings."""
    keeper.hide()
    keeper.adopt()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    supervisor = Supervisor(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    supervisor.serve()


class Supervisor:
    """Holds the runs of a sandbox, and the connection to the worker."""

    def __init__(self, source: int, sink: int) -> None:
        self.loop = Loop()
        self._source = source
        self._frames = FrameReader()
        self._worker = Outlet(self.loop, sink)
        self._runs: dict[int, Run] = {}
        self._root = self._folder = ""
        self._env: dict[str, str] = {}
        self._limits: list[tuple[int, int]] = []
        self._guard: Guard
        os.set_blocking(source, False)
        self.loop.on_read(source, self._receive)

    def serve(self) -> NoReturn:
        while True:
            self.loop.run_once()

    def _receive(self) -> None:
        data = read_some(self._source)
        if data is None:
            return
        if not data:
            self._end()
        for message, rest in self._frames.feed(data):
            self._answer(message, rest)

    def _answer(self, message: Message, data: bytes) -> None:
        """Carries out one request. Those with an `ask` are answered with its number."""
        try:
            answer, rest = getattr(self, "do_" + message["do"])(message, data)
        except files.Refused as error:
            answer, rest = {"refused": str(error)}, b""
        except OSError as error:
            answer, rest = {"failed": error.strerror or str(error), "errno": error.errno}, b""
        except Exception as error:  # a fault here must not end all programs of the sandbox
            answer, rest = {"failed": f"{type(error).__name__}: {error}"}, b""
        if "ask" in message:
            self._worker.write(pack({**answer, "ask": message["ask"]}, rest))

    def do_open(self, message: Message, data: bytes) -> tuple[Message, bytes]:
        """Makes the folders, and starts to watch the limits and to forward to the door."""
        self._root = message["root"]
        for name in PATHS.values():
            os.makedirs(os.path.join(self._root, name), exist_ok=True)
        self._folder = os.path.join(self._root, PATHS["work"])
        places = {key: os.path.join(self._root, name) for key, name in PATHS.items() if key != "work"}
        self._env = {**message["env"], **places}
        _, files_most = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._limits = [
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, min(files_most, 2**16)),
            (resource.RLIMIT_FSIZE, message["disk"]),
        ]
        resource.setrlimit(resource.RLIMIT_NOFILE, (files_most, files_most))
        if os.getpid() == 1 and counts_by_namespace():
            self._limits.append((resource.RLIMIT_NPROC, 2 * message["processes"] + MORE_PROCESSES))
        self._guard = Guard(self.loop, self._runs, self._root, message)
        port = Forwarder(self.loop, message["port"], message["door"]).port if message["door"] else 0
        return {"folder": self._folder, "port": port, "python": list(sys.version_info[:2])}, b""

    def do_run(self, message: Message, data: bytes) -> tuple[Message, bytes]:
        """Starts a program. Its end, and what it prints if that is asked for, are told as they come."""
        number = message["run"]
        out = message["output"]
        captures = (
            Capture(out, 0) if message["stream"] else Capture(out - out // 2, out // 2),
            Capture(0, out) if message["stream"] else Capture(out - out // 2, out // 2),
        )

        def printed(first: bytes) -> None:
            if message["stream"]:
                self._worker.write(pack({"printed": number}, first))

        def done() -> None:
            del self._runs[number]
            self._tell_end(number, run, captures, message["stream"])

        run = Run(self.loop, captures, printed, self._guard.bury, done)
        folder = files.folder_in(self._folder, message["folder"])
        env = {**self._env, **message["env"]}
        self._guard.settle()
        run.start(keeper.Command(message["command"], env, folder, self._limits), message["deadline"])
        self._runs[number] = run
        if run.stdin is not None and not message["stream"]:
            run.stdin.write(data)
            run.stdin.end()
        return {}, b""

    def _tell_end(self, number: int, run: Run, captures: tuple[Capture, Capture], is_stream: bool) -> None:
        out, err = (capture.end() for capture in captures)
        out = b"" if is_stream else out
        if run.exit_code and self._guard.is_disk_full():
            run.ended = run.ended or "disk"
        if run.exit_code == -signal.SIGKILL and self._guard.has_memory_kill():
            run.ended = run.ended or "memory"
        end = {
            "end": number, "exit": run.exit_code, "error": run.error, "ended": run.ended, "seconds": run.seconds,
            "out": len(out), "dropped": [capture.dropped for capture in captures],
        }  # fmt: skip
        self._worker.write(pack(end, out + err))

    def do_input(self, message: Message, data: bytes) -> tuple[Message, bytes]:
        """Writes to the standard input of a program, and closes it if `last` is set."""
        run = self._runs.get(message["run"])
        if run is not None and run.stdin is not None:
            run.stdin.write(data)
            if message["last"]:
                run.stdin.end()
        return {}, b""

    def do_kill(self, message: Message, data: bytes) -> tuple[Message, bytes]:
        """Ends a program with all its processes."""
        run = self._runs.get(message["run"])
        if run is not None:
            run.end("killed", message["now"])
        return {}, b""

    def do_read(self, message: Message, data: bytes) -> tuple[Message, bytes]:
        return {}, files.read(self._folder, message["path"], message["most"])

    def do_write(self, message: Message, data: bytes) -> tuple[Message, bytes]:
        files.write(self._folder, message["path"], data, message["executable"])
        return {}, b""

    def _end(self) -> NoReturn:
        """Ends all processes, and removes the folder unless the kernel does it with the namespace."""
        if os.getpid() != 1:
            import shutil  # it takes long, and most sandboxes don't need it

            keeper.kill_children()
            if self._root:
                with contextlib.suppress(OSError):
                    shutil.rmtree(self._root)
        os._exit(0)
