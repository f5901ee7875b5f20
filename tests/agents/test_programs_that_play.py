"""Checks that a program plays a participant: its model calls are steps, its end is the end of the turn, its answer is
heard, and its faults are the participant's.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from cast import ASK, play_with, program
from playing import Reply, Talk, with_tokens

from ray_gym import Episode, Opening, Task
from ray_gym.agents.command import Command, CommandOptions
from ray_gym.agents.program import Output
from ray_gym.agents.turn_calls import TurnCalls
from ray_gym.messages import Message
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.openai_api.refused import Refused
from ray_gym.record.rows import row_of

pytestmark = pytest.mark.agents

TALKS = """
past = json.load(open("past.json")) if os.path.exists("past.json") else []
for said in (words, "Shorter."):
    past.append({"role": "user", "content": said})
    past.append({"role": "assistant", "content": text_of(ask(past))})
json.dump(past, open("past.json", "w"))
print("thinking", file=sys.stderr)
print(past[-1]["content"])
"""


async def test_two_turns_are_one_conversation(subtests: pytest.Subtests) -> None:
    said = [
        with_tokens("It is 42.", [1, 2], [3, 4]),
        with_tokens("42", [5], [6]),
        with_tokens("Because.", [7], [8]),
        with_tokens("So.", [9], [10]),
    ]
    played, models = await play_with({"policy": program(TALKS)}, said, ["Why?", "Bye"], max_turns=2)
    assert played.status == "completed" and played.failure is None
    with subtests.test("the thread is the program's own conversation"):
        last = models["policy"].seen()
        assert [text for _, text in last] == [
            "What is 6 times 7?",
            "It is 42.",
            "Shorter.",
            "42",
            "Why?",
            "Because.",
            "Shorter.",
        ]
    with subtests.test("the user hears the answers alone"):
        assert [text for role, text in models["user"].seen() if role == "user"] == ["42", "So."]
    with subtests.test("all tokens are in one sample"):
        [sample] = [one for one in row_of(played, "run", "env")["samples"] if one["participant"] == "policy"]
        assert sample["token_ids"] == list(range(1, 11)) and sample["fork_reason"] is None
        assert sample["loss_mask"] == [0, 0, 1, 1, 0, 1, 0, 1, 0, 1]
    notes = [event.content for event in played.episode.events if event.kind == "note"]
    assert notes == ["mine on standard error: thinking\n"] * 2


@pytest.mark.agents
async def test_the_user_may_be_a_program_too() -> None:
    both = {
        "policy": program("print(text_of(ask([{'role': 'user', 'content': words}])))"),
        "user": program("print('Hm: ' + words)"),
    }
    played, models = await play_with(both, ["42", "43"], [], max_turns=2)
    assert played.status == "completed" and models["user"].requests == []
    assert [text for _, text in models["policy"].seen()][-1] == "Hm: 42"


KEEPS = "open('mine', 'a').write(words[:2] + os.environ['OPENAI_API_KEY'][:2]); "


async def test_programs_of_two_participants_have_nothing_in_common() -> None:
    """Neither finds the other's files, in which its key and its conversation would be."""
    both = {
        name: program(f"{KEEPS} print(sorted(os.listdir()), len(open('mine').read()))") for name in ("policy", "user")
    }
    played, _ = await play_with(both, [], [], max_turns=2)
    said = [event.content for event in played.episode.events if event.kind == "message" and event.content]
    assert played.status == "completed" and said == [f"['mine'] {length}" for length in (4, 4, 8, 8)]


async def test_a_call_that_nobody_waits_for_ends_with_the_turn(tmp_path: Path) -> None:
    asked = tmp_path / "asked"

    async def hangs(request: CompletionRequest) -> Completion:
        asked.touch()
        return await asyncio.Future()

    async def user(request: CompletionRequest) -> Completion:
        asked.unlink()
        return Completion(Message("assistant", "And?"))

    code = f"""
import threading
threading.Thread(target=ask, args=([{{"role": "user", "content": words}}],), daemon=True).start()
while not os.path.exists({str(asked)!r}):
    time.sleep(0.01)
print("Mine.")
"""
    played, _ = await play_with({"policy": program(code)}, [hangs, hangs], [user, user], max_turns=2)
    said = [event.content for event in played.episode.events if event.kind == "message"]
    assert played.status == "completed" and said == ["Mine.", "And?", "Mine.", "And?"]
    notes = [event.content for event in played.episode.events if event.kind == "note"]
    assert notes == ["mine: calls that nobody waited for when its turn ended: 1"] * 2


