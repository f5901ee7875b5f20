"""Black-box agents: their calls are matched to threads, side by side where they are parallel, and survive a death at any record."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ray_gym import Environment, Message, Opening, Participant, Task, ToolCall, tool
from ray_gym.agent_call import AgentCall, TurnIsOver, UnknownAnswer, command_of
from ray_gym.capture import canonical, without_thought
from ray_gym.commands import CallTool, Close, End, Say
from ray_gym.config import LimitsSection, ParticipantSection
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.history import HistoryReader, fence
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun
from ray_gym.messages import ToolSchema
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.openai_request import Asked
from ray_gym.participant import Participant as Cast
from ray_gym.play import Stage
from ray_gym.response_ids import Place
from ray_gym.session import Done, KeyReused, Session
from ray_gym.spec import EpisodeSpec
from ray_gym.stop import EpisodeOver
from ray_gym.trajectory import as_row, as_table, checked, without_volatile

SHELF = ToolSchema("take", "Take something.", {"type": "object", "properties": {"item": {"type": "string"}}})
_files = itertools.count()


class Shop(Environment[Task, list[str]]):
    """Someone else's agent buys; the clerk answers it."""

    participants = ("policy", "user")

    def setup(self, task: Task, episode: Any) -> list[str]:
        return []

    def opening(self, task: Task, state: list[str]) -> Opening:
        return Opening(messages={"policy": "What do you want?"}, system={"policy": "You are a customer."})

    @tool()
    def take(self, state: list[str], caller: Participant, item: str) -> str:
        state.append(item)
        return json.dumps({"taken": len(state)})

    def finished(self, state: list[str], episode: Any) -> str | None:
        return "full" if len(state) >= 3 else None

    def score(self, state: list[str], episode: Any) -> float:
        return len(state)


@dataclass
class Echo:
    """Thinks, and gives tokens; whoever asks for a held text is answered when that is released."""

    held: dict[str, asyncio.Event] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def complete(self, request: CompletionRequest) -> Completion:
        last = request.messages[-1].content
        async with self.news:
            self.asked.append(last)
            self.news.notify_all()
        if last in self.held:
            await self.held[last].wait()
        new = np.arange(len(request.messages) - request.known, dtype=np.int32)
        calls = (ToolCall(f"c{request.seed % 97}", "take", '{"item":  "pen", "n": 1}'),) if last == "buy" else ()
        message = Message("assistant", f"re: {last}", "I think", calls)
        ids = np.array([request.seed % 1000, 2], dtype=np.int32)
        return Completion(
            message,
            prompt_ids=new,
            prompt_lengths=(1,) * len(new),
            token_ids=ids,
            logprobs=(ids / -1000).astype(np.float32),
        )

    async def was_asked(self, text: str) -> None:
        async with self.news:
            await self.news.wait_for(lambda: text in self.asked)

    async def close(self) -> None:
        return None


class Mute(Echo):
    async def complete(self, request: CompletionRequest) -> Completion:
        return replace(await super().complete(request), message=Message("assistant", ""))


class Twice(Echo):
    """Calls two tools at once, first."""

    async def complete(self, request: CompletionRequest) -> Completion:
        answer = await super().complete(request)
        if request.messages[-1].role != "user" or request.messages[-1].content == "on":
            return answer
        calls = tuple(ToolCall(f"c{number}", "take", json.dumps({"item": number})) for number in range(2))
        return replace(answer, message=replace(answer.message, tool_calls=calls))


class Strict(Echo):
    """Its template takes system messages at the beginning only."""

    async def complete(self, request: CompletionRequest) -> Completion:
        if any(message.role == "system" for message in request.messages[1:]):
            raise EpisodeFailure(FailureKind.DATA, "chat template", "system messages come first")
        return await super().complete(request)


class Aloud(Echo):
    """Thinks in its words."""

    async def complete(self, request: CompletionRequest) -> Completion:
        return replace(await super().complete(request), message=Message("assistant", "<think>What?</think>\nYes"))


