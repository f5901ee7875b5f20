"""Exits with advice, before anything is downloaded, if the lock does not fit this Python or this platform."""

import platform
import sys

PYTHONS = ((3, 11), (3, 12), (3, 13))

found = (platform.python_implementation(), platform.system(), platform.machine())
version = sys.version_info[:2]
if found != ("CPython", "Linux", "x86_64") or version not in PYTHONS:
    sys.exit(
        f"The lock is made for CPython 3.11, 3.12 and 3.13 on Linux x86_64; {sys.executable} is {found[0]} "
        f"{version[0]}.{version[1]} on {found[1]} {found[2]}.\n"
        "  With one of these elsewhere:    make setup PYTHON=/path/to/python3.11\n"
        "  On another platform, unlocked:  python -m venv .venv && .venv/bin/pip install -e '.[cpu,dev]'  "
        "(or '.[vllm,dev]' on a GPU machine) && touch .venv/installed .venv/engine-installed"
    )