async def test_a_call_that_its_client_repeats_is_made_once(tmp_path: Path) -> None:
    asked, made = tmp_path / "asked", asyncio.Event()

    async def answers(request: CompletionRequest) -> Completion:
        asked.touch()
        await made.wait()
        return with_tokens("Once.", [1], [2])

    async def first(request: CompletionRequest) -> Completion:
        made.set()
        return with_tokens("Other.", [1], [3])

    code = f"""
import threading
def again(text):
    body = {{"model": "policy", "messages": [{{"role": "user", "content": text}}]}}
    headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json",
               "x-stainless-retry-count": "1"}}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    return json.load(urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers)))
hears = [{{"role": "user", "content": words}}]
threading.Thread(target=ask, args=(hears,), daemon=True).start()
while not os.path.exists({str(asked)!r}):
    time.sleep(0.01)
threading.Thread(target=ask, args=([{{"role": "user", "content": "Else."}}],), daemon=True).start()
print(text_of(again(words)), text_of(again(words)))
"""
    played, models = await play_with({"policy": program(code)}, [answers, first], ["Bye"])
    assert played.episode.answer == "Once. Once." and len(models["policy"].requests) == 2


async def test_what_it_says_is_its_answer_whichever_conversation_it_comes_from() -> None:
    code = """
draft = text_of(ask([{"role": "user", "content": words}]))
print(text_of(ask([{"role": "user", "content": "Refine: " + draft}])))
"""
    played, _ = await play_with({"policy": program(code)}, ["draft", "final"], ["Bye"])
    assert played.episode.answer == "final"


async def test_a_program_that_prints_nothing_says_the_last_words_of_its_model() -> None:
    code = """
past = [{"role": "user", "content": words}]
for _ in range(2):
    past.append({"role": "assistant", "content": text_of(ask(past)) or ""})
    past.append({"role": "user", "content": "go on"})
"""
    said = [with_tokens("My number is 5.", [1, 2], [3]), with_tokens("", [4], [5])]
    played, models = await play_with({"policy": program(code)}, said, ["Why?"])
    assert played.failure is None
    assert models["user"].seen()[-1] == ("user", "My number is 5.")


async def test_a_conversation_that_a_task_begins_with_is_told_with_its_roles() -> None:
    class Late(Talk):
        def opening(self, task: Task, state: Any) -> Opening:
            history = (Message("user", "It is late."), Message("assistant", "Which order?"), Message("user", "17"))
            return Opening(messages={"policy": history}, system={"policy": "Be kind."})

    played, _ = await play_with({"policy": program("print(words)")}, [], ["Bye"], environment=Late())
    assert played.episode.answer == "Be kind.\n\n[user]\nIt is late.\n\n[assistant]\nWhich order?\n\n[user]\n17"


async def test_what_is_left_out_of_a_long_answer_is_noted() -> None:
    played, _ = await play_with({"policy": program("print('x' * 2_000_000)")}, [], ["Bye"])
    [note] = [event.content for event in played.episode.events if event.kind == "note"]
    assert "bytes in the middle are left out" in note


class Writing(Command):
    answer_files = ("answer",)

    def answer(self, output: Output) -> str:
        return output.files.get("answer", "nothing")


@pytest.mark.parametrize("code", ["os.mkdir('answer')", "os.symlink('answer', 'answer')", "pass"])
async def test_whatever_it_makes_of_its_answer_is_scored(code: str) -> None:
    agent = Writing(CommandOptions(command=("python3", "-c", f"import os; {code}")))
    played, _ = await play_with({"policy": agent}, [], ["Bye"])
    assert (played.status, played.failure, played.episode.answer) == ("completed", None, "nothing")


FULL = """
import pathlib
first = not pathlib.Path("been").exists()
pathlib.Path("been").touch()
said = [text_of(ask([{"role": "user", "content": words}])) for _ in range(2)]
if first:
    open("answer", "w").write("FIRST ANSWER")
    print("FIRST ANSWER")
else:
    print("API Error:", ask([{"role": "user", "content": "more"}])["error"]["code"])
    sys.exit(1)
"""
"""Answers in its first turn, and uses up its steps in the second, in which its client's error is all that it prints."""


@pytest.mark.parametrize("kind", [Writing, Command])
async def test_a_turn_whose_steps_are_used_up_ends_with_its_last_words(kind: type[Command]) -> None:
    agent = kind(CommandOptions(command=("python3", "-c", ASK + FULL)))
    said = ["a", "b", "c", "the last words"]
    played, _ = await play_with({"policy": agent}, said, ["Go on.", "Bye"], max_turns=2, max_steps_per_turn=2)
    assert (played.status, played.failure, played.episode.answer) == ("completed", None, "the last words")
    heard = [
        event.content for event in played.episode.events if event.participant == "policy" and event.kind == "message"
    ]
    assert "API Error" not in str(heard) and heard.count("FIRST ANSWER") == 1


