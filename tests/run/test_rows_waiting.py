"""Rows that wait for their file: packed in pieces, and all there in their order."""

from __future__ import annotations

from ray_gym.run.lease import EpisodeKey
from ray_gym.run.rows import PIECE, Rows
from ray_gym.spec import EpisodeSpec
from ray_gym.trajectory import SCHEMA, as_table, failed_row


def waiting(count: int) -> Rows:
    rows = Rows()
    for number in range(count):
        spec = EpisodeSpec(f"e{number}", "g", "t", number, 0, "{}")
        rows.add(EpisodeKey(spec.episode_id, 0), failed_row(spec, "run", "env", "x"))
    return rows


def test_rows_come_out_as_they_went_in_however_they_were_packed() -> None:
    rows = waiting(2 * PIECE + 3)
    assert rows.pieces == 2
    rows.pack()
    assert rows.pieces == 1
    rows.add(EpisodeKey("last", 0), failed_row(EpisodeSpec("last", "g", "t", 0, 0, "{}"), "run", "env", "x"))
    table = rows.table()
    assert table.schema.equals(SCHEMA) and len(rows) == table.num_rows
    assert table.column("episode_id").to_pylist() == [key.episode_id for key in rows.keys]


def test_fewer_than_a_piece_wait_for_more() -> None:
    rows = waiting(PIECE - 1)
    assert rows.pieces == 0 and rows.table().num_rows == PIECE - 1


def test_rows_weigh_their_text_and_their_tokens() -> None:
    row = {**as_table([]).to_pydict(), "events": [{"content": [{"text": "four"}]}], "samples": [{"token_ids": [1, 2]}]}
    rows = Rows()
    rows.add(EpisodeKey("e", 0), row)
    assert rows.bytes == len("four") + 2 * 9
