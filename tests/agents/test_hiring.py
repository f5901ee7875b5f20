"""Checks how agents are named in a config, and that what is missing is told before the run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import ray_gym
from hostility import python_path, written
from sandboxes import bubblewrap

from ray_gym.agents.hiring import Crew, hire
from ray_gym.agents.program import Site
from ray_gym.config.file import read_config
from ray_gym.errors import UserError
from ray_gym.installed.cache import agents_dir

CONFIG = """
environment: {{id: tic_tac_toe}}
tasks: {{generate: 1}}
models: {{small: {{engine: scripted, player: "a:b"}}}}
participants:
  policy: {{model: small, agent: {agent}}}
  user: {{model: small}}
sandbox: {sandbox}
"""


def hired(folder: Path, agent: str, sandbox: str = "{kind: process}") -> Crew | None:
    file = folder / "run.yaml"
    file.write_text(CONFIG.format(agent=agent, sandbox=sandbox))
    return hire(read_config(file), "run.yaml")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("{id: codex}", "codex"),
        ("{id: claude-code}", "claude-code"),
        ("{id: pi, deadline_s: 5}", "pi"),
        ("{id: openai-agents}", "openai-agents"),
        ("{id: mini-swe-agent, interpreter: python3}", "mini-swe-agent"),
        ("{command: [sh]}", "command"),
        ("{python: 'json.tool:main'}", "python"),
    ],
)
def test_agents_have_names_or_a_command(tmp_path: Path, agent: str, name: str) -> None:
    crew = hired(tmp_path, agent)
    assert crew is not None and crew.agents["policy"].name == name and crew.kind.name == "process"
    assert crew.agents["policy"].deadline_s == (5 if name == "pi" else 600)


def test_a_config_without_agents_has_none(tmp_path: Path) -> None:
    assert hired(tmp_path, "null") is None


def test_an_environment_without_agents_has_sandboxes(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(CONFIG.format(agent="null", sandbox="{kind: process, ahead: 2, most: 3}"))
    crew = hire(read_config(file), "run.yaml", uses_sandbox=True)
    assert crew is not None and not crew.agents and crew.workplaces() is None
    assert (crew.kind.name, crew.ahead, crew.most) == ("process", 2, 3)


@pytest.mark.parametrize(
    ("agent", "sandbox", "told"),
    [
        ("{id: kodex}", "{}", "participants.policy.agent.id: there is no agent 'kodex'; did you mean 'codex'?"),
        ("{id: 'json:loads'}", "{}", "json:loads is not a subclass of ray_gym.agents.program.AgentProgram"),
        ("{}", "{}", "participants.policy.agent.id: missing; command or python may stand for it"),
        ("{pythons: 'a:b'}", "{}", "participants.policy.agent.pythons: unknown key; did you mean 'python'?"),
        ("{ids: codex}", "{}", "participants.policy.agent.ids: unknown key; did you mean 'id'?"),
        ("{python: 'json:dumps', deadline: 3}", "{}", "policy.agent.deadline: unknown key; did you mean 'deadline_s'?"),
        (
            "{python: 'json:dumps', xyz: 3}",
            "{}",
            "agent.xyz: unknown key; known: id, deadline_s, python, interpreter, environment",
        ),
        ("{id: codex}", "{kind: process, limit: {}}", "sandbox.limit: unknown key; did you mean 'limits'?"),
        ("{id: codex, fast: true}", "{}", "participants.policy.agent.fast: unknown key"),
        ("{command: []}", "{}", "participants.policy.agent.command: "),
        ("{python: my_agent.py}", "{}", "participants.policy.agent.python: "),
        ("{python: 'a:b', command: [sh]}", "{}", "participants.policy.agent: command and python name an agent each; "),
        ("{id: codex, command: [sh]}", "{}", "policy.agent: id (codex) and command name an agent each; leave one of"),
        ("{id: codex, python: 'a:b'}", "{}", "policy.agent: id (codex) and python name an agent each; leave one of"),
        ("{id: command, python: 'a:b'}", "{}", "policy.agent: id (command) and python name an agent each; leave one"),
        ("{id: python}", "{}", "participants.policy.agent.python: "),
        ("{command: [sh], arguments: [-v]}", "{}", "participants.policy.agent.arguments: unknown key"),
        ("{id: codex, interpreter: python3}", "{}", "participants.policy.agent.interpreter: unknown key"),
        ("{id: codex, deadline_s: 0}", "{}", "participants.policy.agent.deadline_s: "),
        ("{id: codex}", "{kind: bubble}", "sandbox.kind: there is no sandbox 'bubble'; did you mean 'bubblewrap'?"),
        ("{id: codex}", "{kind: process, limits: {memory_mb: 1}}", "sandbox.limits.memory_mb: "),
        ("{id: codex}", "{kind: process, ahead: 3, most: 2}", "sandbox: ahead: 3 is more than most (2)"),
        ("{id: codex}", "{kind: process, image: x}", "sandbox.image: unknown key"),
        ("{id: codex}", "{kind: bubblewrap, read_only: 5}", "sandbox.read_only: "),
        ("{id: codex}", "{kind: bubblewrap, read_only: /usr}", "sandbox.read_only: "),
        ("{id: codex}", "{kind: bubblewrap, read_only: [lib]}", "sandbox.read_only.0: lib is no absolute path"),
        (
            "{id: codex}",
            "{kind: bubblewrap, read_only: [~nosuch/lib]}",
            "sandbox.read_only.0: ~nosuch/lib: there is no user",
        ),
        (
            "{python: 'json:loads', interpreter: ~nosuch/python}",
            "{}",
            "agent.interpreter: ~nosuch/python: there is no user",
        ),
        ("{command: [sh], environment: {'A=B': x}}", "{}", "'A=B': a variable has a name without ="),
        ("{command: [sh], environment: {'': x}}", "{}", "participants.policy.agent.environment: "),
        ('{command: [sh, "a\\0b"]}', "{}", "participants.policy.agent.command: "),
    ],
)
def test_wrong_input_is_told(tmp_path: Path, agent: str, sandbox: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        hired(tmp_path, agent, sandbox)
    assert told in str(refused.value)


async def test_a_program_that_is_not_there_is_told_before_the_run(tmp_path: Path) -> None:
    there: Any = hired(tmp_path, "{command: [python3]}")
    await there.check()
    missing: Any = hired(tmp_path, "{command: [no-such-agent, --fast]}")
    with pytest.raises(UserError, match=r"policy\.agent: command: no-such-agent is not on this machine: put it"):
        await missing.check()


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        pytest.param(
            "{python: 'sys:path'}",
            "it fails (sys:path is not a function",
            marks=pytest.mark.agents,
        ),
        (
            "{python: 'json:dumps', interpreter: python9}",
            "python: python9 is not on this machine: agent.interpreter has to",
        ),
        pytest.param(
            "{id: openai-agents, interpreter: python3}",
            "it fails (ModuleNotFoundError: No module named 'agents') in a",
            marks=pytest.mark.agents,
        ),
        (
            "{python: 'json:dumps', interpreter: /nowhere/python}",
            "/nowhere/python is not on this machine: agent.interpreter has to name a Python",
        ),
        (
            "{id: mini-swe-agent, interpreter: /nowhere/python}",
            "/nowhere/python is not on this machine: `make",
        ),
    ],
)
async def test_a_function_that_is_not_there_is_told_before_the_run(tmp_path: Path, agent: str, told: str) -> None:
    there: Any = hired(tmp_path, "{python: 'json:dumps'}")
    await there.check()
    missing: Any = hired(tmp_path, agent)
    with pytest.raises(UserError) as refused:
        await missing.check()
    assert str(refused.value).startswith("participants.policy.agent: ") and told in str(refused.value)


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the modules `town_agent` and `town.agent`, and returns their folder."""
    folder = tmp_path / "here"
    (folder / "town").mkdir(parents=True)
    (folder / "town" / "__init__.py").write_text("raise SystemExit('nobody imports it')")
    (folder / "town" / "agent.py").write_text("class Agent:\n    def play(self): ...\nAGENT = Agent()\n")
    (folder / "town_agent.py").write_text("import town_help\ndef play(words, context):\n    return ''\n")
    (folder / "town_help.py").touch()
    (folder / "town_any.py").write_text("from town_help import *\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "town_agents:play",
            "can't import town_agents: No module named 'town_agents'; it is in none of the folders ",
        ),
        ("town.agents:play", "can't import town.agents: No module named 'town.agents'; did you mean 'town.agent'?"),
        ("town_agent:plays", "town_agent has no 'plays'; did you mean 'play'?"),
        ("town.agent:Agent2.play", "town.agent has no 'Agent2'; did you mean 'Agent'?"),
        ("json:play", "json has no 'play'"),
    ],
)
def test_a_function_is_looked_up_without_its_module(tmp_path: Path, agents: Path, name: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        hired(tmp_path, f"{{python: '{name}'}}")
    assert str(refused.value).startswith(f"run.yaml: participants.policy.agent.python: {told}")
    assert name == "json:play" or str(refused.value).endswith("'?"), "the name that was meant"


@pytest.mark.parametrize("name", ["town_agent:play", "town.agent:AGENT.play", "town_any:play", "town:agent"])
def test_a_function_that_may_be_there_is_hired(tmp_path: Path, agents: Path, name: str) -> None:
    assert hired(tmp_path, f"{{python: '{name}'}}") is not None


@pytest.mark.parametrize("options", ["{kind: process}", "{kind: podman, image: x}", "{kind: bubblewrap}"])
def test_a_function_of_an_image_or_a_venv_is_not_looked_for(tmp_path: Path, options: str) -> None:
    interpreter = "" if "image" in options else ", interpreter: python3"
    assert hired(tmp_path, f"{{python: 'town_agents:play'{interpreter}}}", options) is not None


async def test_a_module_beside_the_function_is_to_be_named(tmp_path: Path, agents: Path) -> None:
    bubblewrap()
    crew: Any = hired(tmp_path, "{python: 'town_agent:play'}", "{kind: bubblewrap}")
    with pytest.raises(UserError) as refused:
        await crew.check()
    help_ = agents / "town_help.py"
    assert str(refused.value).endswith(f"bubblewrap: name {help_} in sandbox.read_only, or put both into a package")
    shown: Any = hired(tmp_path, "{python: 'town_agent:play'}", f"{{kind: bubblewrap, read_only: [{help_}]}}")
    await shown.check()


async def test_a_script_that_the_sandbox_does_not_show_is_told_before_the_run(tmp_path: Path) -> None:
    bubblewrap()
    script = tmp_path / "mine.py"
    script.touch()
    unseen: Any = hired(tmp_path, f"{{command: [python3, {script}]}}", "{kind: bubblewrap}")
    with pytest.raises(UserError, match=r"name that in sandbox.read_only\) in a sandbox of kind bubblewrap$"):
        await unseen.check()
    seen: Any = hired(tmp_path, f"{{command: [python3, {script}]}}", f"{{kind: bubblewrap, read_only: [{script}]}}")
    await seen.check()


@pytest.mark.parametrize("command", ["[python3, mine.py]", "[./mine.py]"])
async def test_a_script_beside_the_config_is_no_file_of_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "mine.py").touch()
    monkeypatch.setenv("RAY_GYM_BESIDE", os.pathsep.join(["/", str(tmp_path)]))
    crew: Any = hired(tmp_path, f"{{command: {command}}}")
    with pytest.raises(UserError, match=r"mine.py is not seen there: give its absolute path"):
        await crew.check()
    (tmp_path / "mine.py").unlink()
    await crew.check()


