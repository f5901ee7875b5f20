"""Files are read and written in the sandbox's folder, and nowhere else."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ray_gym.sandbox import Sandbox, SandboxRefused
from ray_gym.sandbox.inside import files


async def test_files_come_back_as_they_were_written(sandbox: Sandbox) -> None:
    data = os.urandom(3_000_000)
    await sandbox.write("a/b/c.bin", data)
    assert await sandbox.read("a/b/c.bin") == data
    await sandbox.write("a/b/c.bin", b"shorter")
    assert await sandbox.read("a/./b//c.bin") == b"shorter"
    await sandbox.write("say", b"#!/bin/sh\necho said", executable=True)
    assert (await sandbox.run(["./say"])).stdout == b"said\n"


async def test_paths_that_lead_out_are_refused(sandbox: Sandbox) -> None:
    script = "ln -s /etc out; ln -s ../../outside link; ln -s loop loop; mkdir a"
    assert (await sandbox.run(["sh", "-c", script])).exit_code == 0
    for path in ("../out", "a/../../out", "/etc/passwd", "", "a\0b", "out/passwd", "link", "link/b"):
        with pytest.raises(SandboxRefused):
            await sandbox.read(path)
        with pytest.raises(SandboxRefused):
            await sandbox.write(path, b"taken over")


async def test_a_link_within_the_folder_is_followed(sandbox: Sandbox) -> None:
    await sandbox.write("real/file", b"1")
    await sandbox.run(["ln", "-s", "real", "link"])
    assert await sandbox.read("link/file") == b"1"


@pytest.mark.agents
async def test_only_plain_files_are_read_and_written(sandbox: Sandbox) -> None:
    await sandbox.run(["sh", "-c", "mkdir folder; mkfifo pipe; ln -s loop loop"])
    for path in ("folder", "pipe", "loop", ".", "pipe/below"):
        async with asyncio.timeout(20):
            with pytest.raises((SandboxRefused, OSError)):
                await sandbox.read(path)
            with pytest.raises((SandboxRefused, OSError)):
                await sandbox.write(path, b"")


async def test_a_file_that_is_too_long_or_missing_is_refused(sandbox: Sandbox) -> None:
    await sandbox.write("long", b"x" * 1000)
    assert len(await sandbox.read("long", most_bytes=1000)) == 1000
    with pytest.raises(SandboxRefused, match="more than 999 bytes"):
        await sandbox.read("long", most_bytes=999)
    with pytest.raises(FileNotFoundError):
        await sandbox.read("none")


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Puts a link in place of a folder, as a program might, after the path was looked at."""
    home, outside = tmp_path / "home", tmp_path / "outside"
    (home / "a").mkdir(parents=True)
    outside.mkdir()
    look = files._inside

    def look_and_change(folder: str, path: str) -> str:
        found = look(folder, path)
        if (home / "a").is_dir() and not (home / "a").is_symlink():
            (home / "a").rmdir()
            (home / "a").symlink_to(outside)
        return found

    monkeypatch.setattr(files, "_inside", look_and_change)
    with pytest.raises(OSError):
        files.write(str(home), "a/file", b"taken over", False)
    assert list(outside.iterdir()) == []
