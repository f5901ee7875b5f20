"""A sandbox runs programs, and tells how each has ended and what it printed."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import pytest
from sandboxes import marked, until

from ray_gym.sandbox import Ended, Sandbox, SandboxGone, SandboxRefused

FLOOD = "import sys; sys.stdout.write('a' * 10_000_000 + 'z' * 10_000_000); sys.stderr.write('e' * 1000)"


async def test_a_program_gets_its_input_environment_and_folder(sandbox: Sandbox) -> None:
    await sandbox.write("below/data.txt", b"here")
    script = 'cat; echo "$WORD:$HOME:$TMPDIR"; cat data.txt; echo wrong >&2; exit 3'
    end = await sandbox.run(["sh", "-c", script], stdin=b"given\n", env={"WORD": "word"}, folder="below")
    assert (end.exit_code, end.ended, end.stderr) == (3, None, b"wrong\n")
    root = sandbox.folder.rpartition("/")[0]
    assert end.stdout.decode().splitlines() == ["given", f"word:{root}/home:{root}/tmp", "here"]


async def test_the_workers_environment_is_not_there(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_WORKER", "1")
    assert b"SECRET_OF_THE_WORKER" not in (await sandbox.run(["env"])).stdout


async def test_a_program_that_is_not_there_ends_as_in_a_shell(sandbox: Sandbox) -> None:
    end = await sandbox.run(["no-such-program"])
    assert (end.exit_code, end.stderr) == (127, b"no-such-program: No such file or directory\n")
    await sandbox.write("plain", b"no program")
    assert (await sandbox.run(["./plain"])).exit_code == 126


async def test_a_folder_elsewhere_is_refused(sandbox: Sandbox) -> None:
    for folder in ("..", "/", "none"):
        with pytest.raises(SandboxRefused):
            await sandbox.run(["true"], folder=folder)


async def test_a_command_that_can_be_none_is_refused(sandbox: Sandbox) -> None:
    for command, env in (([], {}), (["a\0b"], {}), (["true"], {"A=B": ""})):
        with pytest.raises(ValueError, match="a command has"):
            await sandbox.run(command, env=env)


async def test_of_a_flood_the_beginning_and_the_end_are_kept(sandbox: Sandbox) -> None:
    end = await sandbox.run(["python3", "-c", FLOOD], output_bytes=100)
    assert (end.stdout, end.stdout_dropped) == (b"a" * 50 + b"z" * 50, 20_000_000 - 100)
    assert (end.stderr, end.stderr_dropped) == (b"e" * 100, 900)


async def test_daemons_end_with_the_program_that_started_them(sandbox: Sandbox) -> None:
    daemon = "setsid sleep 86420 & (setsid sleep 86420 &) ; nohup sleep 86420 & echo started"
    end = await sandbox.run(["sh", "-c", daemon])
    assert (end.exit_code, end.stdout) == (0, b"started\n")
    assert marked("86420") == []


@pytest.mark.agents
async def test_programs_run_at_the_same_time(sandbox: Sandbox) -> None:
    wait = ["sh", "-c", "while ! test -e go; do sleep 0.01; done; echo $$"]
    waiting = [asyncio.create_task(sandbox.run(wait)) for _ in range(5)]
    await sandbox.run(["touch", "go"])
    ends = await asyncio.gather(*waiting)
    assert len({end.stdout for end in ends}) == 5 and all(end.exit_code == 0 for end in ends)


async def test_what_is_cancelled_is_killed(sandbox: Sandbox) -> None:
    running = asyncio.create_task(sandbox.run(["sh", "-c", "setsid sleep 86421 & sleep 86421"]))
    await until(lambda: len(marked("86421")) > 2, "it starts")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert marked("86421") == []
    assert (await sandbox.run(["true"])).exit_code == 0


async def test_a_program_that_goes_on_is_talked_with(sandbox: Sandbox) -> None:
    program = await sandbox.start(["sh", "-c", "while read line; do echo got $line; echo err $line >&2; done"])
    output = program.output()
    for word in (b"one", b"two"):
        await program.write(word + b"\n")
        assert await anext(output) == b"got " + word + b"\n"
    await program.write(b"", last=True)
    end = await program.wait()
    assert [part async for part in output] == []
    assert (end.exit_code, end.stdout, end.stderr) == (0, b"", b"err one\nerr two\n")


@pytest.mark.agents
async def test_of_streamed_output_the_first_bytes_come_and_of_errors_the_last(sandbox: Sandbox) -> None:
    program = await sandbox.start(["python3", "-c", FLOOD], output_bytes=50)
    end = await program.wait()
    assert b"".join([part async for part in program.output()]) == b"a" * 50
    assert (end.stdout_dropped, end.stderr, end.stderr_dropped) == (20_000_000 - 50, b"e" * 50, 950)


async def test_a_program_is_ended_with_all_that_it_started(sandbox: Sandbox) -> None:
    program = await sandbox.start(["sh", "-c", "setsid sleep 86422 & trap 'echo bye; exit 5' TERM; echo up; wait"])
    output = program.output()
    assert await anext(output) == b"up\n"
    end = await program.kill()
    assert (end.exit_code, end.ended, await anext(output)) == (5, Ended.KILLED, b"bye\n")
    assert marked("86422") == []
    assert await program.kill() == end


async def test_a_closed_sandbox_says_so(sandbox: Sandbox) -> None:
    program = await sandbox.start(["sleep", "86423"])
    await asyncio.gather(sandbox.close(), sandbox.close())
    assert marked("86423") == []
    for call in (program.wait(), sandbox.run(["true"]), sandbox.read("a"), sandbox.start(["true"])):
        with pytest.raises(SandboxGone, match="was closed"):
            await call
    with contextlib.suppress(SandboxGone):
        await program.kill()


@pytest.mark.agents
async def test_python_is_the_workers(sandbox: Sandbox) -> None:
    """Programs find a Python, whatever prefix the worker's own has."""
    end = await sandbox.run(["python3", "-c", "import json, sys; print(sys.version_info[0])"])
    assert end.stdout == b"3\n", (end, sys.version)
