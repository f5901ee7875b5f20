"""A project of a user's own whose packages have the names of our folders."""

from __future__ import annotations

from pathlib import Path

FOLDERS = ("envs", "deployments", "tests", "configs", "benchmarks")
MODULES = {
    "envs/mine.py": """\
from ray_gym import Environment, Opening, Score, Task

from benchmarks.numbers import ADDED
from configs.numbers import FIRST
from tests.numbers import SECOND


class Mine(Environment[Task, None]):
    \"\"\"A sum of the user's own.\"\"\"

    pattern = "single-step"

    def generate(self, rng, index):
        return Task()

    def setup(self, task, episode):
        return None

    def opening(self, task, state):
        return Opening(messages={"policy": f"{FIRST} and {SECOND}?"})

    def score(self, state, episode):
        return Score(1.0 if episode.answer == str(FIRST + SECOND + ADDED) else 0.0)
""",
    "deployments/players.py": """\
from ray_gym import Message

from benchmarks.numbers import ADDED


def adds(request, rng):
    numbers = [int(word.strip("?")) for word in request.messages[-1].content.split() if word.strip("?").isdigit()]
    return Message("assistant", str(sum(numbers) + ADDED))
""",
    "configs/numbers.py": "FIRST = 19\n",
    "tests/numbers.py": "SECOND = 23\n",
    "benchmarks/numbers.py": "ADDED = 1\n",
}
CONFIG = """\
environment: {id: "envs.mine:Mine"}
tasks: {generate: 2, repeats: 2}
models:
  sums: {engine: scripted, player: "deployments.players:adds"}
participants:
  policy: {model: sums}
limits: {max_turns: 1}
"""


def write_project(folder: Path) -> Path:
    """Writes it into an empty folder: packages, a module in each, and `mine.yaml`, which imports them all."""
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("")
    for name, text in MODULES.items():
        (folder / name).write_text(text)
    (folder / "mine.yaml").write_text(CONFIG)
    return folder
