"""Kinds of sandbox are found by their names; what this machine lacks is refused at once, with how to get it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sandboxes import SMALL, bubblewrap, left_in, opened

from ray_gym.errors import UserError
from ray_gym.plugins import SANDBOX, find_sandbox, names
from ray_gym.sandbox import Sandbox, SandboxKind, SandboxLimits, Unavailable, supervised
from ray_gym.sandbox import bubblewrap as bubblewrap_module
from ray_gym.sandbox.container import ContainerSandbox
from ray_gym.sandbox.leftovers import take_place


class RemoteSandbox(SandboxKind):
    """Stands for a kind of another package."""

    name = "remote"

    @classmethod
    def missing_here(cls) -> Unavailable | None:
        return Unavailable("no key", "set KEY")

    async def open(self, limits: SandboxLimits, door: Path | None = None) -> Sandbox:
        raise NotImplementedError


def opener(kind: str, **options: Any) -> SandboxKind:
    found = find_sandbox(kind, "tests")
    return found(found.Options(**options))


def test_kinds_are_found_by_name_and_as_classes() -> None:
    assert set(names(SANDBOX)) >= {"process", "bubblewrap", "podman", "docker", "apptainer"}
    for name in ("process", "bubblewrap", "podman", "docker", "apptainer"):
        assert find_sandbox(name, "tests").name == name
    assert find_sandbox(f"{__name__}:RemoteSandbox", "tests") is RemoteSandbox
    with pytest.raises(
        UserError, match=r"episode\.sandbox: there is no sandbox 'bublewrap'; did you mean 'bubblewrap'"
    ):
        find_sandbox("bublewrap", "episode.sandbox")
    with pytest.raises(UserError, match="is not a subclass"):
        find_sandbox("ray_gym.errors:UserError", "tests")


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        ("bubblewrap", {}, "'bubblewrap' can't be had here: bwrap is not in PATH; .*apt-get install bubblewrap"),
        ("podman", {"image": "python:3.12"}, "podman is not in PATH; .*apt-get install podman"),
        ("docker", {"image": "python:3.12"}, "docker is not in PATH; .*or choose podman"),
        ("apptainer", {"image": "a.sif"}, "neither apptainer nor singularity is in PATH; .*module load"),
    ],
)
async def test_a_missing_program_is_named_with_how_to_get_it(
    kind: str, options: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch, own_root: Path
) -> None:
    monkeypatch.setenv("PATH", str(own_root))
    with pytest.raises(UserError, match=told):
        await opener(kind, **options).open(SMALL)
    assert left_in(own_root) == []


async def test_user_namespaces_that_are_off_are_named(monkeypatch: pytest.MonkeyPatch, own_root: Path) -> None:
    fake = own_root / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own_root}:/usr/bin:/bin")
    with pytest.raises(UserError, match=r"No permissions to create a new namespace; allow user namespaces .*sysctl"):
        await opener("bubblewrap").open(SMALL)


async def test_a_missing_image_is_named(monkeypatch: pytest.MonkeyPatch, own_root: Path) -> None:
    fake = own_root / "podman"
    fake.write_text("#!/bin/sh\necho 'Error: inspecting object: none: image not known' >&2\nexit 125\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own_root}:/usr/bin:/bin")
    with pytest.raises(UserError, match="image none:1 is not here; podman pull none:1"):
        await opener("podman", image="none:1").open(SMALL)
    monkeypatch.setattr("ray_gym.sandbox.apptainer._program", lambda: "apptainer")
    with pytest.raises(UserError, match=r"image none\.sif is not here; make it: apptainer build"):
        await opener("apptainer", image="none.sif").open(SMALL)


def test_options_that_can_be_none_are_refused() -> None:
    for options in ({}, {"image": ""}, {"image": "--privileged a"}, {"image": "a", "cpus": 0}, {"image": "a", "x": 1}):
        with pytest.raises(ValidationError):
            find_sandbox("podman", "tests").Options(**options)
    with pytest.raises(ValidationError):
        SandboxLimits(memory_mb=0)


@pytest.mark.parametrize("kind", ["podman", "docker"])
def test_the_command_line_of_a_container(kind: str, tmp_path: Path, own_root: Path) -> None:
    container = opener(kind, image="python:3.12", cpus=1.5, runtime="runsc")
    assert isinstance(container, ContainerSandbox)
    place = take_place()
    command = container.command(SMALL, tmp_path / "door", place)
    assert command[0] == kind and "run" in command[:3] and "--runtime=runsc" in command[:4]
    needed = {
        "--rm", "--interactive", "--pull=never", f"--name=ray-gym-{place.name}", "--network=none", "--memory=224m",
        "--memory-swap=224m", "--pids-limit=192", "--cpus=1.5", "--read-only", "--cap-drop=ALL",
        "--security-opt=no-new-privileges", f"--volume={tmp_path}/door:/run/ray_gym/door", "--entrypoint=python3",
        "--tmpfs=/sandbox:rw,exec,nosuid,nodev,mode=1777,size=16m",
    }  # fmt: skip
    assert needed <= set(command)
    assert "--privileged" not in command and command[command.index("python:3.12") + 1] == "-I"
    open_network = container.command(SMALL.model_copy(update={"network": True}), None, place)
    assert "--network=host" in open_network and not [part for part in open_network if "door" in part]
    place.remove()


def test_the_command_line_of_apptainer(tmp_path: Path, own_root: Path) -> None:
    apptainer: Any = opener("apptainer", image=tmp_path / "image.sif", cpus=2)
    place = take_place()
    command = apptainer.command(SMALL, tmp_path / "door", place)
    assert command[1] == "exec"
    needed = {"--containall", "--cleanenv", "--no-privs", "--pid", "--net", "--network=none", "--cpus=2"}
    assert needed <= set(command) and f"--bind={place.files}:/sandbox" in command
    assert command[command.index(str(tmp_path / "image.sif")) + 1] == "python3"
    place.remove()


@pytest.mark.agents
async def test_a_bubblewrap_that_knows_no_sizes_has_a_disk_that_is_watched(
    monkeypatch: pytest.MonkeyPatch, own_root: Path
) -> None:
    """Uses a folder of the machine's, as versions before 0.8 can't give a disk in memory a size."""
    bubblewrap()
    monkeypatch.setattr(bubblewrap_module, "_version_here", lambda: (0, 6, 1))
    async with opened("bubblewrap") as sandbox:
        script = "i=0; while :; do head -c 1M /dev/zero > big$i; i=$((i + 1)); sleep 0.1; done"
        end = await sandbox.run(["sh", "-c", script])
        assert end.ended is not None and end.ended.value == "disk"
        assert [place for place in left_in(own_root) if (place / "files/work/big0").exists()]
    assert left_in(own_root) == []


def test_the_supervisor_needs_python_3_9_alone() -> None:
    """Reads the package that runs in images: it is Python 3.9's, and imports the standard library and itself."""
    for file in supervised.INSIDE.glob("*.py"):
        tree = ast.parse(file.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Match), file
            modules = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            assert not [name for name in modules if name.startswith(("ray_gym", "pydantic"))], file
