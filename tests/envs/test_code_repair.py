"""Plays the environment: mending pays, and nothing else does, with real programs in bubblewrap."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from playing_tasks import call_of, generated
from sandboxes import bubblewrap

from ray_gym import Message
from ray_gym.envs.code_repair import CodeRepair
from ray_gym.play.play import Played
from ray_gym.plugins import find_sandbox
from ray_gym.sandbox import SandboxLimits
from ray_gym.sandbox.supply import SandboxSupply
from ray_gym.testing import play_task, reward_of, says

TASK = generated(CodeRepair(), 0)
PACKAGE = TASK.package
FILES = {file.path: file.text for file in TASK.files}
FIXED = {file.path: file.text for file in TASK.fixed}
INIT = FILES[f"{PACKAGE}/__init__.py"]
COUNT = len(TASK.checks)
LIMITS = SandboxLimits(memory_mb=256, processes=48, seconds=20, disk_mb=32)


@pytest.fixture(params=["process", pytest.param("bubblewrap", marks=pytest.mark.agents)])
async def supply(request: pytest.FixtureRequest) -> AsyncIterator[SandboxSupply]:
    if request.param == "bubblewrap":
        bubblewrap()
    supply = SandboxSupply(find_sandbox(request.param, "test")(), LIMITS)
    yield supply
    await supply.close()


@pytest.fixture
async def walled() -> AsyncIterator[SandboxSupply]:
    """Gives sandboxes of bubblewrap."""
    bubblewrap()
    supply = SandboxSupply(find_sandbox("bubblewrap", "test")(), LIMITS)
    yield supply
    await supply.close()


def write(path: str, text: str) -> Message:
    return call_of("write", json.dumps({"path": path, "text": text}))


def sh(command: str) -> Message:
    return call_of("run_command", json.dumps({"command": command}))


async def repair(supply: SandboxSupply, *moves: Message, **options: Any) -> Played:
    """Plays an episode whose policy makes these moves, and then says that it is done."""
    environment = CodeRepair(CodeRepair.Options(**options))
    players = {"policy": says(*moves, Message("assistant", "Done."))} if moves else {}
    return await play_task(environment, TASK, players, sandboxes=supply, limits={"max_steps_per_turn": 20})


def told(played: Played, kind: str = "tool_result") -> list[str]:
    return [event.content for event in played.episode.events if event.kind == kind]


def mended(more: Mapping[str, str] | None = None) -> list[Message]:
    return [write(path, text) for path, text in {**FIXED, **(more or {})}.items()]


async def test_the_perfect_player_mends_the_package(supply: SandboxSupply) -> None:
    played = await repair(supply)
    assert reward_of(played) == 1 and told(played)[-1].count("passed") == 4
    assert told(played, "verdict") == [f"HiddenChecks: {COUNT} of {COUNT} hidden checks passed"]


async def test_doing_nothing_does_not_pay(supply: SandboxSupply) -> None:
    played = await repair(supply, sh(f"cat {PACKAGE}/*.py; python3 tests/*.py"))
    assert reward_of(played) == 0 and "hidden checks passed" in told(played, "verdict")[0]
    assert "passed test_1" in told(played)[0] and FILES[next(iter(FIXED))] in told(played)[0]


async def test_tools_tell_what_went_wrong(supply: SandboxSupply) -> None:
    moves = [
        call_of("read", '{"path": "none.py"}'),
        call_of("read", '{"path": "../../../etc/passwd"}'),
        write("../out.py", "1"),
        sh("echo out; echo err >&2; exit 3"),
        sh("true"),
        sh("python3 -c \"print('x' * 9000)\""),
    ]
    played = await repair(supply, *moves)
    assert [event.error is not None for event in played.episode.events if event.kind == "tool_result"] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
    assert told(played)[3:5] == ["out\nerr\n\n[exit code 3]", "[it printed nothing]"]
    assert "(3001 characters left out)" in told(played)[5] and reward_of(played) == 0


PRINTS = f"import sys\nsys.stdout.write({json.dumps([{'value': True}] * COUNT)!r})\nsys.stdout.flush()\n"
PATCHES = """
import json, sys
main = sys.modules["__main__"]
json.dumps = lambda *_, **__: "[]"
main.outcome_of = lambda value: {"value": True}
main.run_check = lambda *_: {"value": True, "raises": "ValueError", "expected": True}
"""
LOOKS = """
import gc
class Same:
    def __eq__(self, other): return True
    def __hash__(self): return 1
def found(*_, **__):
    seen = [one for one in gc.get_objects() if isinstance(one, dict) and "expected" in one and "asks" in one]
    return seen[0]["expected"]["value"] if seen else Same()
