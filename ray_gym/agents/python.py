"""Defines how a Python function plays a participant."""

from __future__ import annotations

import importlib.util
import re
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from ray_gym.agents import function_turn
from ray_gym.agents.command import variables
from ray_gym.agents.function_names import complaint_about_function, module_beside
from ray_gym.agents.program import AgentOptions, AgentProgram, Site, Start
from ray_gym.beside import refuse_hidden
from ray_gym.config.programs import Variables
from ray_gym.load_object import complaint_about_file
from ray_gym.paths import home_expanded


def _no_file(name: Any) -> Any:
    """Checks that a name is no path of a file, and returns it. Errors: ValueError."""
    if isinstance(name, str) and (complaint := complaint_about_file(name)):
        raise ValueError(complaint)
    return name


MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
"""Python's words for a module that is not found."""
Name = Annotated[
    str, BeforeValidator(_no_file), Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$")
]


class PythonOptions(AgentOptions):
    """Holds the options of a Python function."""

    python: Name
    """The function, as package.module:function."""
    interpreter: str = sys.executable
    """Python that runs it. Default: that of ray_gym."""
    environment: Variables = Field(default_factory=dict)
    """Variables that it gets beside those of the door."""


class Python(AgentProgram):
    """Calls a function of the user's for each turn, in a process of its own: it takes what the participant hears and an
    `AgentContext`, and returns the answer. It may be async. What it keeps in the context's state is there on its next
    turn.
    """

    Options: ClassVar[type[AgentOptions]] = PythonOptions
    wrong_code = function_turn.WRONG_CODE
    how_to_get = (
        "in bubblewrap it sees its package and its interpreter's, and what sandbox.read_only names; where sandboxes are "
        "images, these have package and interpreter (interpreter: python3)"
    )

    def __init__(self, options: PythonOptions) -> None:
        super().__init__(options)
        given = home_expanded(options.interpreter, "agent.interpreter")
        self._interpreter = str(given.absolute()) if len(given.parts) > 1 else options.interpreter
        module = options.python.partition(":")[0]
        refuse_hidden(module, "agent.python", with_imports=False)  # its own folder goes first for these
        self._package = _places(module.partition(".")[0])

    def needs(self) -> tuple[str, ...]:
        """Returns the interpreter."""
        return (self._interpreter,)

    def trial(self) -> tuple[str, ...]:
        """Returns the command that loads the function. What this prints is written at once, in the order of both streams."""
        code = Path(function_turn.__file__).read_text("utf-8")
        folders = dict.fromkeys(str(place.parent) for place in self._package)
        return (self._interpreter, "-I", "-u", "-c", code, self.options.python, *folders)

    def complaint(self) -> str | None:
        """Returns what is wrong with the function's name, if its module has to be found by this Python or is on its path."""
        if self._interpreter != sys.executable and not self._package:
            return None
        told = complaint_about_function(self.options.python)
        return f"python: {told}" if told else None

    def advice(self, said: str | None, shows_machine: bool) -> str:
        """Returns what the interpreter has to be, or how a module that is not found is shown to it; "" for other errors."""
        if said is None:
            return "agent.interpreter has to name a Python that is there"
        missing = MISSING_MODULE.search(said)
        beside = module_beside(self.options.python, missing[1]) if missing and shows_machine else None
        if beside is not None:
            return f"name {beside} in sandbox.read_only, or put both into a package"
        return self.how_to_get if missing else ""

    def reads(self) -> tuple[Path, ...]:
        """Returns the function's package, and the folders of the interpreter."""
        return (*self._package, *_home_of(Path(self._interpreter)))

    def start(self, site: Site, words: str, turn: int) -> Start:
        """Returns the command of a turn, with the words on standard input."""
        return Start(self.trial(), {**variables(site, turn), **self.options.environment}, words)


def _places(package: str) -> tuple[Path, ...]:
    """Returns the folders or the file of a top-level package or module, which is not imported; () if there is none here,
    or if it is installed: then the interpreter finds it.
    """
    spec = None
    with suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(package)
    if spec is None:
        return ()
    found = [Path(place).absolute() for place in spec.submodule_search_locations or [spec.origin or ""]]
    return tuple(place for place in found if place.exists() and not _is_installed(place))


def _is_installed(place: Path) -> bool:
    """Says whether a module is the library's or an installed package's, which no further folder is needed for."""
    library = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    return place.parent in library or place.parent.name in ("site-packages", "dist-packages")


def _home_of(interpreter: Path) -> tuple[Path, ...]:
    """Returns the folders of an interpreter: its venv, and the Python that this was made with; () for the system's, and
    for one that is not there.
    """
    venv = interpreter.parent.parent
    settings = venv / "pyvenv.cfg"
    if not settings.is_file():
        prefix = interpreter.resolve().parent.parent
        return (
            (prefix,)
            if interpreter.is_absolute() and interpreter.exists() and not prefix.is_relative_to("/usr")
            else ()
        )
    lines = (line.partition("=") for line in settings.read_text("utf-8").splitlines())
    homes = [Path(value.strip()) for name, _, value in lines if name.strip() == "home"]
    bases = dict.fromkeys(place.parent for home in homes for place in (home, home.resolve()))
    return (venv, *(base for base in bases if not base.is_relative_to("/usr")))
