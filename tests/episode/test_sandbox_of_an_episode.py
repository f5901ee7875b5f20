"""Checks that tools and graders act in the episode's sandbox, and what becomes of their faults."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from playing import Reply, ScriptModel, calls
from sandboxes import SMALL

from ray_gym import Environment, Episode, Opening, Participant, Task, tool
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.sandbox import EpisodeSandbox, seconds_for_tools
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.play.play import Played, play
from ray_gym.plugins import find_sandbox
from ray_gym.sandbox import Sandbox, SandboxGone, SandboxRefused
from ray_gym.sandbox.supply import SandboxSupply
from ray_gym.testing import play_task, says
from ray_gym.wrong_hooks import wrong_hooks


@dataclass
class Bench:
    sandbox: EpisodeSandbox
    seen: str = ""
    raw: Sandbox | None = None


class Workshop(Environment[Task, Bench]):
    uses_sandbox = True

    def setup(self, task: Task, episode: Episode) -> Bench:
        return Bench(episode.sandbox)

    async def furnish(self, state: Bench, episode: Episode) -> None:
        await state.sandbox.write("plan.txt", b"saw")
        state.raw = await state.sandbox.open()

    def opening(self, task: Task, state: Bench) -> Opening:
        return Opening(messages={"policy": "Work."})

    @tool()
    async def sh(self, state: Bench, caller: Participant, command: str) -> str:
        """Runs a command."""
        end = await state.sandbox.run(["sh", "-c", command])
        return f"{end.ended or end.exit_code} {end.stdout.decode()}"

    @tool()
    async def read(self, state: Bench, caller: Participant, path: str) -> str:
        """Reads a file."""
        return (await state.sandbox.read(path)).decode()

    @tool()
    async def lose(self, state: Bench, caller: Participant) -> str:
        """Ends the sandbox, and uses it."""
        await (await state.sandbox.open()).close()
        return (await state.sandbox.read("plan.txt")).decode()

    async def score(self, state: Bench, episode: Episode) -> float:
        state.seen = (await state.sandbox.read("plan.txt")).decode()
        async with episode.fresh_sandbox() as fresh:
            await fresh.write("grader.txt", b"7")
            found = await fresh.run(["ls"])
            return float(found.stdout == b"grader.txt\n")


@pytest.fixture
async def supply() -> AsyncIterator[SandboxSupply]:
    supply = SandboxSupply(find_sandbox("process", "test")(), SMALL)
    yield supply
    await supply.close()


async def play_workshop(
    supply: SandboxSupply | None, replies: Sequence[Reply], environment: Environment[Any, Any] | None = None, **of: Any
) -> Played:
    limits = LimitsSection(**{"max_turns": 1, **of})
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), limits)}
    models = {"m": ScriptModel(list(replies))}
    stage = Stage(environment or Workshop(), cast, models, limits, sandboxes=supply)
    return await play(EpisodeSpec("e", "g", "t", 0, 0, "{}"), stage)


def told(played: Played) -> list[tuple[str, bool]]:
    return [(one.content, one.error is not None) for one in played.episode.events if one.kind == "tool_result"]


async def test_tools_and_scores_act_in_one_place_and_a_grader_in_another(supply: SandboxSupply) -> None:
    played = await play_workshop(supply, [calls("sh", command="printf ' wood' >> plan.txt; cat plan.txt"), "Done"])
    assert told(played) == [("0 saw wood", False)] and played.score is not None and played.score.reward == 1
    assert played.episode.state.seen == "saw wood"
    with pytest.raises(SandboxGone):
        await played.episode.sandbox.read("plan.txt")
    with pytest.raises(SandboxGone):
        await played.episode.state.raw.read("plan.txt")


async def test_what_is_refused_is_told_to_the_caller(supply: SandboxSupply) -> None:
    asked = [calls("read", path=path) for path in ("../../etc/passwd", "none.txt", ".", "a\0b", "\ud800")]
    played = await play_workshop(supply, [*asked, calls("sh", command="echo \0"), "Done"])
    assert played.failure is None and all(is_error for _, is_error in told(played))
    assert "none.txt: No such file or directory" in told(played)[1][0]


@pytest.mark.agents
async def test_a_program_that_takes_memory_or_time_is_a_result_of_its_tool(supply: SandboxSupply) -> None:
    eat = "python3 -c 'x = bytearray(400 << 20); import time; time.sleep(9)'"
    played = await play_workshop(supply, [calls("sh", command=eat), "Done"])
    assert told(played)[0][0].split()[0] == "memory" and played.status == "completed"
    played = await play_workshop(supply, [calls("sh", command="sleep 60"), "Done"], tool_deadline_s=3)
    assert told(played)[0][0].split()[0] == "deadline" and played.status == "completed"


def test_a_program_ends_before_its_tool_would() -> None:
    assert [seconds_for_tools(SMALL, s) for s in (2, 10, 1000)] == [1, 7, SMALL.seconds]


async def test_a_sandbox_that_is_gone_is_a_fault_of_infrastructure(supply: SandboxSupply) -> None:
    played = await play_workshop(supply, [calls("lose"), "Done"])
    assert played.failure is not None and (played.failure.kind, played.failure.where) == ("infra", "sandbox")


class Careless(Workshop):
    async def furnish(self, state: Bench, episode: Episode) -> None:
        await (await state.sandbox.open()).close()
        await state.sandbox.write("plan.txt", b"saw")


async def test_so_is_one_that_ends_in_a_hook_or_that_can_not_be_opened(supply: SandboxSupply) -> None:
    played = await play_workshop(supply, ["Done"], Careless())
    assert played.failure is not None and (played.failure.kind, played.failure.where) == ("infra", "sandbox")
    limited = find_sandbox("podman", "test")
    missing = SandboxSupply(limited(limited.Options(image="ray-gym/no-such-image:0")), SMALL)
    played = await play_workshop(missing, ["Done"])
    assert played.failure is not None and (played.failure.kind, played.failure.where) == ("infra", "sandbox")
    await missing.close()


async def test_without_sandboxes_its_use_fails_the_episode() -> None:
    played = await play_workshop(None, [calls("read", path="plan.txt"), "Done"])
    assert played.failure is not None and "there is no sandbox here" in played.failure.message


async def test_episodes_wait_for_room_and_their_clocks_stand_still() -> None:
    most = SandboxSupply(find_sandbox("process", "test")(), SMALL, ahead=1, most=1)
    most.fill()
    script, began = [calls("sh", command="sleep 0.3"), "Done"], time.monotonic()
    try:
        both = await asyncio.gather(*(play_workshop(most, list(script)) for _ in range(2)))
    finally:
        await most.close()
    assert [played.score is not None and played.score.reward for played in both] == [1, 1]
    assert sum(played.active_s for played in both) < 1.25 * (time.monotonic() - began)


def test_a_hook_that_is_never_called_is_told() -> None:
    class Forgotten(Workshop):
        uses_sandbox = False

    assert wrong_hooks(Forgotten) == ["Forgotten.furnish is never called: set uses_sandbox = True"]
    assert wrong_hooks(Workshop) == []


async def test_refusals_can_be_caught(supply: SandboxSupply) -> None:
    class Caught(Workshop):
        async def score(self, state: Bench, episode: Episode) -> float:
            with pytest.raises(SandboxRefused):
                await state.sandbox.read("none.txt")
            return 0.5

    played = await play_task(Caught(), Task(), {"policy": says("Done")}, sandboxes=supply)
    assert played.score is not None and played.score.reward == 0.5
