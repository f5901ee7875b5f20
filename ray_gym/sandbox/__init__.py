"""Runs programs in sandboxes: an agent that plays a participant, the tools of an environment, and graders.

`docs/sandbox.md` says what each kind protects from.
"""

from ray_gym.sandbox.kind import SandboxKind, SandboxOptions, Unavailable
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.pool import SandboxPool
from ray_gym.sandbox.sandbox import Ended, Program, ProgramEnd, Sandbox, SandboxGone, SandboxRefused

__all__ = [
    "Ended",
    "Program",
    "ProgramEnd",
    "Sandbox",
    "SandboxGone",
    "SandboxKind",
    "SandboxLimits",
    "SandboxOptions",
    "SandboxPool",
    "SandboxRefused",
    "Unavailable",
]
