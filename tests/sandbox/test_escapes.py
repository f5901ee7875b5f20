"""Real programs under bubblewrap try to get out, or at others, and do not."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest
from sandboxes import SMALL, bubblewrap, marked, opened

from ray_gym.sandbox import Ended, Sandbox

LOOKS = """
import os
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "mem", "maps", "fd/0", "cwd"):
        try:
            os.readlink(f"/proc/{pid}/{name}") if name in ("fd/0", "cwd") else open(f"/proc/{pid}/{name}", "rb").close()
            found.append((int(pid), name))
        except OSError:
            pass
print(sorted({pid for pid, _ in found} - {os.getpid()}), len([*filter(str.isdigit, os.listdir("/proc"))]))
"""
WRITABLE = """
import os, stat
own = ("/sandbox", "/dev/shm", "/dev/pts", "/proc/self", "/proc/thread-self")
devices = {"/dev/" + name for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "core", "console")}
for place, folders, names in os.walk("/"):
    folders[:] = [each for each in folders if not (place == "/proc" and each.isdigit())]
    folders[:] = [each for each in folders if os.path.join(place, each) not in own]
    for path in (os.path.join(place, name) for name in names):
        if path in devices or os.path.islink(path) or not stat.S_ISREG(os.lstat(path).st_mode):
            continue
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            print(path)
        except OSError:
            pass
    for name in [".ray_gym_test"]:
        try:
            os.mkdir(os.path.join(place, name))
            print(place)
        except OSError:
            pass
"""
SIGNALS = """
import os, signal
os.kill(1, signal.SIGKILL)
os.kill(1, signal.SIGSTOP)
os.kill(1, signal.SIGTERM)
print("still here")
"""
KILLS_ALL = "import os, signal, time; os.kill(-1, signal.SIGKILL); print('still here'); time.sleep(86426)"


@pytest.fixture(autouse=True)
def kind() -> str:
    bubblewrap()
    return "bubblewrap"


async def test_no_process_of_the_machine_is_seen(sandbox: Sandbox) -> None:
    end = await sandbox.run(["python3", "-c", LOOKS])
    seen, count = end.stdout.decode().rsplit(" ", 1)
    assert seen == "[]", "neither the supervisor's nor the keeper's memory can be read"
    assert int(count) == 3, "the supervisor, the keeper and itself"


async def test_the_machines_ports_and_sockets_are_out_of_reach(sandbox: Sandbox, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0ray_gym_test_{os.getpid()}")
        abstract.listen()
        port = listener.getsockname()[1]
        script = f"""
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_UNIX, "\\0ray_gym_test_{os.getpid()}"),
                        (socket.AF_INET, ("10.0.0.1", 80))):
    try:
        socket.socket(family).connect(address)
        print("connected", address)
    except OSError as error:
        print(error.errno)
"""
        end = await sandbox.run(["python3", "-c", script])
        assert end.stdout.decode().split() == ["111", "111", "101"], end
        async with opened("bubblewrap", SMALL.model_copy(update={"network": True})) as connected:
            assert (await connected.run(["python3", "-c", script])).stdout.startswith(b"connected")


@pytest.mark.agents
async def test_files_of_the_machine_are_not_there(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("1")
    for path in (str(secret), "/etc/shadow", str(Path.home() / ".bashrc"), "/var/lib", "/run/ray_gym/door"):
        assert (await sandbox.run(["ls", path])).exit_code != 0, path
    async with opened("bubblewrap", read_only=[tmp_path]) as seeing:
        assert (await seeing.run(["cat", str(secret)])).stdout == b"1"
        assert (await seeing.run(["rm", str(secret)])).exit_code != 0
        assert (await seeing.run(["sh", "-c", "echo > /tmp/own; echo > /var/tmp/own"])).exit_code == 0
    assert secret.read_text() == "1"


@pytest.mark.agents
async def test_nothing_but_its_own_files_can_be_written(sandbox: Sandbox) -> None:
    """Tries every file that the sandbox sees, those of the kernel in /proc too, which root's could change."""
    end = await sandbox.run(["python3", "-c", WRITABLE], deadline_s=120)
    assert (end.exit_code, end.stdout) == (0, b""), end


async def test_a_program_that_kills_its_parent_ends_with_all_its_own(sandbox: Sandbox) -> None:
    other = asyncio.create_task(sandbox.run(["sh", "-c", "while ! test -e go; do sleep 0.05; done; echo went on"]))
    end = await sandbox.run(["sh", "-c", "setsid sleep 86426 & kill -9 $PPID; sleep 86426"])
    assert (end.ended, end.exit_code) == (Ended.KEEPER, -9)
    assert marked("86426") == []
    await sandbox.write("go", b"")
    assert (await other).stdout == b"went on\n"


@pytest.mark.agents
async def test_a_program_that_stops_its_parent_ends_at_its_deadline(sandbox: Sandbox) -> None:
    end = await sandbox.run(["sh", "-c", "setsid sleep 86426 & kill -STOP $PPID"], deadline_s=0.5)
    assert end.ended is Ended.DEADLINE
    assert marked("86426") == []


async def test_the_supervisor_cannot_be_signalled(sandbox: Sandbox) -> None:
    end = await sandbox.run(["python3", "-c", SIGNALS])
    assert (end.exit_code, end.stdout) == (0, b"still here\n")
    assert (await sandbox.run(["true"])).exit_code == 0


@pytest.mark.agents
async def test_a_program_that_kills_all_ends_itself(sandbox: Sandbox) -> None:
    end = await sandbox.run(["python3", "-c", KILLS_ALL], deadline_s=10)
    assert end.ended is Ended.KEEPER
    assert marked("86426") == []
    assert (await sandbox.run(["true"])).exit_code == 0


async def test_no_rights_are_to_be_had(sandbox: Sandbox) -> None:
    script = (
        "grep -E 'CapEff|CapPrm|CapAmb|NoNewPrivs' /proc/self/status; unshare -U true; mount -t tmpfs none /sandbox"
    )
    end = await sandbox.run(["sh", "-c", script])
    rights = dict(line.split(":\t") for line in end.stdout.decode().splitlines())
    assert {int(value, 16) for name, value in rights.items() if name.startswith("Cap")} == {0}
    assert rights["NoNewPrivs"] == "1" and end.exit_code != 0
    assert b"unshare failed" in end.stderr


@pytest.mark.agents
async def test_a_socket_that_a_program_leaves_is_gone(sandbox: Sandbox) -> None:
    script = "import socket\nfor name in ('left', '/tmp/left'): socket.socket(socket.AF_UNIX).bind(name)"
    assert (await sandbox.run(["python3", "-c", script])).exit_code == 0
    assert (await sandbox.run(["sh", "-c", "test -S left && test -S /tmp/left"])).exit_code == 0
    await sandbox.close()
    assert (await asyncio.to_thread(Path("/tmp/left").exists)) is False


@pytest.mark.agents
async def test_one_sandbox_sees_nothing_of_another(sandbox: Sandbox) -> None:
    async with opened("bubblewrap") as other:
        await other.write("file", b"other's")
        running = await other.start(["sleep", "86427"])
        end = await sandbox.run(["sh", "-c", "cat file /sandbox/work/file; ps aux; ls /tmp"])
        assert b"86427" not in end.stdout and b"other's" not in end.stdout
        end = await sandbox.run(["python3", "-c", KILLS_ALL], deadline_s=10)
        assert len(marked("86427")) > 0
        assert (await running.kill()).exit_code == -signal.SIGTERM