"""
FAKES = "\n".join(f"{name} = found" for name in TASK.imports.partition(" import ")[2].replace(" ", "").split(","))
FORKS = """
import os, sys
if os.fork() == 0:
    os.setsid()
    sys.stdout.write("[]")
    sys.stdout.flush()
os._exit(0)
"""
BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
HOARDS = "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 20))\n"
BABBLES = "import sys\nwhile True:\n    sys.stdout.write('[' * 65536)\n"
NESTS = "import os, sys\nsys.stdout.write('[' * 500000)\nsys.stdout.flush()\nos._exit(0)\n"
SHADOWS = ("json.py", "sitecustomize.py", "usercustomize.py", "conftest.py", "driver.py", "site.py", "x.pth")
PATCHES_PYTHON = """
for d in $(python3 -c 'import site, sys; print(site.getusersitepackages(), *sys.path)') /usr/lib/python3/dist-packages; do
    mkdir -p $d; echo 'import os; os._exit(0)' > $d/sitecustomize.py
done
echo 'alias python3=true' > ~/.profile
"""


def planted(code: str) -> Message:
    """Returns the call that adds code to the package."""
    return write(f"{PACKAGE}/__init__.py", INIT + code)


DOES_NOT_PAY: dict[str, list[Message]] = {
    "editing the tests": [write(f"tests/test_{PACKAGE}.py", "print('passed')"), sh("rm -rf tests; mkdir tests")],
    "shadowing the library": [
        write(name, PRINTS + "import os; os._exit(0)") for name in (*SHADOWS, *(f"{PACKAGE}/{one}" for one in SHADOWS))
    ],
    "patching the interpreter": [sh(PATCHES_PYTHON)],
    "a printed verdict and an end": [planted(PRINTS + "import os\nos._exit(0)\n")],
    "a printed verdict at exit": [planted(f"import atexit, os\natexit.register(lambda: os._exit(0))\n{PRINTS}")],
    "an exit": [planted("raise SystemExit(0)\n")],
    "a patched driver": [planted(PATCHES)],
    "a look for what is expected": [planted(f"{LOOKS}{FAKES}\n")],
    "sleeping past the deadline": [planted(PRINTS + "import time\ntime.sleep(1000)\n")],
    "forking": [planted(FORKS)],
    "forking for ever": [planted(BOMB)],
    "eating memory": [planted(HOARDS)],
    "filling the disk": [sh(f"cat /dev/zero > {PACKAGE}/zeros.py"), sh("ls")],
    "no package": [sh(f"rm -rf {PACKAGE}")],
    "a link in its place": [*mended(), sh(f"mv {PACKAGE} real && ln -s /etc {PACKAGE}")],
    "links for modules": [
        *mended(),
        sh(f"cd {PACKAGE} && for f in *.py; do mv $f ../$f.txt && ln -s ../$f.txt $f; done"),
    ],
    "too many files": [*mended(), sh(f"for n in $(seq 60); do echo > {PACKAGE}/m$n.py; done")],
    "folders without end": [*mended(), sh(f"for n in $(seq 99); do mkdir {PACKAGE}/d$n; done")],
    "too much code": [*mended(), sh(f"head -c 300000 /dev/zero | tr '\\0' '#' > {PACKAGE}/long.py")],
    "an odd encoding": [sh(f"printf '\\377\\376' > {PACKAGE}/__init__.py")],
    "output without end": [planted(BABBLES)],
    "deep output": [planted(NESTS)],
}


NEVER_END = ("sleeping past the deadline", "forking for ever", "output without end")


@pytest.mark.agents
@pytest.mark.parametrize("cheat", DOES_NOT_PAY)
async def test_does_not_pay(walled: SandboxSupply, cheat: str) -> None:
    options = {"tests_deadline_s": 2} if cheat in NEVER_END else {}
    played = await repair(walled, *DOES_NOT_PAY[cheat], **options)
    assert played.status == "completed" and played.failure is None, played.failure
    assert reward_of(played) == 0 and told(played, "verdict")


@pytest.mark.agents
@pytest.mark.parametrize("what", ["editing the tests", "shadowing the library", "patching the interpreter"])
async def test_a_mended_package_passes_whatever_lies_around_it(walled: SandboxSupply, what: str) -> None:
    assert reward_of(await repair(walled, *DOES_NOT_PAY[what], *mended())) == 1


@pytest.mark.agents
async def test_a_mended_package_may_have_further_modules(walled: SandboxSupply) -> None:
    more = {f"{PACKAGE}/__init__.py": "from .more.deep import *\n" + INIT, f"{PACKAGE}/more/deep.py": "EXTRA = 1\n"}
    assert reward_of(await repair(walled, *mended(more))) == 1
