"""Checks that a Python function plays a participant, in a process of its own, and keeps a state between its turns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cast import play_with

from ray_gym.agents.python import Python, PythonOptions
from ray_gym.errors import EpisodeFailure

pytestmark = pytest.mark.timeout(60)  # under bubblewrap they are in the part pytest.mark.agents

ASK = """
import asyncio, json, os, urllib.request

def ask(context, messages):
    body = json.dumps({"model": context.model, "messages": messages}).encode()
    headers = {"Authorization": "Bearer " + context.key, "Content-Type": "application/json"}
    request = urllib.request.Request(context.openai_url + "/chat/completions", body, headers)
    return json.load(urllib.request.urlopen(request, timeout=30))["choices"][0]["message"]["content"]
"""
PLAY = """
from shop_agent.asking import ask, asyncio, os

async def play(words, context):
    past = context.state.setdefault("past", [])
    past.append({"role": "user", "content": words})
    said = await asyncio.to_thread(ask, context, past)
    past.append({"role": "assistant", "content": said})
    print("turn", context.turn, flush=True)
    os.system("echo done")
    return said
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a package `shop_agent`, and returns its folder."""
    folder = tmp_path / "src" / "shop_agent"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "asking.py").write_text(ASK)
    (folder / "play.py").write_text(PLAY)
    monkeypatch.syspath_prepend(folder.parent)
    return folder


def function(name: str, **options: str) -> Python:
    return Python(PythonOptions(python=name, **options))


async def test_two_turns_are_one_conversation(package: Path, kind: str) -> None:
    agents = {"policy": function("shop_agent.play:play")}
    played, models = await play_with(agents, ["It is 42.", "So."], ["Why?", "Bye"], kind=kind, max_turns=2)
    assert played.status == "completed" and played.failure is None, played.failure
    heard = [text for role, text in models["user"].seen() if role == "user"]
    assert heard == ["It is 42.", "So."], "what it prints is no answer"
    threads = {event.thread for event in played.episode.events if event.model == "policy"}
    notes = [event.content for event in played.episode.events if event.kind == "note"]
    assert threads == {"policy"}, "it has kept what was said"
    assert notes == [f"mine on standard error: turn {turn}\ndone\n" for turn in range(2)]
    assert "shop_agent" not in sys.modules, "it is imported in a process of its own"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise RuntimeError('no luck')", "it ended with exit code 1: RuntimeError: no luck, in play (odd.py:4)"),
        ("import json; json.loads('{')", "(char 1), in play (odd.py:4)"),
        ("import sys; sys.exit('I give up')", "it ended with exit code 1: I give up"),
    ],
)
async def test_a_function_that_fails_is_the_policys_own_fault(package: Path, code: str, told: str) -> None:
    failure = await failure_of(package, code)
    assert failure.kind == "policy" and told in failure.message


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("return 3", "shop_agent.odd:play returned int, but an agent's answer is a text"),
        ("pass", "shop_agent.odd:play returned NoneType, but an agent's answer is a text"),
        ("return ('a', 'b')", "shop_agent.odd:play returned tuple, but an agent's answer is a text"),
        ("context.state['past'] = {1, 2}; return ''", "context.state can't be kept as JSON"),
        ("context.state['past'] = object(); return ''", "context.state can't be kept as JSON"),
    ],
)
async def test_a_function_that_returns_or_keeps_what_it_never_may_is_its_authors_fault(
    package: Path, code: str, told: str
) -> None:
    failure = await failure_of(package, code)
    assert failure.kind == "environment" and told in failure.message


async def failure_of(package: Path, code: str) -> EpisodeFailure:
    """Plays a function that asks its model, and then does this, and returns the failure."""
    asks = "ask(context, [{'role': 'user', 'content': words}])"
    (package / "odd.py").write_text(
        f"from shop_agent.asking import ask\ndef play(words, context):\n    {asks}\n    {code}\n"
    )
    played, _ = await play_with({"policy": function("shop_agent.odd:play")}, ["42"])
    assert played.failure is not None
    return played.failure


async def test_all_that_a_function_prints_is_kept_in_order_also_if_it_is_ended(package: Path) -> None:
    (package / "odd.py").write_text(
        "import os, signal, sys\n"
        "def play(words, context):\n"
        "    print('one')\n"
        "    print('two', file=sys.stderr)\n"
        "    print('three', end='')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    played, _ = await play_with({"policy": function("shop_agent.odd:play")}, [])
    [note] = [event.content for event in played.episode.events if event.kind == "note"]
    assert note == "mine on standard error: one\ntwo\nthree"


async def test_files_that_the_policy_writes_are_not_imported(package: Path) -> None:
    (package / "odd.py").write_text(
        "def play(words, context):\n"
        "    for name in ('json', 'asyncio', 'shop_agent'):\n"
        "        open(f'{name}.py', 'w').write('raise SystemExit(9)')\n"
        "    import json\n"
        "    return str(context.turn)\n"
    )
    played, models = await play_with({"policy": function("shop_agent.odd:play")}, [], ["Why?", "Bye"], max_turns=2)
    assert played.failure is None
    assert [text for role, text in models["user"].seen() if role == "user"] == ["0", "1"]


async def test_the_user_may_be_a_function(package: Path) -> None:
    (package / "user.py").write_text(
        "def play(words, context):\n    return f'{words}? {os.environ[\"MOOD\"]}'\nimport os"
    )
    agents = {"user": Python(PythonOptions(python="shop_agent.user:play", environment={"MOOD": "bad"}))}
    played, models = await play_with(agents, ["42", "43"], max_turns=2)
    assert played.status == "completed" and models["policy"].seen()[-1] == ("user", "42? bad")
