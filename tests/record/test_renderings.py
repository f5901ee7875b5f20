"""An environment's pictures of its state are recorded, each that differs from the last, and no episode fails for one."""

from __future__ import annotations

from typing import Any

import pytest
from playing import Alone, play_script

from ray_gym import Html, Markdown
from ray_gym.envs.tic_tac_toe.board import Board, table_of
from ray_gym.record.rows import row_of
from ray_gym.rendering import LONGEST, Rendered


def renders(given: Any) -> Alone:
    """Returns an environment that gives these pictures, one after the other, and the last ones again."""
    left = list(given)

    class Pictured(Alone):
        def render(self, state: Any, episode: Any) -> Rendered | None:
            found = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(found, Exception):
                raise found
            return found  # type: ignore[no-any-return]

    return Pictured()


async def recorded(environment: Alone) -> tuple[dict[str, Any], list[tuple[int, str, str]] | None]:
    row = row_of((await play_script(environment, ["42"])).played, "run", "env")
    made = row["renderings"]
    return row, made and [(one["event_seq"], one["kind"], one["text"]) for one in made]


async def test_each_other_picture_is_recorded_with_its_event() -> None:
    row, made = await recorded(renders([Markdown("*a*"), Html("<b>b</b>")]))
    assert made is not None and [one[1:] for one in made] == [("markdown", "*a*"), ("html", "<b>b</b>")]
    assert row["status"] == "completed" and made[0][0] < made[1][0] <= row["events"][-1]["seq"]
    row, made = await recorded(renders([Markdown("same")]))
    assert made is not None and len(made) == 1


async def test_without_the_hook_or_a_picture_there_is_none() -> None:
    for environment in (Alone(), renders([None])):
        row, made = await recorded(environment)
        assert made is None and row["status"] == "completed"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (ValueError("no board"), "`render` failed: ValueError: no board (test_renderings.py:"),
        ("<b>", "`render` failed: TypeError: it returned a str; expected Markdown, Html or None (test_renderings.py:"),
        (Markdown(5), "TypeError: it returned a picture with a int; expected a text (test_renderings.py:"),  # type: ignore[arg-type]
        (Markdown("x" * (LONGEST + 1)), "100,001 characters"),
    ],
)
async def test_a_mistake_in_it_stands_in_the_pictures_place(given: Any, told: str) -> None:
    row, made = await recorded(renders([given]))
    assert row["status"] == "completed" and made is not None and told in made[0][2]


def test_a_board_is_a_board_with_its_last_move_marked() -> None:
    board = Board()
    board.place("X", 4)
    shown = table_of(board.cells, board.last_position)
    assert shown.count("<tr>") == 3 and shown.count("<td>") == 9 and "<mark>X</mark>" in shown