@dataclass
class Agent:
    """What an agent in another process would do by HTTP."""

    session: Session
    model: Echo
    file: Path

    async def call(
        self,
        *messages: Message,
        again: bool = False,
        key: str = "",
        asker: str = "",
        arrives: bool = True,
        after: str | None = None,
        form: str | None = None,
        tools: Sequence[ToolSchema] = (SHELF,),
        **changes: Any,
    ) -> Done:
        """`asker`: the key that this very request has; `arrives`: whether the agent gets the answer."""
        shown, asker = tuple(tools), asker or f"k{next(_files)}"
        asked = Asked("m", messages, shown, shown, sampling=changes, response_format=form, after=after)
        call = AgentCall.of(asked, is_again=again, is_named=bool(key))
        own = key or await self.session.deliveries.key_for(call.digest, asker, again)
        try:
            done = await self.session.perform(own, lambda: command_of(call, "policy", self.session))
            self.session.deliveries.answered(asker)
        except asyncio.CancelledError:
            self.session.deliveries.settle(asker, False)
            raise
        self.session.deliveries.settle(asker, arrives)
        return done

    async def say(self, *messages: Message, **options: Any) -> Message:
        done: Done = await self.call(*messages, **options)
        assert done.completion is not None
        return done.completion.message

    @property
    def row(self) -> dict[str, Any]:
        assert self.session.played is not None
        [row] = as_table([checked(as_row(self.session.played, "run", "env"))]).to_pylist()
        return without_volatile(row)

    @property
    def samples(self) -> list[tuple[str, str | None, int]]:
        """Thread, why it was forked, how many generations."""
        return [
            (sample["thread"], sample["fork_reason"], sum(span["generated"] for span in sample["spans"]))
            for sample in self.row["samples"]
            if sample["participant"] == "policy"
        ]


async def opened(folder: Path, *adopted: str, model: Echo | None = None, **limits: Any) -> Agent:
    section, model = LimitsSection(**limits), model or Echo()
    cast = {name: Cast.from_config(name, ParticipantSection(model="m"), section) for name in ("policy", "user")}
    journal = Journal(folder / f"1-{next(_files)}.journal", "run", flush=False)
    history = HistoryReader(folder).read("e", adopted)
    history.started_at = history.started_at or 1.0
    spec = EpisodeSpec("e", "g", "t", 0, 7, "{}", attempt=len(adopted))
    journal.append(Begun("e", 0, spec.attempt, history.started_at, adopted))
    session = Session(
        spec, Stage(Shop(), cast, {"m": model}, section), CallLog("e", 0, spec.attempt, journal, history, 5)
    )
    await session.open()
    return Agent(session, model, journal.path)


def cuts(file: Path) -> list[str]:
    """Names of fenced journals that hold the first records of a file: one, two, ... all."""
    records = [frame(payload) for _, payload in Scan(file.read_bytes())]
    names = []
    for count in range(1, len(records) + 1):
        path = file.with_name(f"1-{next(_files)}.journal")
        path.write_bytes(HEAD + b"".join(records[:count]))
        names.append(fence(path, "run").name)
    return names


SYSTEM, HELLO = Message("system", "You are a customer."), Message("user", "What do you want?")


def user(text: str) -> Message:
    return Message("user", text)


def echoed(message: Message) -> Message:
    """As agents give an answer back: without the reasoning, arguments parsed and written again, other ids."""
    calls = tuple(
        replace(call, id=f"x-{call.id}", arguments=json.dumps(json.loads(call.arguments), indent=1))
        for call in message.tool_calls
    )
    return Message("assistant", message.content + " ", tool_calls=calls)


async def test_a_conversation_goes_on_with_the_participants_own_thread(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    second = await agent.say(SYSTEM, HELLO, echoed(first), user("buy"))
    result = Message("tool", "one pen", tool_call_id="x")
    done = await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "pen"}'))
    assert [event.kind for event in done.events] == ["tool_call"] and json.loads(done.events[0].content) == {"taken": 1}
    await agent.say(SYSTEM, HELLO, echoed(first), user("buy"), echoed(second), result)
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3)] and agent.row["reward"] == 1 and agent.row["turns"] == 1
    kinds = [event["kind"] for event in agent.row["events"] if event["thread"] == "policy"]
    assert kinds == ["system", "opening", "message", "relay", "message", "tool_result", "message"]