async def test_a_seed_is_left_out_and_noted() -> None:
    code = """
body = {"model": "policy", "messages": [{"role": "user", "content": "x"}], "seed": 5}
print(text_of(post("/openai/chat/completions", body)))
"""
    played, models = await play_with({"policy": program(code)}, ["42"], ["Bye"])
    notes = [event.content for event in played.episode.events if event.kind == "note"]
    assert played.episode.answer == "42" and "calls of policy are answered without seed" in notes, notes
    assert models["policy"].requests[0].sampling.seed is None


async def test_a_program_asks_nothing_when_it_is_not_its_turn() -> None:
    calls = TurnCalls()

    async def call() -> str:
        return "answered"

    with pytest.raises(Refused, match="it is not your turn"):
        await calls.run(call())
    async with calls.open():
        assert await calls.run(call()) == "answered"
    with pytest.raises(Refused, match="it is not your turn"):
        await calls.run(call())


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("sys.exit('I give up')", "it ended with exit code 1: I give up"),
        ("time.sleep(60)", "it was ended (deadline) after 2 s"),
        ("os.kill(os.getpid(), 9)", "it ended with exit code -9"),
    ],
    ids=["exit code", "too late", "killed"],
)
async def test_a_program_that_fails_is_the_policys_own_fault(code: str, told: str) -> None:
    called = "ask([{'role': 'user', 'content': words}])\n" + code
    played, _ = await play_with({"policy": program(called)}, ["42"], deadline_s=2 if "sleep" in code else 60)
    assert played.failure is not None and played.status == "completed" and played.score is not None
    assert (played.failure.kind, played.failure.where) == ("policy", "agent mine")
    assert told in played.failure.message


@pytest.mark.parametrize("code", ["sys.exit(2)", "post('/openai/nothing', {}); sys.exit(1)"])
async def test_nothing_is_the_policys_fault_before_its_model_has_answered(code: str) -> None:
    played, _ = await play_with({"policy": program(code)}, [])
    assert (played.status, played.score) == ("failed", None)
    assert played.failure is not None and (played.failure.kind, played.failure.where) == ("environment", "agent mine")


@pytest.mark.parametrize(
    ("limits", "ended_by"),
    [
        ({"token_budget": 1}, "token_budget"),
        pytest.param({"episode_deadline_s": 3.0}, "deadline", marks=pytest.mark.agents),
        ({}, "failed"),
    ],
    ids=["token budget", "episode's deadline", "failing model"],
)
async def test_what_a_program_that_is_ended_said_of_errors_is_kept(limits: dict[str, Any], ended_by: str) -> None:
    code = """
print("before", "x" * 3000, "last words", file=sys.stderr)
while True:
    ask([{"role": "user", "content": words}])
"""

    async def hangs(request: CompletionRequest) -> Completion:
        return await asyncio.Future()

    said: dict[str, list[Reply]] = {"token_budget": [with_tokens("a", [1], [2, 3])], "deadline": [hangs], "failed": []}
    played, _ = await play_with({"policy": program(code)}, said[ended_by], **limits)
    assert played.episode.stop is not None and played.episode.stop.reason == ended_by and played.active_s < 20
    [note] = [event.content for event in played.episode.events if event.content.startswith("mine on standard error: ")]
    assert note.endswith(" last words\n") and len(note) < 2100


async def test_the_record_says_why_calls_were_refused() -> None:
    code = """
for part in ({"type": "image_url", "image_url": {"url": "data:"}}, {"type": "video"}):
    post("/openai/chat/completions", {"model": "policy", "messages": [{"role": "user", "content": [part]}]})
post("/openai/nothing", {})
"""
    played, _ = await play_with({"policy": program(code)}, [])
    [note] = [event.content for event in played.episode.events if event.kind == "note"]
    assert note.startswith(
        "mine: calls that were refused: 2 invalid_request (messages: messages[0]: content of type 'image"
    )
    assert "video" not in note, "the first of a kind is enough"
    assert note.endswith("; 1 not_found (there is no POST '/openai/nothing' here)")


@pytest.mark.parametrize(
    ("before", "kind", "where"),
    [("", "environment", "agent mine"), ("ask([{'role': 'user', 'content': 'Hi'}]);", "user", "user")],
)
async def test_a_simulated_user_that_fails_fails_the_episode(before: str, kind: str, where: str) -> None:
    played, _ = await play_with({"user": program(f"{before}sys.exit(3)")}, ["42"])
    assert played.status == "failed" and played.failure is not None
    assert (played.failure.kind, played.failure.where) == (kind, where)
    assert "it ended with exit code 3" in played.failure.message


