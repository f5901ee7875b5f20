"""Makes machines with addresses of their own on this one: network namespaces where this process may make them, else loopback addresses."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import psutil  # type: ignore[import-untyped]

SUBNET = "10.199.0"


@dataclass(frozen=True, slots=True)
class Machine:
    address: str
    prefix: tuple[str, ...] = ()
    """Words before a command that is to run there."""
    namespace: str = ""

    def pids(self) -> set[int]:
        """Finds all its processes: of a loopback address, its raylet and what that started."""
        if self.namespace:
            return {int(pid) for pid in _ip("netns", "pids", self.namespace).split()}
        raylets = [process for process in psutil.process_iter() if self._is_raylet(process)]
        return {one.pid for raylet in raylets for one in (raylet, *raylet.children(recursive=True))}

    def kill(self) -> None:
        """Kills every process at once, as a power cut would."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)

    def _is_raylet(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return process.name() == "raylet" and f"--node_ip_address={self.address}" in process.cmdline()
        return False


class Machines(Protocol):
    kind: str

    def add(self) -> Machine: ...

    @property
    def outside(self) -> Machine:
        """Gives the machine from which jobs are submitted."""
        ...


@dataclass(slots=True)
class Namespaces:
    """Makes a namespace a machine, each on a port of one bridge. That is in a namespace too: our own network is left alone."""

    name: str
    kind: str = "network namespaces, joined by a bridge"
    _made: list[str] = field(default_factory=list)

    def start(self) -> None:
        self._make(self.name, f"{SUBNET}.1", "bridge", ("link", "add", "bridge", "type", "bridge"))

    def add(self) -> Machine:
        number = len(self._made)
        namespace, address = f"{self.name}-{number}", f"{SUBNET}.{number + 1}"
        port = f"port{number}"
        veth = ("-n", self.name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        self._make(namespace, address, "eth0", veth)
        _ip("-n", self.name, "link", "set", port, "master", "bridge", "up")
        _ip("-n", namespace, "route", "add", "default", "via", f"{SUBNET}.1")  # Ray asks for its address by the way out
        return Machine(address, _inside(namespace), namespace)

    @property
    def outside(self) -> Machine:
        return Machine(f"{SUBNET}.1", _inside(self.name), self.name)

    def end(self) -> None:
        for namespace in reversed(self._made):
            Machine("", namespace=namespace).kill()
            _ip("netns", "del", namespace)

    def _make(self, namespace: str, address: str, device: str, link: tuple[str, ...]) -> None:
        _ip("netns", "add", namespace)
        self._made.append(namespace)
        _ip(*(link if link[0] == "-n" else ("-n", namespace, *link)))
        _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", device)
        for name in ("lo", device):
            _ip("-n", namespace, "link", "set", name, "up")


@dataclass(slots=True)
class LoopbackAddresses:
    kind: str = "loopback addresses"
    _made: list[Machine] = field(default_factory=list)

    def add(self) -> Machine:
        self._made.append(Machine(f"127.0.0.{len(self._made) + 2}"))
        return self._made[-1]

    @property
    def outside(self) -> Machine:
        return Machine("127.0.0.1")

    def end(self) -> None:
        for machine in self._made:
            machine.kill()


@contextmanager
def machines() -> Iterator[Machines]:
    """Makes machines for the block. However it ends, they and all that runs on them are gone after it."""
    made: Namespaces | LoopbackAddresses = Namespaces(f"ray-gym-{os.getpid()}")
    try:
        if isinstance(made, Namespaces) and not _makes_namespaces(made):
            made = LoopbackAddresses()
        yield made
    finally:
        made.end()


def _makes_namespaces(made: Namespaces) -> bool:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    try:
        made.start()
    except subprocess.CalledProcessError:  # a container without the right to
        made.end()
        return False
    return True


def _inside(namespace: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", namespace)


def _ip(*arguments: str) -> str:
    """Runs `ip`, and returns what it printed. Errors: CalledProcessError."""
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=20).stdout