async def test_a_trial_has_its_own_deadline(tmp_path: Path) -> None:
    crew: Any = hired(tmp_path, "{python: 'json:dumps'}", "{kind: process, limits: {seconds: 0.001}}")
    await crew.check()


async def test_code_on_a_command_line_is_no_file(tmp_path: Path) -> None:
    crew: Any = hired(tmp_path, f"{{command: [python3, -c, 'print()\n{'#' * 5000}']}}")
    await crew.check()


async def test_a_sandbox_shows_a_functions_package_and_its_interpreter(tmp_path: Path, monkeypatch: Any) -> None:
    package = tmp_path / "src" / "shop_agent"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "play.py").write_text("def play(words, context): ...\n")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("home = /opt/python3.12/bin\nversion = 3.12.1\n")
    monkeypatch.syspath_prepend(package.parent)
    crew: Any = hired(
        tmp_path, f"{{python: 'shop_agent.play:play', interpreter: {venv}/bin/python}}", "{kind: bubblewrap}"
    )
    shown = [path for path in crew.kind.options.read_only if path != agents_dir()]
    assert shown == [package, venv, Path("/opt/python3.12")]


@pytest.mark.parametrize(
    ("sandbox", "told"),
    [
        ("{kind: bubblewrap}", "the sandbox 'bubblewrap' can't be had here: bwrap is not in PATH; install it: apt-get"),
        ("{kind: docker, image: x}", "the sandbox 'docker' can't be had here: docker is not in PATH; install Docker"),
        ("{kind: podman, image: x}", "the sandbox 'podman' can't be had here: podman is not in PATH; "),
        ("{kind: apptainer, image: /x}", "neither apptainer nor singularity is in PATH; install apptainer"),
    ],
)
async def test_a_sandbox_that_is_not_there_is_told_before_the_run(
    sandbox: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew: Any = hired(tmp_path, "{command: [python3]}", sandbox)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError) as refused:
        await crew.check()
    assert told in str(refused.value)


