"""Checks that programs which exceed a limit are ended, with the reason, and that the sandbox goes on."""

from __future__ import annotations

import asyncio

import pytest
from sandboxes import SMALL, bubblewrap, marked, opened

from ray_gym.sandbox import Ended, Sandbox

IGNORES = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(86424)"
)
EATS = "import os, time; held = [bytes(b'1' * 2**20) for _ in range(400)]; time.sleep(86424)"
SHARES = """
import mmap, time
shared = mmap.mmap(-1, 400 * 2**20)
for at in range(0, len(shared), 4096):
    shared[at] = 1
time.sleep(86424)
"""
HIDES = """
import os, time
held = []
for _ in range(100):
    held.append(os.memfd_create("held"))
    os.write(held[-1], bytes(4 * 2**20))
time.sleep(86424)
"""
MANY_FILES = "import os\nfor number in range(100_000): open(f'{number}', 'w').close()\nimport time; time.sleep(86424)"


async def test_a_program_ends_at_its_deadline(sandbox: Sandbox) -> None:
    end = await sandbox.run(["sh", "-c", "setsid sleep 86424 & echo up; sleep 86424"], deadline_s=0.3)
    assert (end.ended, end.exit_code) == (Ended.DEADLINE, -15)
    assert marked("86424") == []


@pytest.mark.agents
async def test_a_program_that_ignores_sigterm_ends_after_its_deadline(sandbox: Sandbox) -> None:
    end = await sandbox.run(["/usr/bin/env", "python3", "-c", IGNORES], deadline_s=1.5)
    assert end.ended is Ended.DEADLINE and end.exit_code in (-9, -15)
    assert marked("86424") == []
    assert (await sandbox.run(["true"])).exit_code == 0


@pytest.mark.agents
async def test_a_full_disk_is_told(sandbox: Sandbox) -> None:
    end = await sandbox.run(["dd", "if=/dev/zero", "of=big", "bs=1M"])
    assert end.ended is Ended.DISK and end.exit_code != 0
    assert len(await sandbox.read("big", most_bytes=2**25)) <= SMALL.disk_mb * 2**20
    assert (await sandbox.run(["rm", "big"])).ended is None
    await sandbox.write("small", b"there is room again")


@pytest.mark.agents
async def test_a_disk_in_memory_holds_no_more_from_the_worker_either() -> None:
    bubblewrap()
    async with opened("bubblewrap") as sandbox:
        with pytest.raises(OSError, match="No space left"):
            await sandbox.write("big", bytes(SMALL.disk_mb * 2**20 + 1))


@pytest.mark.agents
async def test_memory_is_limited(sandbox: Sandbox) -> None:
    for script in (EATS, SHARES):
        end = await sandbox.run(["python3", "-c", script])
        assert (end.ended, end.exit_code) == (Ended.MEMORY, -9), script
    assert (await sandbox.run(["true"])).exit_code == 0


@pytest.mark.agents
async def test_memory_without_a_mapping_is_counted(sandbox: Sandbox) -> None:
    end = await sandbox.run(["python3", "-c", HIDES])
    assert end.ended is Ended.MEMORY


@pytest.mark.agents
async def test_memory_that_processes_share_is_counted_once(sandbox: Sandbox) -> None:
    """A parent of 60 MB with 8 children stays below 128 MB."""
    script = "import os, time\nheld = b'1' * 60 * 2**20\nfor _ in range(8):\n  if not os.fork(): break\ntime.sleep(1)"
    assert (await sandbox.run(["python3", "-c", script])).ended is None


@pytest.mark.agents
async def test_a_fork_bomb_ends(sandbox: Sandbox) -> None:
    end = await sandbox.run(["bash", "-c", "bomb() { bomb | bomb & }; bomb; sleep 86425"], output_bytes=1000)
    assert (end.ended, end.exit_code) == (Ended.PROCESSES, -9)
    assert marked("86425") == []
    assert (await sandbox.run(["true"])).exit_code == 0


@pytest.mark.agents
async def test_threads_count_as_processes(sandbox: Sandbox) -> None:
    script = "import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(86424,)).start()"
    end = await sandbox.run(["python3", "-c", script])
    assert end.ended is Ended.PROCESSES or b"can't start new thread" in end.stderr
    assert marked("86424") == []


@pytest.mark.agents
async def test_the_program_that_takes_most_is_ended_and_others_are_not(sandbox: Sandbox) -> None:
    other = asyncio.create_task(sandbox.run(["sh", "-c", "while ! test -e go; do sleep 0.05; done; echo went on"]))
    grows = "import time\nheld = []\nwhile True: held.append(b'1' * 2**20); time.sleep(0.005)"
    assert (await sandbox.run(["python3", "-c", grows])).ended is Ended.MEMORY
    await sandbox.write("go", b"")
    end = await other
    assert (end.ended, end.stdout) == (None, b"went on\n")


@pytest.mark.agents
async def test_files_are_limited_as_they_take_memory_of_the_kernel(sandbox: Sandbox) -> None:
    end = await sandbox.run(["python3", "-c", MANY_FILES])
    assert end.ended is Ended.DISK