async def test_an_edited_history_forks(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    await agent.say(SYSTEM, HELLO, echoed(first), user("more"))
    await agent.say(SYSTEM, HELLO, echoed(first), user("less"))
    await agent.say(SYSTEM, HELLO, Message("assistant", "What I never said"), user("less"))
    await agent.say(SYSTEM, user("Summary: nothing yet"))
    await agent.say(SYSTEM, HELLO, echoed(first), user("more"), tools=())
    await agent.session.perform("end", End())
    assert agent.samples == [
        ("policy", None, 2), ("policy/1", "edited_history", 1), ("policy/2", None, 1), ("policy/3", None, 1),
        ("policy/4", "tools_changed", 1),
    ]  # fmt: skip


async def test_calls_side_by_side_open_threads_and_may_end_in_any_order(tmp_path: Path) -> None:
    model = Echo({"slow": asyncio.Event(), "quick": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    first = await agent.say(SYSTEM, HELLO)
    past = (SYSTEM, HELLO, echoed(first))
    slow = asyncio.create_task(agent.say(*past, user("slow")))
    await model.was_asked("slow")
    quick = asyncio.create_task(agent.say(*past, user("quick")))
    await model.was_asked("quick")
    await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "between"}'))
    model.held["quick"].set()
    answer = await quick
    third = asyncio.create_task(agent.say(*past, user("quick"), echoed(answer), user("on")))
    await third
    model.held["slow"].set()
    await slow
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2), ("policy/1", "edited_history", 2)]
    for name in cuts(agent.file):
        again = await opened(tmp_path, name)
        recorded = HistoryReader(tmp_path).read("e", [name])
        assert again.session.given == len(recorded.commands)
        await again.session.settle()
        assert again.session.episode.calls.log.diverged is None
        assert len(again.model.asked) <= 4 - len(recorded.calls)
    assert again.row == agent.row and again.model.asked == []


async def test_calls_of_the_same_moment_have_threads_of_their_own(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    past = (SYSTEM, HELLO, echoed(first))
    one, other, third = await asyncio.gather(*(agent.say(*past, user(text)) for text in ("one", "other", "third")))
    assert [answer.content for answer in (one, other, third)] == ["re: one", "re: other", "re: third"]
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2), ("policy/1", "branched", 1), ("policy/2", "branched", 1)]


