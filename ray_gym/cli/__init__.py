"""Runs the command line. Its exit codes are 0 for done, 1 for what failed or was interrupted by a signal, and 2 for wrong
input.
"""

import atexit
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Runs the command of this process's arguments. A module of the user's that hides one which the command needs, and
    an interruption of its imports, are told in a line, as all that happens later is.
    """
    first = sys.path[0]  # Ray puts a folder of its own before it
    try:
        from ray_gym.run.signals import end_on_signals, unwind_on_signals

        with unwind_on_signals():  # before all else: what comes sooner is ignored, or ends the process without a word
            atexit.register(end_on_signals)
            from ray_gym.cli.app import main as run

            run()
    except KeyboardInterrupt:
        _end("interrupted", 1)
    except Exception as error:
        # An import looks in the working folder last, also for a part of a package.
        told = _hiding(first) or _hiding(str(Path.cwd()))
        if told is None:
            raise
        _end(f"{told} ({type(error).__name__}: {error})", 2)


def _hiding(first: str) -> str | None:
    """Describes the first module in a folder that hides another; None if none does. From then on the process has
    Python's modules instead of the user's. `first`: the folder, where `python -m` looks first.
    """
    folder = Path(first).absolute()
    sys.path[:] = [path for path in sys.path if Path(path).absolute() != folder]
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "/")
        if (
            name.partition(".")[0] not in ("__main__", "ray_gym")
            and folder in file.parents
            and not _is_installed(file, folder)
        ):
            del sys.modules[name]
    from ray_gym.errors import UserError
    from ray_gym.hosting.import_paths import refuse_hidden_modules

    try:
        refuse_hidden_modules(folder)
    except UserError as error:
        return str(error)
    return None


def _is_installed(file: Path, folder: Path) -> bool:
    """Says whether a module's file is Python's own, or a package's, whose environment may be within the user's folder."""
    own = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    own += [prefix for prefix in map(Path, (sys.prefix, sys.base_prefix)) if folder in (prefix, *prefix.parents)]
    is_own = not set(own).isdisjoint(file.parents)
    return is_own or "site-packages" in file.parts or "dist-packages" in file.parts


def _end(message: str, code: int) -> None:
    from ray_gym.printable import printable

    sys.stderr.write(printable(f"ray-gym: {message}\n"))
    sys.exit(code)
