"""A sandbox leaves nothing: no process, folder, mount or socket, whatever is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from sandboxes import SMALL, bubblewrap, left_in, marked, opened, until

from ray_gym.errors import UserError
from ray_gym.plugins import find_sandbox
from ray_gym.sandbox import SandboxGone, leftovers

WORKER = Path(__file__).with_name("worker.py")
REPOSITORY = WORKER.parents[2]


def word_of_its_own() -> str:
    """Returns a number of seconds to sleep by which the processes of one test are found."""
    return f"9{uuid.uuid4().int % 10**9:09}"


@contextmanager
def worker(kind: str, word: str, root: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Starts a worker whose sandbox runs a program, and gives it with the sandbox's folder."""
    env = {**os.environ, "TMPDIR": str(root), "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(WORKER), kind, word]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        try:
            assert folder, "the worker's sandbox did not start"
            yield process, Path(folder)
        finally:
            process.kill()


def below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def mounts() -> str:
    return Path("/proc/self/mounts").read_text()


@pytest.mark.parametrize("kind", ["bubblewrap", pytest.param("process", marks=pytest.mark.agents)])
async def test_nothing_is_left_when_the_worker_is_killed(kind: str, own_root: Path) -> None:
    if kind == "bubblewrap":
        bubblewrap()
    word, before = word_of_its_own(), mounts()
    with worker(kind, word, own_root) as (process, folder):
        assert len(marked(word)) >= 2
        started = below(process)
        assert (folder / "here").exists() == (kind == "process")
        process.send_signal(signal.SIGKILL)
    await until(lambda: not any(map(psutil.Process.is_running, started)) and not marked(word), "all of them die")
    await until(lambda: not (folder / "here").exists(), "its files are removed")
    leftovers.sweep()
    assert left_in(own_root) == [] and mounts() == before


@pytest.mark.agents
async def test_what_is_left_when_the_supervisor_dies_with_its_worker_is_swept(own_root: Path) -> None:
    """Without namespaces, programs outlive both; the next sandbox's start ends them."""
    word = word_of_its_own()
    with worker("process", word, own_root) as (process, folder):
        for each in [*below(process), psutil.Process(process.pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):  # one that has died with the one before
                if word not in " ".join(each.cmdline()) or each.pid == process.pid:
                    each.suspend()
                    each.kill()
    await until(lambda: len(marked(word)) > 0 and (folder / "here").exists(), "programs are left")
    async with opened("process"):
        assert marked(word) == []
        assert len(left_in(own_root)) == 1, "its own"
    assert left_in(own_root) == []


@pytest.mark.agents
async def test_a_sandbox_whose_supervisor_is_killed_ends(kind: str, own_root: Path, others: frozenset[int]) -> None:
    word = word_of_its_own()
    async with opened(kind) as sandbox:
        program = await sandbox.start(["sh", "-c", f"setsid sleep {word} & echo up; sleep {word}"])
        assert await anext(program.output()) == b"up\n"
        [supervisor] = children() - others
        os.kill(supervisor, signal.SIGKILL)
        with pytest.raises(SandboxGone, match="has ended"):
            await program.wait()
        with pytest.raises(SandboxGone):
            await sandbox.run(["true"])
        if kind == "bubblewrap":
            await until(lambda: not marked(word), "its programs die")
    assert marked(word) == [] and left_in(own_root) == []


def kill_at_some_moment(kind: str, word: str, root: Path, seconds: float) -> None:
    """Starts a worker, and kills it after some seconds."""
    env = {**os.environ, "TMPDIR": str(root), "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(WORKER), kind, word]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.send_signal(signal.SIGKILL)


@pytest.mark.agents
async def test_nothing_is_left_after_random_kills(own_root: Path) -> None:
    """Workers are killed at any moment of opening, running and closing."""
    bubblewrap()
    chance, before = random.Random(39), mounts()
    words = [word_of_its_own() for _ in range(8)]
    for index, word in enumerate(words):
        kind = ("process", "bubblewrap")[index % 2]
        await asyncio.to_thread(kill_at_some_moment, kind, word, own_root, chance.uniform(0.3, 2.5))
    for word in words:
        await until(lambda word=word: not marked(word), "all of them die")
    leftovers.sweep()
    assert [path for path in left_in(own_root) if not path.name.startswith(leftovers.NEW)] == []
    assert mounts() == before


@pytest.mark.agents
async def test_nothing_is_left_after_many_episodes_with_random_kills(kind: str, own_root: Path) -> None:
    """Kills processes below a worker at random while it opens and closes 100 sandboxes, and at last the worker."""
    chance, before, word = random.Random(39), mounts(), word_of_its_own()
    env = {**os.environ, "TMPDIR": str(own_root), "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(WORKER.with_name("busy_worker.py")), kind, word, "100"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
        killed, seen = 0, set()
        while process.poll() is None and killed < 150:
            with contextlib.suppress(psutil.Error):
                if victims := below(process):
                    seen.update(victims)
                    chance.choice(victims).kill()
                    killed += 1
            await asyncio.sleep(0.03)
        process.kill()
        assert process.stdout is not None
        ends = process.stdout.read().split()
    assert killed > 20 and "played" in ends, "some were played to their ends"
    leftovers.sweep()
    await until(lambda: not marked(word) and not any(each.is_running() for each in seen), "all of them die")
    leftovers.sweep()
    assert [path for path in left_in(own_root) if not path.name.startswith(leftovers.NEW)] == []
    assert mounts() == before


@pytest.mark.agents
async def test_a_bubblewrap_that_is_killed_at_its_start_leaves_nothing(own_root: Path, others: frozenset[int]) -> None:
    """Kills bubblewrap at moments of its start, when its child does not know yet that it has to die with it."""
    bubblewrap()
    opener = find_sandbox("bubblewrap", "tests")()
    await (await opener.open(SMALL)).close()  # looks at the machine
    for wait_s in (0.0, 0.001, 0.002, 0.003, 0.005, 0.008):
        opening = asyncio.create_task(opener.open(SMALL))
        await until(lambda: children() - others or opening.done(), "it starts")  # noqa: B023
        await asyncio.sleep(wait_s)
        started = [psutil.Process(child) for child in children() - others]
        started += [one for child in started for one in child.children(recursive=True)]
        for child in children() - others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(UserError):
            await (await opening).close()
        await until(lambda: not any(process.is_running() for process in started), "all of it dies")  # noqa: B023
    assert left_in(own_root) == [] and children() <= others


def children() -> set[int]:
    """Returns the children of this process."""
    found = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    return {int(pid) for pids in found for pid in pids}


@pytest.fixture
def others() -> frozenset[int]:
    """Returns the children of this process that are not the test's."""
    return frozenset(children())


async def test_what_belongs_to_a_living_worker_is_not_swept(own_root: Path) -> None:
    place = leftovers.take_place()
    assert leftovers.sweep() == 0 and place.files.is_dir()
    place.remove()
    place.remove()
    assert left_in(own_root) == []


def test_a_folder_that_was_not_finished_is_swept_when_it_is_old(own_root: Path) -> None:
    place = leftovers.take_place()
    fresh = place.folder.parent / ".new-fresh"
    fresh.mkdir()
    old = place.folder.parent / ".new-old"
    old.mkdir()
    os.utime(old, (0, 0))
    assert leftovers.sweep() == 1
    assert fresh.is_dir() and not old.exists() and place.files.is_dir()
    place.remove()


def test_a_root_of_somebody_else_is_refused(own_root: Path) -> None:
    leftovers.root_here().symlink_to("/etc")
    with pytest.raises(UserError, match="belongs to another user"):
        leftovers.take_place()
    assert not Path("/etc/lock").exists()


def test_a_note_of_a_container_names_no_command(own_root: Path) -> None:
    """Runs no command that is in a folder that is swept."""
    place = leftovers.take_place()
    place.note_container(f"touch {own_root}/taken")
    place.remove()
    assert not (own_root / "taken").exists()


@pytest.mark.agents
async def test_a_sandbox_that_is_not_closed_in_time_is_none(kind: str, own_root: Path, others: frozenset[int]) -> None:
    """Cancels openings, which leave nothing."""
    opener = find_sandbox(kind, "tests")()
    for wait_s in (0, 0.001, 0.01, 0.05):
        opening = asyncio.create_task(opener.open(SMALL))
        await asyncio.sleep(wait_s)
        opening.cancel()
        await asyncio.wait([opening])
        if not opening.cancelled():
            await opening.result().close()
    assert left_in(own_root) == [] and children() <= others
