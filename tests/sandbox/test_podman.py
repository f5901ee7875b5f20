"""Programs run in containers of podman's, with an image that is made of this machine's own Python."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandboxes import SMALL, has, left_in, opened, until

from ray_gym.errors import UserError
from ray_gym.sandbox import Ended, leftovers

pytestmark = pytest.mark.agents
PYTHON = Path("/usr/bin/python3")
IMAGE = "localhost/ray_gym_test:latest"
NEEDED = ("json", "re", "selectors.py", "socket.py", "ctypes", "contextlib.py")
WORKER = Path(__file__).with_name("worker.py")


def podman(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Makes an image, and gives options with which podman runs it here. Skips where there is no podman that can, and says
    what was tried; where all parts have to be had, it fails without a podman.
    """
    if not has("podman") or not PYTHON.exists():
        reason = "podman, or a Python of the system's, is not installed: apt-get install podman python3"
        pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)
    archive = tmp_path_factory.mktemp("image") / "image.tar"
    make_image(archive)
    imported = podman("import", str(archive), IMAGE)
    assert imported.returncode == 0, imported.stderr
    tried = []
    for runtime in (None, "runc", "crun"):
        found = {"image": IMAGE} | ({"runtime": runtime} if runtime else {})
        try:
            asyncio.run(try_once(found))
        except UserError as error:
            tried.append(f"with {runtime or 'its own runtime'}: {error}")
        else:
            yield found
            podman("image", "rm", "--force", IMAGE)
            return
    podman("image", "rm", "--force", IMAGE)
    reason = f"podman can't run containers here (where crun can't, apt-get install runc): {'; '.join(tried)}"
    pytest.fail(reason) if os.environ.get("RAY_GYM_TEST_ALL") else pytest.skip(reason)


async def try_once(options: dict[str, Any]) -> None:
    async with opened("podman", **options):
        pass


def make_image(archive: Path) -> None:
    """Writes an image of a shell, a few programs and Python, with the libraries that they are linked to."""
    programs = [
        *map(
            Path,
            ("/bin/sh", "/bin/sleep", "/bin/cat", "/bin/dd", "/bin/ls", "/bin/touch", "/bin/chmod", "/usr/bin/setsid"),
        ),
        PYTHON,
    ]
    standard = subprocess.run(
        [str(PYTHON), "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    files = {program: program.resolve() for program in programs}
    native = [*programs, *Path(standard).glob("lib-dynload/*.so")]
    linked = subprocess.run(["ldd", *map(str, native)], capture_output=True, text=True, check=False).stdout
    for word in linked.split():
        if word.startswith("/") and Path(word).is_file():
            files[Path(word)] = Path(word).resolve()
    with tarfile.open(archive, "w") as image:
        for path, real in files.items():
            image.add(real, str(path).lstrip("/"))
        image.add(
            standard, standard.lstrip("/"), filter=lambda info: None if info.name.endswith((".pyc", "/test")) else info
        )


async def test_programs_run_within_limits(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    async with opened("podman", **options) as sandbox:
        end = await sandbox.run(["sh", "-c", "cat; ls /root /home; touch /bin/own"], stdin=b"given\n")
        assert end.stdout.startswith(b"given\n") and b"Read-only file system" in end.stderr
        await sandbox.write("file", b"1")
        assert await sandbox.read("file") == b"1"
        assert (await sandbox.run(["sleep", "99"], deadline_s=0.2)).ended is Ended.DEADLINE
        assert (await sandbox.run(["dd", "if=/dev/zero", "of=big", "bs=1M"])).ended is Ended.DISK
        await sandbox.run(["sh", "-c", ": > big"])  # on a full disk, no program lives long enough to take memory
        end = await sandbox.run(["python3", "-c", "held = b'1' * 300 * 2**20; import time; time.sleep(99)"])
        assert end.ended is Ended.MEMORY
    assert list(here.iterdir()) == [], "a container leaves nothing where its worker runs"


async def test_programs_reach_the_door(options: dict[str, Any], tmp_path: Path) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        await writer.drain()
        writer.close()

    path = tmp_path / "door"
    async with await asyncio.start_unix_server(greet, path), opened("podman", SMALL, path, **options) as sandbox:
        call = (
            "import socket, sys\nprint(socket.create_connection(('127.0.0.1', int(sys.argv[1].split(':')[2]))).recv(9))"
        )
        assert (await sandbox.run(["python3", "-c", call, sandbox.door_url or ""])).stdout == b"b'hello'\n"


def containers() -> list[str]:
    return podman("ps", "--all", "--filter", "label=ray_gym.sandbox", "--format", "{{.Names}}").stdout.split()


async def test_no_container_is_left_when_the_worker_is_killed(options: dict[str, Any], own_root: Path) -> None:
    env = {**os.environ, "TMPDIR": str(own_root), "PYTHONPATH": str(WORKER.parents[2])}
    command = [sys.executable, str(WORKER), "podman", "987654", json.dumps(options)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
        assert process.stdout is not None and process.stdout.readline().strip()
        ours = {leftovers.container_name(place.name) for place in left_in(own_root)}
        assert ours & set(containers())
        process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(leftovers.sweep)
    await until(lambda: not ours & set(containers()), "they are removed")
    assert left_in(own_root) == []


async def test_an_image_without_python_is_told(options: dict[str, Any], tmp_path: Path) -> None:
    empty = tmp_path / "empty.tar"
    with tarfile.open(empty, "w") as image:
        image.addfile(tarfile.TarInfo("nothing"))
    podman("import", str(empty), "localhost/ray_gym_empty:latest")
    with pytest.raises(UserError, match="python3"):
        await try_once({**options, "image": "localhost/ray_gym_empty:latest"})
    podman("image", "rm", "--force", "localhost/ray_gym_empty:latest")
    with pytest.raises(UserError, match="podman pull localhost/ray_gym_empty"):
        await try_once({**options, "image": "localhost/ray_gym_empty:latest"})
