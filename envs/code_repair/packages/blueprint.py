"""Defines what a small package is made of: texts of its modules, with names and numbers left open, and checks of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Template

Names = Mapping[str, str]
"""Names and numbers that were drawn for a package, by their names in its texts (`$NAME`)."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Uses a package: some lines of code, and an expression whose value is looked at."""

    lines: tuple[str, ...]
    asks: str


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Describes packages of one sort."""

    name: str
    about: str
    """Text on what the package does."""
    draw: Callable[[random.Random], dict[str, str]]
    """Draws names and numbers; `package` is the package's name."""
    files: Mapping[str, str]
    """Texts of the modules, by file name. All but `__init__.py` may get a fault."""
    imports: str
    """Statement that imports what probes use."""
    probe: Callable[[random.Random, Names], Probe]
    """Draws a probe."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Holds a package whose names and numbers are drawn."""

    blueprint: Blueprint
    names: Names

    @classmethod
    def of(cls, blueprint: Blueprint, rng: random.Random) -> Drawn:
        """Draws the names and numbers of a package."""
        return cls(blueprint, blueprint.draw(rng))

    @property
    def package(self) -> str:
        """Returns the package's name."""
        return self.names["package"]

    @property
    def imports(self) -> str:
        """Returns the statement that imports what probes use."""
        return Template(self.blueprint.imports).substitute(self.names)

    @property
    def sources(self) -> dict[str, str]:
        """Returns the code of each module, without a fault, by its path."""
        files = self.blueprint.files.items()
        return {f"{self.package}/{name}": Template(text).substitute(self.names).lstrip() for name, text in files}

    def probe(self, rng: random.Random) -> Probe:
        """Draws a probe."""
        return self.blueprint.probe(rng, self.names)


def joined(rng: random.Random, firsts: str, seconds: str) -> str:
    """Draws a name of two words, of which there are some in each text."""
    return f"{rng.choice(firsts.split())}_{rng.choice(seconds.split())}"


def pick(rng: random.Random, words: str) -> str:
    """Draws one of the words of a text."""
    return rng.choice(words.split())


def many(rng: random.Random, words: str, most: int) -> list[str]:
    """Draws 1 to `most` words of a text, which may come more than once."""
    return [pick(rng, words) for _ in range(rng.randint(1, most))]
