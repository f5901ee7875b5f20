"""Sandboxes have cgroups where cgroup v2 is delegated.

No machine of these tests has its controllers of memory and processes in cgroup v2, so limits are read from a folder that
stands for one; joining, killing and removing are done in a real one.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from sandboxes import SMALL, bubblewrap, left_in, marked, opened
from test_leftovers import word_of_its_own

from ray_gym.sandbox import ProgramEnd, leftovers
from ray_gym.sandbox import bubblewrap as bubblewrap_module
from ray_gym.sandbox.cgroup import Cgroup, counting, delegated
from ray_gym.sandbox.leftovers import take_place
from ray_gym.sandbox.supervised import SupervisedSandbox

REAL = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


@pytest.fixture
def real() -> Path:
    """Gives a cgroup of this machine's in which others can be made. Skips the test without one."""
    for mount in map(Path, REAL):
        found = delegated(mount=mount, controllers=frozenset())
        if found is not None and os.geteuid() == 0:
            return found
    pytest.skip("no cgroup v2 of this machine may be written by this user")


def tree(root: Path, given: dict[str, str]) -> tuple[Path, Path]:
    """Makes a folder that stands for cgroup v2, with controllers for the children of cgroups, and its processes' file."""
    (root / "cgroup.controllers").touch()
    for path, controllers in given.items():
        (root / path).mkdir(parents=True, exist_ok=True)
        (root / path / "cgroup.subtree_control").write_text(controllers)
        (root / path / "cgroup.procs").touch()
    own = root / "own"
    own.write_text("9:name=systemd:/other\n0::/user/session\n")
    return own, root


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"user": "cpu memory pids", "user/session": ""}, "user"),
        ({"user": "", "user/session": "memory pids"}, "user/session"),
        ({"user": "memory", "user/session": ""}, None),
        ({"user": "", "user/session": ""}, None),
    ],
)
def test_the_cgroup_that_can_have_others_is_found(given: dict[str, str], found: str | None, tmp_path: Path) -> None:
    own, mount = tree(tmp_path, given)
    assert delegated(own, mount) == (None if found is None else mount / found)


def test_a_machine_without_cgroup_v2_has_none(tmp_path: Path) -> None:
    own, mount = tree(tmp_path, {"user": "memory pids", "user/session": ""})
    assert delegated(tmp_path / "none", mount) is None
    assert delegated(own, tmp_path / "none") is None
    own.write_text("4:memory:/user/session\n")
    assert delegated(own, mount) is None


def test_v1_of_the_controller_pids_is_found(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("9:name=systemd:/other\n8:cpu,pids:/session\n")
    assert counting(own, tmp_path) is None
    (tmp_path / "pids" / "session").mkdir(parents=True)
    (tmp_path / "pids" / "session" / "cgroup.procs").touch()
    assert counting(own, tmp_path) == tmp_path / "pids" / "session"
    own.write_text("9:name=systemd:/other\n")
    assert counting(own, tmp_path) is None


@pytest.mark.agents
async def test_the_kernel_counts_processes_in_v1(kind: str, own_root: Path) -> None:
    parent = counting()
    if parent is None or delegated() is not None:
        pytest.skip("v1's controller pids can't be written here")
    async with opened(kind) as sandbox:
        [place] = left_in(own_root)
        group = Cgroup.of(parent, place.name).folder
        assert int((group / "pids.max").read_text()) == 2 * SMALL.processes + 64
        before = int((group / "pids.current").read_text())
        program = await sandbox.start(["sh", "-c", "setsid sleep 20 & echo up; sleep 20"])
        assert await anext(program.output()) == b"up\n"
        assert int((group / "pids.current").read_text()) >= before + 3
    assert not group.exists()


def test_the_kernels_limits_lie_above_the_sandboxs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Path.mkdir

    def make_with_files(path: Path, *arguments: object, **options: object) -> None:
        make(path, *arguments, **options)  # type: ignore[arg-type]
        for name in ("memory.max", "memory.swap.max", "pids.max"):
            (path / name).touch()

    monkeypatch.setattr(Path, "mkdir", make_with_files)
    group = Cgroup.make(tmp_path, "name", SMALL)
    read = {name: int((group.folder / name).read_text()) for name in ("memory.max", "memory.swap.max", "pids.max")}
    assert read == {"memory.max": (128 + 2 * 16 + 64) * 2**20, "memory.swap.max": 0, "pids.max": 192}
    assert group.kills == 0
    (group.folder / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    assert group.kills == 2


async def test_a_program_that_the_kernel_kills_for_its_memory_says_so(own_root: Path) -> None:
    place = take_place()
    place.cgroup = Cgroup(own_root)
    sandbox = SupervisedSandbox(None, SMALL, "", 0, place)  # type: ignore[arg-type]
    killed = ProgramEnd(-signal.SIGKILL, None, 1.0, b"", b"")
    assert sandbox._explain(killed).ended is None
    (own_root / "memory.events").write_text("oom_kill 1\n")
    assert sandbox._explain(killed).ended == "memory"
    assert sandbox._explain(killed).ended is None, "it was told already"
    place.remove()


@pytest.mark.agents
async def test_all_processes_are_in_the_cgroup_and_end_with_it(
    real: Path, own_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bubblewrap()
    monkeypatch.setattr(bubblewrap_module, "cgroup_here", lambda: real)
    word = word_of_its_own()
    async with opened("bubblewrap") as sandbox:
        [place] = left_in(own_root)
        group = Cgroup.of(real, place.name).folder
        program = await sandbox.start(["sh", "-c", f"setsid sleep {word} & echo up; sleep {word}"])
        assert await anext(program.output()) == b"up\n"
        programs = set(marked(word))
        inside = set(map(int, (group / "cgroup.procs").read_text().split()))
        assert len(programs) >= 2 and programs <= inside and len(inside) >= 5
        Cgroup(group).remove()  # as a sweep does
        assert marked(word) == [] and not group.exists()
    assert left_in(own_root) == []


@pytest.mark.agents
async def test_a_cgroup_that_a_dead_worker_left_is_swept(real: Path, own_root: Path) -> None:
    place = take_place()
    place.make_cgroup(real, SMALL)
    assert place.cgroup is not None and place.cgroup.folder.is_dir()
    os.close(place._lock)  # as the kernel does when the worker dies
    assert leftovers.sweep() == 1
    assert not place.cgroup.folder.exists() and left_in(own_root) == []