async def test_a_key_is_one_commands(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    taken = CallTool("policy", "x", "take", '{"item": "pen"}')
    first = await agent.session.perform("k", taken)
    assert await agent.session.perform("k", taken) is first
    for other in (replace_item(taken, "book"), Say("policy", "Hello"), End()):
        with pytest.raises(KeyReused):
            await agent.session.perform("k", other)
    with pytest.raises(KeyReused):
        await agent.call(SYSTEM, HELLO, key="k")


def replace_item(call: CallTool, item: str) -> CallTool:
    return CallTool(call.participant, call.id, call.name, json.dumps({"item": item}))


async def left(caller: asyncio.Task[Message]) -> None:
    """Its client goes away, and the gateway notices it."""
    caller.cancel()
    await asyncio.wait([caller])


@pytest.mark.parametrize("says_so", [True, False])
async def test_a_call_that_is_sent_again_counts_once(tmp_path: Path, says_so: bool) -> None:
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    talk = (SYSTEM, user("slow"))
    first = asyncio.create_task(agent.say(*talk))
    await model.was_asked("slow")
    again = asyncio.create_task(agent.say(*talk, again=says_so))
    await asyncio.sleep(0)  # what it asks next arrives before the news that it has gone
    await left(first)
    model.held["slow"].set()
    await again
    assert model.asked == ["slow"]
    await agent.say(*talk, again=says_so, arrives=False)
    assert len(model.asked) == 2, "what was delivered is not given again"
    await agent.say(*talk)
    assert len(model.asked) == 2, "what was not is"
    for _ in range(2):
        await agent.say(*talk, key="one more")
    assert len(model.asked) == 3
    await agent.session.perform("end", End())
    assert [count for *_, count in agent.samples] == [1, 1, 1]


async def test_a_call_that_is_sent_again_before_the_first_was_begun_counts_once(tmp_path: Path) -> None:
    model = Echo({"re: Hello": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    saying = asyncio.create_task(agent.session.perform("s", Say("policy", "re: Hello")))
    await model.was_asked("re: Hello")
    talk = (SYSTEM, user("now"))
    first = asyncio.create_task(agent.say(*talk))
    await asyncio.sleep(0)
    again = asyncio.create_task(agent.say(*talk))
    await asyncio.sleep(0)
    await left(first)
    model.held["re: Hello"].set()
    await saying
    await again
    assert model.asked.count("now") == 1


async def test_a_sample_that_was_refused_at_first_is_no_earlier_one(tmp_path: Path) -> None:
    """Whose client says that it asks again; the one beside it has, or will have, its own answer."""
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    first = asyncio.create_task(agent.say(SYSTEM, user("slow")))
    await model.was_asked("slow")
    again = asyncio.create_task(agent.say(SYSTEM, user("slow"), again=True))
    await asyncio.sleep(0)
    model.held["slow"].set()
    for asking in (first, again, agent.say(SYSTEM, user("slow"), again=True)):
        await asking
    assert model.asked == ["slow"] * 3
    await agent.session.perform("end", End())
    assert sum(count for *_, count in agent.samples) == 3


async def test_samples_side_by_side_are_as_many_as_were_asked_for(tmp_path: Path) -> None:
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    callers = [asyncio.create_task(agent.say(SYSTEM, user("slow"))) for _ in range(3)]
    async with model.news, asyncio.timeout(5):
        await model.news.wait_for(lambda: model.asked == ["slow"] * 3)
    model.held["slow"].set()
    await asyncio.gather(*callers)
    await agent.session.perform("end", End())
    assert [count for *_, count in agent.samples] == [1, 1, 1]


async def test_after_a_death_only_who_says_so_asks_again(tmp_path: Path) -> None:
    """Nobody knows then what was delivered."""
    agent = await opened(tmp_path)
    await agent.say(SYSTEM, HELLO)
    again = await opened(tmp_path, cuts(agent.file)[-1])
    await again.session.settle()
    await again.say(SYSTEM, HELLO, again=True)
    assert again.model.asked == []
    await again.say(SYSTEM, HELLO)
    assert len(again.model.asked) == 1


async def test_the_calls_of_one_answer_may_be_told_each_with_its_result(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Twice())
    first = await agent.say(SYSTEM, HELLO)
    one, other = (
        replace(first, content=text, tool_calls=(call,))
        for text, call in zip((first.content, ""), first.tool_calls, strict=True)
    )
    results = [Message("tool", text, tool_call_id=call.id) for text, call in zip("ab", first.tool_calls, strict=True)]
    past = (SYSTEM, HELLO, one, results[0], other, results[1])
    second = await agent.say(*past)
    assert [message.content for message in agent.session.episode.threads["policy"].messages[3:5]] == ["a", "b"]
    await agent.say(*past, echoed(second), user("on"))
    await agent.say(SYSTEM, HELLO, other, results[1], one, results[0])
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3), ("policy/1", None, 1)]


async def test_an_answer_may_be_gone_on_with_by_its_name(tmp_path: Path) -> None:
    agent = await opened(tmp_path)

    async def on(after: str | None, *said: Message, **options: Any) -> str:
        done = await agent.call(*said, after=after, **options)
        assert done.told is not None
        return str(Place(done.told.thread, done.told.length))

    one, other = await asyncio.gather(on(None, SYSTEM, HELLO), on(None, SYSTEM, HELLO, user("too")))
    for _ in range(2):
        one, other = await asyncio.gather(on(one, user("buy")), on(other, user("more")))
        [call] = agent.session.episode.threads["policy"].messages[-1].tool_calls
        one = await on(one, Message("tool", "a pen", tool_call_id=call.id))
    await on(str(Place("policy", 3)), user("something else"))
    for wrong in ("resp_", "resp_1", "x", str(Place("user", 1)), str(Place("policy", 99)), str(Place("policy/9", 1))):
        with pytest.raises(UnknownAnswer):
            await on(wrong, user("more"))
    with pytest.raises(ValueError, match="not open"):
        await on(one, Message("tool", "a pen", tool_call_id="other"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 5), ("policy/1", None, 3), ("policy/2", "edited_history", 1)]


async def test_what_the_model_cannot_be_asked_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Strict())
    first = await agent.say(SYSTEM, HELLO)
    refused = await agent.call(SYSTEM, HELLO, echoed(first), SYSTEM)
    assert refused.refused is not None and "system" in refused.refused.message and refused.stop is None
    assert (await agent.call(SYSTEM, user("new"), SYSTEM)).refused is not None
    second = await agent.say(SYSTEM, HELLO, echoed(first), user("on"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2)] and second.content == "re: on"
    again = await opened(tmp_path, cuts(agent.file)[-1], model=Strict())
    await again.session.settle()
    assert again.row == agent.row and again.model.asked == []


async def test_a_system_message_in_the_middle_is_one_of_the_thread(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    past = (SYSTEM, HELLO, echoed(first), Message("system", "Be quick."), user("on"))
    second = await agent.say(*past)
    await agent.say(*past, echoed(second), user("and on"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3)]


async def test_answers_without_words_may_be_left_out(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Mute())
    await agent.say(SYSTEM, HELLO)
    await agent.say(SYSTEM, HELLO, user("on"))
    await agent.say(SYSTEM, HELLO, Message("assistant", "<think>I did not speak</think>"), user("on"), user("and on"))
    await agent.say(SYSTEM, HELLO)
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 3), ("policy/1", None, 1)]


