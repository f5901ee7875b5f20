"""An episode whose worker died goes on from its last call, whatever its environment does, and its row is the same."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ray_gym import (
    Environment,
    Episode,
    IdempotencyKey,
    Message,
    Opening,
    Task,
    Tool,
    ToolCall,
    ToolSchema,
    tool,
    tool_by_schema,
)
from ray_gym.config import GroupsSection, LimitsSection, ParticipantSection
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.history import HistoryReader, fence
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Called, decode
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.participant import Participant
from ray_gym.play import Played, Stage
from ray_gym.run.lease import Lease
from ray_gym.run.player import Player
from ray_gym.spec import EpisodeSpec
from ray_gym.trajectory import as_row, as_table, checked, without_volatile

GROUPS = GroupsSection()


@dataclass
class Answering:
    """A model that answers from the request and its own random numbers, and takes its time in no particular order."""

    answer: Callable[[CompletionRequest, random.Random], Message | Completion]
    calls: list[str] = field(default_factory=list)
    jitter: random.Random = field(default_factory=random.Random)

    async def complete(self, request: CompletionRequest) -> Completion:
        await asyncio.sleep(self.jitter.random() * 0.003)
        self.calls.append(request.thread)
        answer = self.answer(request, random.Random(request.seed))
        return answer if isinstance(answer, Completion) else Completion(answer)

    async def close(self) -> None:
        return None


def words(request: CompletionRequest, rng: random.Random) -> Completion:
    """Text with tokens, so that ledgers are compared too."""
    said = f"{request.messages[-1].content[-20:]} {rng.random()}"
    generated = np.array([rng.randrange(1000) for _ in range(5)], dtype=np.int32)
    prompt = np.array([rng.randrange(1000) for _ in request.messages[request.known :]], dtype=np.int32)
    return Completion(
        Message("assistant", said), prompt_ids=prompt, token_ids=generated, logprobs=np.full(5, -0.25, dtype=np.float32)
    )


class Plain(Environment[Task, dict[str, Any]]):
    participants = ("policy", "user")

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {"secret": episode.rng("secret").random(), "id": episode.new_id(), "moves": [], "times": []}

    def opening(self, task: Task, state: dict[str, Any]) -> Opening:
        return Opening(messages={"policy": f"begin {state['id']} {state['secret']}"})

    def score(self, state: dict[str, Any], episode: Episode) -> Any:
        return float(len(episode.events)) + state["secret"]


class ThreeAtOnce(Plain):
    """Sub-agents that run at the same time on one state, which each changes as it hears from its model."""

    async def run(self, episode: Episode) -> None:
        async def explore(thread: str) -> None:
            for _ in range(4):
                seen = ",".join(episode.state["moves"][-3:])
                episode.tell(thread, f"so far: {seen} {episode.rng('shared').random()}")
                said = await episode.reply(thread)
                await asyncio.sleep(0)
                episode.state["moves"].append(f"{thread}:{said.content[-4:]}")

        threads = [episode.open_thread("policy") for _ in range(3)]
        await asyncio.gather(*(explore(thread) for thread in threads))
        await episode.turn("policy")


class WithTools(ThreeAtOnce):
    """Tools that take their time while other threads go on."""

    @tool()
    async def look(self, state: dict[str, Any], caller: Participant, where: str) -> str:
        await asyncio.sleep(random.random() * 0.004)
        state["moves"].append(f"looked at {where}")
        return f"{len(state['moves'])} moves"

    @tool(blocking=True)
    def think(self, state: dict[str, Any], caller: Participant) -> str:
        time.sleep(random.random() * 0.004)
        return "hm"

    async def run(self, episode: Episode) -> None:
        async def explore(number: int) -> None:
            thread = episode.open_thread("policy")
            for n in range(3):
                episode.tell(thread, f"so far {episode.state['moves'][-2:]}")
                said = await episode.reply(thread)
                name, arguments = ("look", {"where": said.content[-3:]}) if n % 2 == number % 2 else ("think", {})
                await episode.call("policy", ToolCall("c", name, json.dumps(arguments)))

        await asyncio.gather(*(explore(n) for n in range(3)))


class WithALibrary(Plain):
    """What it plays with blocks, and brings its tools along."""

    participants = ("policy",)

    async def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {"secret": 0.5, "moves": [await episode.in_thread(len, "reset")]}

    def tools_for(self, task: Task, state: dict[str, Any]) -> Sequence[Tool]:
        schema = {"type": "object", "properties": {"by": {"type": "number"}}}
        return [tool_by_schema(ToolSchema(name, "", schema), self.move) for name in ("up", "down")]

    async def move(self, state: dict[str, Any], caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        await asyncio.sleep(random.random() * 0.002)
        state["moves"].append(f"{name} {arguments}")
        return f"{len(state['moves'])} moves"

    def opening(self, task: Task, state: dict[str, Any]) -> Opening:
        return Opening(messages={"policy": f"begin {state['moves']}"})

    async def run(self, episode: Episode) -> None:
        for _ in range(3):
            await episode.turn("policy")
            episode.tell("policy", await episode.in_thread(repr, episode.state["moves"]))


def moving(request: CompletionRequest, rng: random.Random) -> Message:
    if request.messages[-1].role == "tool":
        return Message("assistant", f"moved {rng.random()}")
    name = rng.choice([schema.name for schema in request.tools])
    return Message("assistant", "", tool_calls=(ToolCall("c", name, json.dumps({"by": rng.random()})),))


class Judged(Plain):
    auxiliary = ("judge",)

    async def score(self, state: dict[str, Any], episode: Episode) -> Any:
        verdicts = await asyncio.gather(*(episode.ask("judge", f"{n}: was it good?") for n in range(3)))
        return {f"judge_{n}": float(len(verdict.content)) for n, verdict in enumerate(verdicts)}


class Shop(Plain):
    """A tool with an effect, and one that makes one and changes the state."""

    sold: list[tuple[str, str]]

    @tool(effect="retry")
    async def buy(self, state: dict[str, Any], caller: Participant, item: str, key: IdempotencyKey) -> str:
        self.sold.append((item, key))
        return f"receipt {len(self.sold)}"


class EffectsInTools(Plain):
    """Tools that wait, make an effect each, wait again and change the state, while others do the same."""

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {**super().setup(task, episode), "episode": episode, "paid": []}

    @tool()
    async def pay(self, state: dict[str, Any], caller: Participant, amount: str) -> str:
        async def make(key: str) -> str:
            await asyncio.sleep(random.random() * 0.003)
            return f"{amount} by {random.random()}"

        receipt = await state["episode"].effect("pay", make, amount)
        state["moves"].append(receipt)
        await asyncio.sleep(random.random() * 0.003)
        state["paid"].append(amount)
        return f"{len(state['paid'])} paid: {receipt}"

    async def run(self, episode: Episode) -> None:
        async def spend(number: int) -> None:
            thread = episode.open_thread("policy")
            for n in range(2):
                episode.tell(thread, f"paid so far {episode.state['moves'][-2:]}")
                said = await episode.reply(thread)
                await episode.call(
                    "policy", ToolCall("c", "pay", json.dumps({"amount": f"{number}{n}{said.content[-3:]}"}))
                )

        await asyncio.gather(*(spend(n) for n in range(3)))


class Tired(Plain):
    """Its clock and what it asks depend on nothing but the episode."""

    async def run(self, episode: Episode) -> None:
        for _ in range(3):
            await episode.turn("policy")
            episode.state["times"].append(episode.now())
            episode.tell("policy", f"it is {episode.now()} and {episode.new_id()}")


def stage_of(environment: Environment[Any, Any], model: Any, **limits: Any) -> Stage:
    section = LimitsSection(**{"max_turns": 4, "tool_deadline_s": 0.3, **limits})
    names = (*environment.participants, *environment.auxiliary)
    cast = {name: Participant.from_config(name, ParticipantSection(model="m"), section) for name in names}
    return Stage(environment, cast, {"m": model}, section)


SPEC = EpisodeSpec("e", "g", "t", 0, 7, "{}")


@dataclass
class Attempt:
    played: Played
    file: Path
    model: Answering

    @property
    def row(self) -> dict[str, Any]:
        """As it is read back, what may differ left out."""
        [row] = as_table([checked(as_row(self.played, "run", "env"))]).to_pylist()
        return without_volatile(row)

    @property
    def answered(self) -> list[Called]:
        records = [decode(payload) for _, payload in Scan(self.file.read_bytes())]
        return [record for record in records if isinstance(record, Called)]


_attempts = itertools.count()


async def attempt(
    folder: Path, environment: Environment[Any, Any], answer: Any, adopted: Sequence[str] = (), **limits: Any
) -> Attempt:
    model = Answering(answer)
    number = next(_attempts)
    journal = Journal(folder / f"1-{number}.journal", "run", flush=False)
    player = Player(stage_of(environment, model, **limits), GROUPS, journal, HistoryReader(folder))
    spec = replace(SPEC, attempt=len(adopted))
    played = await player.play(Lease(spec, tuple(adopted)))
    [played] = await player.close_group([played])
    return Attempt(played, journal.path, model)


def cut(first: Attempt, answers: int) -> str:
    """The name of a fenced journal that holds what was written until that many answers had come."""
    kept, count = [HEAD], 0
    for _, payload in Scan(first.file.read_bytes()):
        is_answer = isinstance(decode(payload), Called)
        if is_answer and count == answers:
            break
        count += is_answer
        kept.append(frame(payload))
    path = first.file.with_name(f"1-{next(_attempts)}.journal")
    path.write_bytes(b"".join(kept))
    return fence(path, "run").name


def shopping(request: CompletionRequest, rng: random.Random) -> Message:
    if request.messages[-1].role == "tool" or not request.tools:
        return Message("assistant", f"thanks {rng.random()}")
    return Message("assistant", "", tool_calls=(ToolCall("c", "buy", json.dumps({"item": f"{rng.random():.3f}"})),))


def shop() -> Shop:
    environment = Shop()
    environment.sold = []
    return environment


@pytest.mark.parametrize(
    ("make", "answer"), [(Plain, words), (ThreeAtOnce, words), (Judged, words), (Tired, words), (shop, shopping)]
)
async def test_cut_anywhere_the_row_is_the_same_and_no_call_is_made_again(
    tmp_path: Path, make: Callable[[], Environment[Any, Any]], answer: Any
) -> None:
    first = await attempt(tmp_path, make(), answer)
    assert first.played.status == "completed", first.played.failure
    total = len(first.answered)
    assert total >= 3
    for answers in range(total + 1):
        environment = make()
        if isinstance(environment, Shop):
            environment.sold = []
        again = await attempt(tmp_path, environment, answer, [cut(first, answers)])
        assert again.played.failure is None, again.played.failure
        assert len(again.answered) == total - answers
        if make is shop:  # what it sold before is not sold again, so its receipts go on from there
            continue
        if make in (ThreeAtOnce, Judged) and answers < total - 1:
            assert again.row["events"][:answers] == first.row["events"][:answers], "what was replayed"
            assert len(again.row["events"]) == len(first.row["events"])
        elif make is Tired and answers < total:
            assert again.row["events"][: 2 * answers] == first.row["events"][: 2 * answers]
        else:
            assert again.row == first.row
        assert again.played.episode.calls.log.replayed == answers


async def test_tools_that_were_brought_and_what_ran_in_threads_is_done_again(tmp_path: Path) -> None:
    first = await attempt(tmp_path, WithALibrary(), moving)
    assert first.played.failure is None and len(first.played.episode.state["moves"]) == 4
    for answers in range(len(first.answered) + 1):
        again = await attempt(tmp_path, WithALibrary(), moving, [cut(first, answers)])
        assert again.row == first.row
        assert again.played.episode.state == first.played.episode.state


async def test_concurrent_threads_with_tools_replay_exactly(tmp_path: Path) -> None:
    """Every tool runs again in a replay, takes another time, and still comes when it came."""
    for _ in range(8):
        first = await attempt(tmp_path, WithTools(), words)
        assert first.played.failure is None
        calls = len([record for record in first.answered if record.thread.startswith("policy")])
        again = await attempt(tmp_path, WithTools(), words, [cut(first, len(first.answered))])
        assert again.row == first.row and again.model.calls == [] and calls == 9
        half = await attempt(tmp_path, WithTools(), words, [cut(first, len(first.answered) // 2)])
        assert half.played.failure is None and half.played.episode.spec.try_ == 0


class QuickEffectsInTools(EffectsInTools):
    """Nothing waits for anything but the journal, which takes no time when it is written, and some when it is read."""

    @tool()
    async def pay(self, state: dict[str, Any], caller: Participant, amount: str) -> str:
        async def make(key: str) -> str:
            return f"{amount} by {random.random()}"

        receipt = await state["episode"].effect("pay", make, amount)
        state["paid"].append(amount)
        return f"{len(state['paid'])} paid: {receipt}"

    async def run(self, episode: Episode) -> None:
        for n in range(3):
            await episode.turn("policy")
            await episode.call("policy", ToolCall("c", "pay", json.dumps({"amount": str(n)})))


@pytest.mark.parametrize("environment", [EffectsInTools, QuickEffectsInTools])
async def test_effects_inside_of_tools_replay_exactly(tmp_path: Path, environment: type[EffectsInTools]) -> None:
    """Their results are recorded; the tools around them run again, and wait for no place that comes after that of their own effect."""
    first = await attempt(tmp_path, environment(), words)
    assert first.played.status == "completed", first.played.failure
    total = len(first.answered)
    for answers in range(total + 1):
        again = await attempt(tmp_path, environment(), words, [cut(first, answers)])
        assert again.played.status == "completed", (answers, again.played.failure)
        if answers == total:
            assert again.row == first.row


async def test_three_attempts_add_up(tmp_path: Path) -> None:
    first = await attempt(tmp_path, Plain(), words)
    second_start = cut(first, 2)
    second = await attempt(tmp_path, Plain(), words, [second_start])
    third = await attempt(tmp_path, Plain(), words, [second_start, cut(second, 3)])
    assert len(third.answered) == len(first.answered) - 5 and third.row == first.row
    assert third.played.episode.spec.attempt == 2


async def test_fresh_random_answers_survive(tmp_path: Path) -> None:
    """Answers that no play could give again: they are there because they were recorded."""

    def nonce(request: CompletionRequest, rng: random.Random) -> Message:
        return Message("assistant", f"{random.SystemRandom().getrandbits(128):032x}")

    first = await attempt(tmp_path, ThreeAtOnce(), nonce)
    nonces = [event.content for event in first.played.episode.events if event.role == "assistant"]
    for answers in (1, 5, 9, len(first.answered)):
        again = await attempt(tmp_path, ThreeAtOnce(), nonce, [cut(first, answers)])
        assert again.played.failure is None
        assert [e.content for e in again.played.episode.events if e.role == "assistant"][:answers] == nonces[:answers]


async def test_an_effect_is_made_once_and_its_key_is_the_same(tmp_path: Path) -> None:
    first_shop = shop()
    first = await attempt(tmp_path, first_shop, shopping)
    keys = [key for _, key in first_shop.sold]
    assert len(set(keys)) == len(keys) >= 2
    names = [record.thread for record in first.answered]
    after_first_effect = names.index("effect buy") + 1
    again_shop = shop()
    again = await attempt(tmp_path, again_shop, shopping, [cut(first, after_first_effect)])
    assert [key for _, key in again_shop.sold] == keys[1:], "the first was not made again"
    assert again.played.status == "completed"


@pytest.mark.parametrize("rule", ["retry", "fail"])
async def test_an_effect_that_nobody_knows_of_follows_its_rule(tmp_path: Path, rule: str) -> None:
    class Rule(Shop):
        @tool(effect=rule)  # type: ignore[arg-type]
        async def buy(self, state: dict[str, Any], caller: Participant, item: str, key: IdempotencyKey) -> str:
            """Buy."""
            self.sold.append((item, key))
            return "receipt"

    first_shop, second_shop = Rule(), Rule()
    first_shop.sold, second_shop.sold = [], []
    first = await attempt(tmp_path, first_shop, shopping)
    before_effect = [record.thread for record in first.answered].index("effect buy")
    second = await attempt(tmp_path, second_shop, shopping, [cut(first, before_effect)])  # its intent is in the file
    if rule == "retry":
        assert second_shop.sold[0] == first_shop.sold[0] and second.played.status == "completed"
    else:
        assert second_shop.sold == [] and second.played.failure is not None
        assert second.played.failure.kind == "infra" and "nobody knows" in second.played.failure.message


async def test_who_asks_something_else_gets_a_new_try_that_says_so(tmp_path: Path) -> None:
    class Fickle(Plain):
        def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
            return {**super().setup(task, episode), "secret": random.random()}

    first = await attempt(tmp_path, Fickle(), words)
    again = await attempt(tmp_path, Fickle(), words, [cut(first, 3)])
    assert again.played.status == "completed" and again.played.episode.spec.try_ == 1
    note = next(event.content for event in again.played.episode.events if event.kind == "note")
    assert "nondeterminism" in note and "asked something else than was recorded" in note
    assert again.played.episode.calls.log.replayed == 0 and again.model.calls
    none_left = await attempt(tmp_path, Fickle(), words, [cut(first, 3)], retries={"nondeterminism": 0})
    assert none_left.played.failure is not None and none_left.played.failure.where == "replay"
    assert none_left.played.failure.kind == "environment"


@pytest.mark.parametrize("swallow", [False, True])
async def test_who_leaves_a_call_out_is_found_out_too(tmp_path: Path, swallow: bool) -> None:
    class Skips(Plain):
        skip = False

        async def run(self, episode: Episode) -> None:
            try:
                for _ in range(3):
                    if not self.skip:
                        await episode.turn("policy")
                        episode.tell("policy", "more")
                    await asyncio.gather(*(self.draft(episode) for _ in range(2)))
            except Exception:
                if not swallow:
                    raise

        async def draft(self, episode: Episode) -> None:
            thread = episode.open_thread("user")
            episode.tell(thread, "a draft, please")
            await episode.reply(thread)

    first = await attempt(tmp_path, Skips(), words)
    skipping = Skips()
    skipping.skip = True
    again = await attempt(tmp_path, skipping, words, [cut(first, 5)], retries={"nondeterminism": 0})
    assert again.played.failure is not None and again.played.failure.where == "replay", "also when its code swallows it"


async def test_a_user_that_fails_gives_a_new_try_and_the_tries_are_remembered(tmp_path: Path) -> None:
    def silent_at_first(request: CompletionRequest, rng: random.Random) -> Message:
        silent = request.thread == "user" and len(tries) == 0
        if silent:
            tries.append(1)
        return Message("assistant", "" if silent else f"{rng.random()}")

    tries: list[int] = []
    first = await attempt(tmp_path, Plain(), silent_at_first)
    assert first.played.status == "completed" and first.played.episode.spec.try_ == 1
    assert first.played.causes[1].startswith("user: user")
    again = await attempt(tmp_path, Plain(), silent_at_first, [cut(first, len(first.answered))])
    assert again.row == first.row and again.answered == [], "the second try was gone on with"


async def test_a_user_that_always_fails_is_left_out(tmp_path: Path) -> None:
    def mute(request: CompletionRequest, rng: random.Random) -> Message:
        return Message("assistant", "" if request.thread == "user" else "hello")

    lost = await attempt(tmp_path, Plain(), mute, retries={"user": 2})
    assert lost.played.failure is not None and lost.played.failure.kind == "user" and lost.played.score is None
    assert lost.played.episode.spec.try_ == 2


async def test_a_judge_that_fails_is_not_the_policys_fault(tmp_path: Path) -> None:
    def cut_short(request: CompletionRequest, rng: random.Random) -> Completion:
        judged = request.thread.startswith("judge")
        return Completion(Message("assistant", "well"), finish_reason="length" if judged else "stop")

    lost = await attempt(tmp_path, Judged(), cut_short, retries={"judge": 1})
    assert lost.played.failure is not None and lost.played.failure.kind == "judge" and lost.played.score is None
    assert lost.played.episode.spec.try_ == 1


async def test_infrastructure_is_asked_again_and_never_scores(tmp_path: Path) -> None:
    broken: list[str] = []

    def flaky(request: CompletionRequest, rng: random.Random) -> Message:
        broken.append(request.thread)
        if len(broken) % 2:
            raise EpisodeFailure(FailureKind.INFRA, "model", "gone")
        return Message("assistant", "hello")

    class Swallowing(Plain):
        async def run(self, episode: Episode) -> None:
            with contextlib.suppress(EpisodeFailure):
                await episode.turn("policy")

    fine = await attempt(tmp_path, Swallowing(), flaky)
    assert fine.played.status == "completed" and broken == ["policy", "policy"]
    lost = await attempt(tmp_path, Swallowing(), flaky, retries={"infra": 0})
    assert lost.played.failure is not None and lost.played.failure.kind == "infra" and lost.played.score is None
