"""Describes packages that rank players."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick

PLAYERS = "ada ben cleo dov eve"


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "chess quiz tennis go", "league ranks scores cup"),
        "League": pick(rng, "League Cup Season Table"),
        "win": str(rng.randint(3, 4)),
        "best": str(rng.randint(2, 4)),
        "middle": pick(rng, "middle median halfway"),
    }


FILES = {
    "__init__.py": '''
"""Ranks players by their games."""

from .figures import $middle, best_of, ranks
from .games import $League

__all__ = ["$League", "$middle", "best_of", "ranks"]
''',
    "figures.py": '''
"""Works out figures of scores."""


def $middle(scores):
    """Returns the score in the middle of all, in order; the lower one of the two of an even number. None if there are
    none. The list that is given stays as it is.
    """
    if not scores:
        return None
    ordered = list(scores)
    ordered.sort()
    return ordered[(len(ordered) - 1) // 2]


def best_of(scores, count=$best):
    """Returns the sum of the `count` highest scores; of all, if there are fewer."""
    if count < 1:
        return 0
    return sum(sorted(scores, reverse=True)[:count])


def ranks(points):
    """Returns the rank of each name, from 1 for the most points. Equal ones share a rank, and as many ranks are left out
    after them: 1, 2, 2, 4.
    """
    found = {}
    for name in points:
        found[name] = 1 + sum(1 for other in points.values() if other > points[name])
    return found
''',
    "games.py": '''
"""Counts games."""

from .figures import ranks

WIN, DRAW = $win, 1


class $League:
    """Holds games between two players each."""

    def __init__(self, names=None):
        """`names`: players that are there from the beginning. Others join by their first game."""
        if names is None:
            names = []
        self.names = list(names)
        self.games = []

    def play(self, home, away, home_goals, away_goals):
        """Adds a game. A player against itself, or goals below 0, are a ValueError."""
        if home == away:
            raise ValueError("nobody plays against itself")
        if home_goals < 0 or away_goals < 0:
            raise ValueError("goals are 0 or more")
        for name in (home, away):
            if name not in self.names:
                self.names.append(name)
        self.games.append((home, away, home_goals, away_goals))

    def points(self):
        """Returns the points of each player: $win for a win, 1 for a draw."""
        points = {name: 0 for name in self.names}
        for home, away, home_goals, away_goals in self.games:
            if home_goals == away_goals:
                points[home] = points[home] + DRAW
                points[away] = points[away] + DRAW
                continue
            winner = home if home_goals > away_goals else away
            points[winner] = points[winner] + WIN
        return points

    def difference(self, name):
        """Returns the goals that a player made, without those that it got."""
        total = 0
        for home, away, home_goals, away_goals in self.games:
            if name == home:
                total = total + home_goals - away_goals
            if name == away:
                total = total + away_goals - home_goals
        return total

    def table(self):
        """Returns (rank, name) by points, and among equal points by the difference of goals, then by name."""
        points, rank = self.points(), ranks(self.points())
        order = sorted(self.names, key=lambda name: (-points[name], -self.difference(name), name))
        return [(rank[name], name) for name in order]

    def streak(self, name):
        """Returns how many of its last games a player won in a row."""
        count = 0
        for home, away, home_goals, away_goals in self.games:
            if name not in (home, away):
                continue
            won = home_goals > away_goals if name == home else away_goals > home_goals
            count = count + 1 if won else 0
        return count
''',
}


def probe(rng: random.Random, names: Names) -> Probe:
    kind = rng.randrange(6)
    if kind == 0:
        scores = [rng.randint(0, 9) for _ in range(rng.randint(0, 6))]
        return Probe((f"scores = {scores!r}", f"found = {names['middle']}(scores)"), "[found, scores]")
    if kind == 1:
        scores = [rng.randint(0, 9) for _ in range(rng.randint(0, 6))]
        return Probe((), f"best_of({scores!r}{rng.choice(('', ', 1', ', 3', ', 0'))})")
    if kind == 2:
        return Probe((), f"ranks({ {name: rng.randint(0, 4) for name in PLAYERS.split()[: rng.randint(1, 5)]}!r})")
    lines = [f"league = {names['League']}({rng.choice(('', '[' + repr('zoe') + ']'))})"]
    for _ in range(rng.randint(1, 5)):
        home, away = rng.sample(PLAYERS.split()[:4], 2)
        lines.append(f"league.play({home!r}, {away!r}, {rng.randint(0, 3)}, {rng.randint(0, 3)})")
    if kind == 3 and rng.random() < 0.4:
        lines.append(
            rng.choice(
                (
                    "league.play('ada', 'ada', 1, 0)",
                    "league.play('ada', 'ben', -1, 0)",
                    "league.play('ada', 'ben', 0, -1)",
                )
            )
        )
    if kind == 4 and rng.random() < 0.3:
        more = (f"names = {['ada']!r}", f"other = {names['League']}(names)", "other.play('ada', 'ben', 1, 0)")
        return Probe(more, "[names, other.table()]")
    player = repr(pick(rng, "ada ben cleo"))
    asks = rng.choice(
        (
            "league.table()",
            "league.table()",
            "league.points()",
            f"league.streak({player})",
            f"league.difference({player})",
        )
    )
    return Probe(tuple(lines), asks)


RANKING = Blueprint(
    "ranking", "It ranks players by their games.", draw, FILES,
    "from $package import $League, $middle, best_of, ranks", probe,
)  # fmt: skip