async def test_a_turn_has_its_steps_and_no_more() -> None:
    code = """
answers = [ask([{"role": "user", "content": f"{words} {number}"}]) for number in range(4)]
print([text_of(one) if "choices" in one else one["error"]["code"] for one in answers])
"""
    played, models = await play_with({"policy": program(code)}, ["a", "b"], max_steps_per_turn=2)
    assert played.episode.answer == "['a', 'b', 'turn_is_over', 'turn_is_over']" and len(models["policy"].requests) == 2
    notes = [event.content for event in played.episode.events if event.kind == "note"]
    assert notes[-1] == "mine: its steps were used up (max_steps_per_turn)"


async def test_a_token_budget_ends_program_and_episode() -> None:
    code = "\nwhile True: ask([{'role': 'user', 'content': words}])"
    said = [with_tokens("a", [1], [2, 3]), with_tokens("b", [1], [2, 3])]
    played, _ = await play_with({"policy": program(code)}, said, token_budget=4)
    assert played.episode.stop is not None and played.episode.stop.reason == "token_budget"


async def test_what_the_door_refuses() -> None:
    code = """
print(json.dumps([
    ask([{"role": "user", "content": words}], key="rg-of-another-episode"),
    post("/openai/chat/completions", {"model": "policy"}),
    post("/anthropic/v1/messages", {"model": "policy", "max_tokens": 5, "messages": 3}),
    post("/nowhere", {}),
]))
"""
    played, models = await play_with({"policy": program(code)}, [])
    foreign, empty, messages, nowhere = json.loads(played.episode.answer)
    assert (foreign["status"], foreign["error"]["code"]) == (401, "invalid_api_key")
    assert (empty["status"], empty["error"]["param"]) == (400, "messages")
    assert (messages["status"], messages["type"], messages["error"]["type"]) == (400, "error", "invalid_request_error")
    assert nowhere["status"] == 404 and models["policy"].requests == []


async def test_a_model_that_breaks_ends_the_program_and_fails_the_episode() -> None:
    played, _ = await play_with({"policy": program("ask([{'role': 'user', 'content': words}]); time.sleep(60)")}, [])
    assert played.status == "failed" and "once more than the script has replies" in str(played.failure)


async def test_a_flood_of_calls_is_answered_or_refused_and_nothing_is_lost() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(50) as pool:
    answers = list(pool.map(lambda n: ask([{"role": "user", "content": f"{words} {n}"}]), range(200)))
print(sum("choices" in one for one in answers), sum("error" in one for one in answers))
"""
    played, models = await play_with({"policy": program(code)}, ["a"] * 150, max_steps_per_turn=150)
    assert played.episode.answer == "150 50" and len(models["policy"].requests) == 150


async def test_20_mb_and_half_a_body_are_refused() -> None:
    code = """
import socket
from urllib.parse import urlsplit
print(post("/openai/chat/completions", {"model": "policy", "messages": [{"role": "user", "content": "x" * 40_000_000}]})["status"])
place = urlsplit(os.environ["OPENAI_BASE_URL"])
line = socket.create_connection((place.hostname, place.port))
line.sendall(b"POST /openai/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 100\\r\\n\\r\\n{")
line.close()
print(text_of(ask([{"role": "user", "content": words}])))
"""
    played, _ = await play_with({"policy": program(code)}, ["still here"])
    assert played.episode.answer == "413\nstill here"


async def test_tools_and_scores_of_the_environment_act_in_the_same_sandbox() -> None:
    class Shared(Talk):
        uses_sandbox = True

        async def furnish(self, state: dict[str, Any], episode: Episode) -> None:
            await episode.sandbox.write("task.txt", b"seven")

        async def score(self, state: dict[str, Any], episode: Episode) -> float:
            return float((await episode.sandbox.read("answer.txt")).decode())

    code = "open('answer.txt', 'w').write(str(len(open('task.txt').read()))); print('done')"
    played, _ = await play_with({"policy": program(code)}, [], environment=Shared())
    assert played.failure is None and played.score is not None and played.score.reward == 5


async def test_a_prompt_that_does_not_fit_is_told_with_its_length() -> None:
    code = "ask([{'role': 'user', 'content': words}]); time.sleep(60)"
    full = Completion(Message("assistant"), "context_full", prompt_tokens=9221)
    played, _ = await play_with({"policy": program(code)}, [full])
    assert played.status == "completed" and played.episode.stop is not None
    assert played.episode.stop.reason == "context_full"
    assert played.episode.stop.text == "the prompt has 9221 tokens, and leaves no room in the model's context"
    assert played.active_s < 20, "the program is ended before its deadline"
