"""Describes packages that match addresses of pages."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "page site web plain", "routes paths addresses router"),
        "Router": pick(rng, "Router Routes Switch Map"),
        "tidy": pick(rng, "tidy cleaned normal"),
        "query": pick(rng, "query settings parameters"),
        "longest": str(rng.randint(20, 30)),
    }


FILES = {
    "__init__.py": '''
"""Matches the addresses of pages."""

from .paths import $query, $tidy
from .router import $Router

__all__ = ["$Router", "$query", "$tidy"]
''',
    "paths.py": '''
"""Reads addresses."""

LONGEST = $longest


def $tidy(path):
    """Returns a path that begins with one slash, has no empty parts and none at its end, and no "." or "..": a ".."
    takes the part before it away, and at the root it does nothing. A path of more than $longest characters is a
    ValueError.
    """
    if len(path) > LONGEST:
        raise ValueError("the path is too long")
    parts = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            parts = parts[:-1]
            continue
        parts.append(part)
    return "/" + "/".join(parts)


def $query(address, start=None):
    """Returns what stands behind the first "?" of an address as a dict of lists, added to a copy of `start`. A name
    without "=" has the value "".
    """
    if start is None:
        start = {}
    found = dict(start)
    if "?" not in address:
        return found
    for pair in address.split("?", 1)[1].split("&"):
        if not pair:
            continue
        name, _, value = pair.partition("=")
        found[name] = found.get(name, []) + [value]
    return found
''',
    "router.py": '''
"""Finds the page of an address."""

from .paths import $tidy


class $Router:
    """Holds rules: paths whose parts may be names in braces, which match any part, or "*" at the end, which matches one
    or more parts.
    """

    def __init__(self):
        self.rules = []

    def add(self, rule, page, weight=1):
        """Adds a rule for a page."""
        self.rules.append(($tidy(rule), page, weight))

    def match(self, rule, path):
        """Returns the values of the names of a rule that matches a path; None if it does not match."""
        wanted, parts = $tidy(rule).split("/")[1:], $tidy(path).split("/")[1:]
        has_rest = wanted[-1] == "*"
        if has_rest:
            wanted = wanted[:-1]
        if len(parts) < len(wanted) or (has_rest and len(parts) == len(wanted)):
            return None
        if len(parts) > len(wanted) and not has_rest:
            return None
        values = {}
        for want, part in zip(wanted, parts):
            if want.startswith("{"):
                values[want[1:-1]] = part
            elif want != part:
                return None
        if has_rest:
            values["*"] = "/".join(parts[len(wanted):])
        return values

    def find(self, path):
        """Returns the page and the values of the rule with the highest weight that matches; of equal ones, the one that
        was added first. (None, {}) if there is none.
        """
        best, found, most = None, {}, 0
        for rule, page, weight in self.rules:
            values = self.match(rule, path)
            if values is None:
                continue
            if weight > most:
                best, found, most = page, values, weight
        return (best, found)

    def pages(self):
        """Returns the pages in the order of their weights, the highest first; equal ones as they were added."""
        return [page for _, page, weight in sorted(self.rules, key=lambda one: -one[2])]
''',
}


def _path(rng: random.Random) -> str:
    return "/".join(
        rng.choice(("", "shop", "a", "7", "..", ".", "list", "shop", "new")) for _ in range(rng.randint(1, 5))
    )


def probe(rng: random.Random, names: Names) -> Probe:
    kind = rng.randrange(5)
    longest = int(names["longest"])
    if kind == 0:
        path = rng.choice(
            (_path(rng), _path(rng), "/" + "x" * (longest - 1), "/" + "x" * longest, "x" * (longest - 1), "../a")
        )
        return Probe((), f"{names['tidy']}({path!r})")
    if kind == 1:
        pairs = "&".join(rng.choice(("a=1", "a=2", "b", "c=", "", "a=x=y")) for _ in range(rng.randint(0, 4)))
        address = "/shop" + rng.choice(("?", "?", "?", "")) + pairs
        if rng.random() < 0.4:
            both = ("start = {'a': ['0']}", f"found = {names['query']}({address!r}, start)")
            return Probe(both, "[found, start]")
        return Probe((), f"[{names['query']}({address!r}), {names['query']}('/x?z=1')]")
    rules = ("/shop/{item}", "/shop/*", "/{page}", "/", "/shop/new", "/*", "/shop/{item}/list", "/{a}/{b}", "shop//7")
    paths = ("/shop/7", "/shop", "/", "/shop/new", "/shop/7/list", "/a/b/", "//shop//7", "/shop/7/../new", "/a")
    lines = [f"router = {names['Router']}()"]
    if kind == 2:
        return Probe(tuple(lines), f"router.match({rng.choice(rules)!r}, {rng.choice(paths)!r})")
    for number in range(rng.randint(1, 5)):
        lines.append(f"router.add({rng.choice(rules)!r}, 'page{number}'{rng.choice(('', '', ', 2', ', 3'))})")
    asks = "router.pages()" if kind == 3 and rng.random() < 0.5 else f"router.find({rng.choice(paths)!r})"
    return Probe(tuple(lines), asks)


ROUTES = Blueprint(
    "routes", "It finds the page of an address.", draw, FILES,
    "from $package import $Router, $query, $tidy", probe,
)  # fmt: skip
