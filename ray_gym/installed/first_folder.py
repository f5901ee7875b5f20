"""Refuses a folder of the user's whose modules hide Python's own from `python -m ray_gym`, which looks there first.

The module imports only what every process has by then: any other import, also of pathlib, might be of the user's file.
"""
# ruff: noqa: PTH100, PTH113, PTH118, PTH208

import os
import sys

UNUSED = frozenset({"antigravity", "idlelib", "lib2to3", "test", "this", "turtle", "turtledemo"})
"""Modules of Python's library that nothing imports. Many projects have a folder `test`."""
PYTHONS = sys.stdlib_module_names - UNUSED
"""Names of the modules of Python's library that may be needed."""


def hiding(path: str, hidden: str, remedy: str = "start from another folder") -> str:
    """Returns the problem of a file or folder of the user's that hides a module. `hidden` says which; `remedy` is what
    helps besides renaming it.
    """
    return f"{path}: it hides {hidden} from Ray's processes, which import from this folder: rename it, or {remedy}"


def refuse_first_folder() -> None:
    """Ends the process with a line and exit code 2 if it is `python -m ray_gym` and a module in the folder where it
    looks first hides one of Python's. It has to be called before anything else is imported.
    """
    argv = getattr(sys, "argv", [])
    if argv[:1] != ["-m"] or sys.orig_argv[-len(argv)] not in ("ray_gym", "-mray_gym") or sys.flags.safe_path:
        return
    folder_of_modules = sys.path[0]
    try:
        folder = os.path.abspath(folder_of_modules)
        entries = sorted(os.listdir(folder))
    except OSError:  # nothing can be imported from there
        return
    for entry in entries:
        name = entry.removesuffix(".py")
        if name in PYTHONS and (name != entry or os.path.isfile(os.path.join(folder, entry, "__init__.py"))):
            told = hiding(os.path.join(folder, entry), f"Python's own module {name}")
            sys.path.remove(folder_of_modules)  # what follows imports Python's own modules
            from ray_gym.printable import printable

            sys.stderr.write(printable(f"ray-gym: {told}\n"))
            sys.exit(2)