async def test_an_image_that_is_not_there_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stands a program that knows no image in for apptainer, and for podman."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("apptainer", "podman"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'Error: x:1: image not known' >&2\ntest $1 != image\n")
        (tmp_path / name).chmod(0o755)
    for kind, image, how in (
        ("apptainer", "/no/x.sif", "apptainer build /no/x.sif"),
        ("podman", "x:1", "podman pull x:1"),
    ):
        crew: Any = hired(tmp_path, "{command: [python3]}", f"{{kind: {kind}, image: '{image}'}}")
        with pytest.raises(UserError, match=rf"image {image} is not here; (make it: )?{how}"):
            await crew.check()


@pytest.mark.agents
@pytest.mark.ray
@pytest.mark.parametrize(
    ("sandbox", "told"),
    [
        ("{kind: process}", "command: no-such-agent is not on this machine: "),
        ("{kind: apptainer, image: /no/x.sif}", "the sandbox 'apptainer' can't be had here: "),
    ],
)
def test_a_run_that_lacks_something_ends_with_2(
    sandbox: str, told: str, cluster: dict[str, str], tmp_path: Path
) -> None:
    file = written(tmp_path, ["plays well"])
    lines = [line for line in file.read_text().splitlines() if not line.startswith("sandbox:")]
    file.write_text("\n".join([*lines, f"sandbox: {sandbox}"]).replace("[python3, ", "[no-such-agent, "))
    done = ray_gym("rollout", str(file), environment=python_path(cluster))
    assert done.returncode == 2 and told in done.stderr.splitlines()[-1], done.stderr
    assert done.stderr.count(told) == 1, "no worker is lost that was never up"
    assert "Traceback" not in done.stderr and not (tmp_path / "rogues").exists()


@pytest.mark.parametrize("name", ["codex", "claude-code", "pi"])
def test_further_arguments_are_the_programs(tmp_path: Path, name: str) -> None:
    crew: Any = hired(tmp_path, f"{{id: {name}, arguments: [--thing, 'a b']}}")
    site = Site("/work", "http://127.0.0.1:4000", "key", "policy")
    command = crew.agents["policy"].program.start(site, "Hello", 1).command
    place = command.index("--thing")
    assert command[place + 1] == "a b" and {"resume", "--continue"} & set(command[place:])
