"""Checks that a worker, and the episodes that it plays meanwhile, outlive any program under bubblewrap, and that the
record says what the program did.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import eventually
from hostility import Told, play
from sandboxes import bubblewrap, marked

from ray_gym.episode.limits import STEPS_USED_UP

pytestmark = [pytest.mark.agents, pytest.mark.ray, pytest.mark.timeout(400)]

MESSAGES = 3 * 2 - 1
WELL = Told("plays well", "completed", ("", ""), f"answer to {MESSAGES} messages", "", 1.0)
"""Record of a program that plays well."""
LATE, REFUSED = "it was ended (deadline) after 6", "command: calls that were refused: "
ANSWERS = {  # what a program said, whose deeds did no harm: what it was told of them
    "never calls": ("I need no model", ""),
    "floods": ("{'200': 1000, '400': 100}", f"{REFUSED}100 turn_is_over ("),
    "sends 20 mb": ("answer to 1 messages answer to 1 messages", ""),
    "sends 20 mb many times": ("{'400'} answer to 1 messages", f"{REFUSED}12 bad_json ("),
    "sends compressed bodies": ("{'415'} answer to 1 messages", f"{REFUSED}10 compressed_body ("),
    "sends half a body": ("answer to 1 messages", ""),
    "sends halves of large bodies": ("answer to 1 messages", ""),
    "opens many connections": ("1952 answer to 1 messages", ""),
    "sends another key": ("invalid_api_key", f"{REFUSED}1 invalid_api_key ("),
    "forks daemons": ("ten daemons", ""),
    "reads the worker": ("[] 3", ""),
    "connects to ports": ("True []", ""),
    "writes outside": ("[]", ""),
}
FAULTS = {  # how a program was ended, which is the policy's own fault
    "sleeps": LATE,
    "ignores sigterm": LATE,
    "fills the disk": "it was ended (disk) after ",
    "eats memory": "it was ended (memory) after ",
    "hides memory": "it was ended (memory) after ",
    "kills its parent": "it was ended (keeper) after ",
    "kills all": "it was ended (keeper) after ",
}
NOISE = ("floods its output", "speaks no text", "calls for ever")


def test_hostile_programs_harm_nobody_else_and_the_record_says_what_they_did(
    cluster: dict[str, str], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    bubblewrap()
    deeds = [WELL.what, *FAULTS, WELL.what, *ANSWERS, WELL.what, *NOISE, WELL.what]
    one = ["fanout.workers=1", "fanout.concurrency=10", "fanout.memory_gb=1.5"]
    told = play(cluster, tmp_path, deeds, *one)
    by_deed = {each.what: each for each in told}
    for deed, (answer, note) in ANSWERS.items():
        with subtests.test(deed):
            found = by_deed[deed]
            assert replace(found, notes="") == Told(deed, "completed", ("", ""), answer, "", 1.0)
            assert found.notes.startswith(note) and bool(found.notes) == bool(note)
    for deed, message in FAULTS.items():
        with subtests.test(deed):
            found = by_deed[deed]
            assert (found.status, found.fault[0], found.reward) == ("completed", "policy", 0.0)
            assert found.fault[1].startswith(message)
    with subtests.test("noise"):
        loud, garbled, restless = (by_deed[deed] for deed in NOISE)
        assert len(loud.answer) == 2**20 and loud.notes.endswith("e" * 2000)
        assert garbled.answer.startswith("\0\1\2") and garbled.notes.startswith("command on standard error: \0")
        assert f"{STEPS_USED_UP}, and it was ended (deadline)" in restless.notes
        assert f"{REFUSED}" in restless.notes and "turn_is_over" in restless.notes
    with subtests.test("the others"):
        assert [each for each in told if each.what == WELL.what] == [WELL] * 4
    eventually(lambda: not marked("86439"), 30)
    assert not list(Path("/").glob("*/ray_gym_rogue"))


def test_a_fork_bomb_ends_alone(cluster: dict[str, str], tmp_path: Path) -> None:
    bubblewrap()
    deeds = [WELL.what, "forks for ever", WELL.what]
    told = play(cluster, tmp_path, deeds, "fanout.workers=1")
    [bomb] = [each for each in told if each.what == "forks for ever"]
    assert bomb.fault[0] == "policy" and bomb.fault[1].startswith("it was ended (processes)")
    assert [each for each in told if each != bomb] == [WELL] * 2