async def test_the_thought_may_be_taken_out_of_what_is_said(tmp_path: Path) -> None:
    agent = await opened(tmp_path, model=Aloud())
    first = await agent.say(SYSTEM, HELLO)
    await agent.session.perform("s", Say("policy", "Yes"))
    await agent.say(SYSTEM, HELLO, first, *agent.session.episode.threads["policy"].messages[-1:])
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2)]


async def test_what_an_agent_says_is_heard_and_answered(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    first = await agent.say(SYSTEM, HELLO)
    done = await agent.session.perform("s", Say("policy", first.content))
    heard = agent.session.episode.threads["policy"].messages[-1]
    assert heard == user(f"re: {first.content}") and done.stop is None
    await agent.say(SYSTEM, HELLO, echoed(first), heard)
    await agent.session.perform("s2", Say("policy", "In other words"))
    await agent.session.perform("end", End())
    assert agent.samples == [("policy", None, 2)] and agent.row["turns"] == 2
    assert [message.content for message in agent.session.episode.threads["user"].messages] == [
        "re: What do you want?", "re: re: What do you want?", "In other words", "re: In other words",
    ]  # fmt: skip


async def test_without_an_agents_calls_words_and_tools_are_in_the_participants_thread(tmp_path: Path) -> None:
    agent = await opened(tmp_path)
    await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "pen"}'))
    await agent.session.perform("s", Say("policy", "A pen"))
    await agent.session.perform("end", End())
    kinds = [(event["kind"], event["role"]) for event in agent.row["events"] if event["thread"] == "policy"]
    assert kinds[2:] == [("message", "assistant"), ("tool_result", "tool"), ("message", "assistant")]
    assert agent.session.episode.threads["policy"].messages[-1] == user("re: A pen")
    assert agent.samples == []


async def test_limits_hold(tmp_path: Path) -> None:
    agent = await opened(tmp_path, max_steps_per_turn=1, max_turns=2)
    first = await agent.say(SYSTEM, HELLO)
    with pytest.raises(TurnIsOver):
        await agent.say(SYSTEM, HELLO, echoed(first), user("more"))
    await agent.session.perform("s", Say("policy", first.content))
    await agent.say(SYSTEM, HELLO, echoed(first), user("more"), temperature=0.5)
    await agent.session.perform("s2", Say("policy", "bye"))
    done = await agent.session.perform("t", CallTool("policy", "x", "take", '{"item": "pen"}'))
    assert done.stop is not None and done.stop.reason == "max_turns"
    await agent.session.perform("end", End())
    spans = [s["sampling"]["temperature"] for one in agent.row["samples"] for s in one["spans"] if s["generated"]]
    assert 0.5 in spans and agent.row["reward"] == 0


@pytest.mark.parametrize("last", [End(), Close("enough")])
async def test_the_end_does_not_wait_for_answers(tmp_path: Path, last: End | Close) -> None:
    model = Echo({"slow": asyncio.Event()})
    agent = await opened(tmp_path, model=model)
    await agent.say(SYSTEM, HELLO)
    caller = asyncio.create_task(agent.say(SYSTEM, user("slow")))
    await model.was_asked("slow")
    done = await agent.session.perform("last", last)
    with pytest.raises(EpisodeOver):
        await caller
    assert done.stop is not None and agent.row["status"] == ("completed" if isinstance(last, End) else "cancelled")
    again = await opened(tmp_path, cuts(agent.file)[-1], model=Echo({"slow": asyncio.Event()}))
    await again.session.settle()
    assert again.row == agent.row


def test_thoughts_and_the_form_of_arguments_make_no_difference() -> None:
    thought = Message("assistant", "<think>hm</think>\nYes", "deep", (ToolCall("1", "f", '{"b":1,"a":[2]}'),))
    plain = Message("assistant", "Yes", None, (ToolCall("9", "f", '{ "a": [2], "b": 1 }'),))
    assert canonical(thought) == canonical(plain)
    assert canonical(plain) != canonical(replace(plain, tool_calls=(ToolCall("9", "f", '{"a": [3]}'),)))
    assert canonical(replace(plain, tool_calls=(ToolCall("9", "f", "not json "),)))[2] == (("f", "not json"),)


def test_thoughts_are_found_in_long_texts_at_once() -> None:
    long = "<think>" * 200_000
    assert without_thought(long) == long
    assert without_thought(long + "</think> so") == "so"
    assert without_thought("hm </think>A <think>b</think> C <think>d") == "A  C <think>d"
