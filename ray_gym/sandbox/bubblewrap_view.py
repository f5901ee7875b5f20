"""Makes the arguments that say what programs under bubblewrap see of the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.supervised import INSIDE

ROOT = "/sandbox"
INSIDE_AT = "/run/ray_gym"
USER = 1000
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders with the system's programs and libraries."""
ETC = (
    "alternatives", "ca-certificates", "debian_version", "fonts", "java-11-openjdk", "java-17-openjdk", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "magic", "mime.types", "nsswitch.conf", "os-release",
    "perl", "pki/ca-trust", "pki/tls/certs", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "terminfo",
    "timezone",
)  # fmt: skip
"""Names in /etc that programs need, and that hold no secrets."""
OF_THE_KERNEL = (
    "acpi", "asound", "bus", "driver", "fs", "irq", "kcore", "key-users", "keys", "kmsg", "latency_stats", "mtrr",
    "pressure", "sched_debug", "scsi", "sys", "sysrq-trigger", "timer_list", "timer_stats",
)  # fmt: skip
"""Names in /proc by which the kernel could be changed where this process is root's, or that tell of the machine."""
HIDDEN = frozenset(
    {"acpi", "kcore", "keys", "kmsg", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats"}
)
PASSWD = f"""\
root:x:0:0:root:/nonexistent:/usr/sbin/nologin
agent:x:{USER}:{USER}:agent:{ROOT}/home:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
GROUP = f"root:x:0:\nagent:x:{USER}:\nnogroup:x:65534:\n"
HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost\n"


@dataclass(frozen=True, slots=True)
class View:
    """Describes a view of the machine."""

    limits: SandboxLimits
    read_only: tuple[Path, ...]
    """Files and folders that are seen as they are."""
    door: Path | None
    files: Path | None
    """Folder for the files of the sandbox, for a bubblewrap that gives disks in memory no size and has no
    `--disable-userns`; None for others.
    """


def machine_arguments() -> tuple[str, ...]:
    """Returns the arguments for what all sandboxes on this machine see of it. It looks at files, and takes a moment."""
    return (*_system(), *_kernel())


def arguments(view: View, machine: tuple[str, ...]) -> tuple[list[str], tuple[int, ...]]:
    """Returns the arguments of bubblewrap, and descriptors of files that it reads by them, which the caller closes.
    `machine`: what `machine_arguments` returns.
    """
    files = {"passwd": PASSWD, "group": GROUP, "hosts": HOSTS}
    opened = tuple(map(_file_of, files.values()))
    parts = [*_apart(view), *machine]
    for name, descriptor in zip(files, opened, strict=True):
        parts += ["--perms", "0644", "--file", str(descriptor), f"/etc/{name}"]
    return [*parts, *_own(view)], opened


def _apart(view: View) -> Iterator[str]:
    """Yields the arguments for namespaces of its own, as another user without rights."""
    yield from ("--unshare-all", "--unshare-user")
    if view.files is None:
        yield "--disable-userns"
    if view.limits.network:
        yield from ("--share-net", "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf")
    yield from ("--uid", str(USER), "--gid", str(USER), "--hostname", "sandbox")
    yield from ("--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL")


def _system() -> Iterator[str]:
    """Yields the arguments for files of the system and of the supervisor, which can be read."""
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for path in (Path("/etc", name) for name in ETC):
        if path.exists():
            yield from ("--ro-bind", str(path.resolve()), str(path))
    prefix = Path(sys.base_prefix).resolve()
    if not prefix.is_relative_to("/usr"):
        yield from ("--ro-bind", str(prefix), str(prefix))
    yield from ("--ro-bind", str(INSIDE), f"{INSIDE_AT}/{INSIDE.name}")


def _kernel() -> Iterator[str]:
    """Yields the arguments for /proc and /dev, of which nothing can be changed but its own processes."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    for name in OF_THE_KERNEL:
        path = Path("/proc", name)
        if path.is_dir() and name in HIDDEN:
            yield from ("--tmpfs", str(path), "--remount-ro", str(path))
        elif path.exists():
            yield from ("--ro-bind", os.devnull if name in HIDDEN else str(path), str(path))


def _own(view: View) -> Iterator[str]:
    """Yields the arguments for the sandbox's own files, the only ones that can be written."""
    size = ["--size", str(view.limits.disk_mb * 2**20)] if view.files is None else []
    if view.files is None:
        yield from (*size, "--tmpfs", ROOT)
    else:
        yield from ("--bind", str(view.files), ROOT)
    yield from ("--dir", f"{ROOT}/tmp", "--symlink", f"{ROOT[1:]}/tmp", "/tmp", "--symlink", "../tmp", "/var/tmp")
    if view.door is not None:
        yield from ("--ro-bind", str(view.door), f"{INSIDE_AT}/door")
    for path in view.read_only:
        yield from ("--ro-bind", str(path), str(path))
    yield from (*size, "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev", "--remount-ro", "/")
    yield from ("--chdir", ROOT)


def _file_of(text: str) -> int:
    descriptor = os.memfd_create("ray_gym")
    os.write(descriptor, text.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
