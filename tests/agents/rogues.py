"""Defines an environment in which a program plays, which is told what to do by the task's id, and its scripted model."""

from __future__ import annotations

import os
from pathlib import Path

from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.models.base import CompletionRequest


class Deed(Task):
    what: str
    """Name of what the program does, which it is told."""


class Rogues(Environment[Deed, Deed]):
    """Tells a program what to do, and rewards an answer."""

    participants = ("policy",)

    def setup(self, task: Deed, episode: Episode) -> Deed:
        return task

    def opening(self, task: Deed, state: Deed) -> Opening:
        return Opening(messages={"policy": task.what})

    def score(self, state: Deed, episode: Episode) -> float:
        return float(bool(episode.answer))


def policy(request: CompletionRequest, calls: str = os.devnull) -> Message:
    """Answers with the number of the messages that it was shown. Notes its process and what was said in the file
    `calls`.
    """
    with Path(calls).open("a") as file:
        file.write(f"{os.getpid()} {request.messages[-1].content}\n")
    return Message("assistant", f"answer to {len(request.messages)} messages")
