"""Says at once, before anything is downloaded, where the lock does not fit this platform, and what to set."""

import platform
import sys

found = (platform.python_implementation(), sys.version_info[:2], platform.system(), platform.machine())
if found != ("CPython", (3, 11), "Linux", "x86_64"):
    sys.exit(
        f"The lock is made for CPython 3.11 on Linux x86_64; {sys.executable} is {found[0]} "
        f"{found[1][0]}.{found[1][1]} on {found[2]} {found[3]}.\n"
        "  With a CPython 3.11 elsewhere:  make setup PYTHON=/path/to/python3.11\n"
        "  On another platform, unlocked:  python -m venv .venv && .venv/bin/pip install -e '.[cpu,dev]'  "
        "(or '.[vllm,dev]' on a GPU machine) && touch .venv/installed"
    )
