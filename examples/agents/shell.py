"""Runs the commands of the agents in this folder."""

from __future__ import annotations

import subprocess

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
"""Schema of the arguments of a tool that runs a command."""


def run(command: str) -> str:
    """Runs a command of the shell, and returns what it printed with its exit code."""
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, errors="replace", check=False)
    return f"{done.stdout}{done.stderr}exit code {done.returncode}"
