"""Files of each version of the record are read as those of today, and those of later ones are refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playing import Alone, play_script
from pyarrow.fs import LocalFileSystem

from ray_gym.cli import main
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import UserError
from ray_gym.load import load
from ray_gym.openai_api.refused import Refused
from ray_gym.record import rows as record
from ray_gym.record.schema import READ_SINCE_KEY, SCHEMA, VERSION, VERSION_KEY, as_table, failed_row
from ray_gym.record.versions import READERS
from ray_gym.run.directory.parquet import open_rows, write_rows
from ray_gym.service.pages import read_episodes

LATER = {VERSION_KEY: "99", READ_SINCE_KEY: "7.1.0"}


def failed(count: int) -> pa.Table:
    specs = [EpisodeSpec(f"e{n}", "g", "t", n, 0, "{}") for n in range(count)]
    return as_table([failed_row(spec, "run", "env", "x") for spec in specs])


def written(run: Path, *tables: pa.Table) -> Path:
    (run / "episodes").mkdir(parents=True)
    for number, table in enumerate(tables, start=1):
        with (run / "episodes" / f"part-{number:08d}-1-0-{number:05d}.parquet").open("wb") as file:
            write_rows(table, file)
    return run


def of_version_1(table: pa.Table) -> pa.Table:
    return table.drop_columns(["tools_shown"]).replace_schema_metadata(None)


def test_every_version_has_a_reader() -> None:
    assert sorted(READERS) == list(range(1, VERSION + 1))


async def test_every_way_to_make_rows_says_the_version(tmp_path: Path) -> None:
    played = (await play_script(Alone(), ["42"])).played
    tables = record.table_of([played], [record.facts_of(played, "run", "env")]), failed(1)
    run = written(tmp_path / "run", *tables, pa.concat_tables(tables).combine_chunks())
    for file in (run / "episodes").iterdir():
        assert pq.read_metadata(file).metadata[VERSION_KEY.encode()] == str(VERSION).encode()


def test_old_and_new_files_are_one_table(tmp_path: Path) -> None:
    run = load(written(tmp_path / "run", of_version_1(failed(2)), failed(3)))
    assert run.episodes.schema.equals(SCHEMA) and run.storage.count() == 5
    assert run.episodes.column("tools_shown").to_pylist() == [None, None, "{}", "{}", "{}"]
    shown = [batch.to_pydict() for batch in run.storage.batches(["tools_shown", "repeat"], 2)]
    assert [(list(batch), len(batch["repeat"])) for batch in shown] == [
        (["tools_shown", "repeat"], size) for size in (2, 2, 1)
    ]
    assert run.samples.num_rows == 0


def test_a_column_that_version_1_did_not_have_can_be_read_alone(tmp_path: Path) -> None:
    run = load(written(tmp_path / "run", of_version_1(failed(3))))
    assert [table.num_rows for table in run.storage.tables(["tools_shown"])] == [3]
    assert sum(batch.num_rows for batch in run.storage.batches(["tools_shown"], 2)) == 3


def test_a_file_of_a_later_version_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = failed(1).append_column("more", pa.array([1])).replace_schema_metadata(LATER)
    run = written(tmp_path / "run", failed(1), later)
    told = rf"00002.parquet: .*version 99 of the record, .* up to {VERSION} .*: ray_gym 7.1.0 or a later one reads it$"
    for read in (lambda: load(run).episodes, lambda: load(run).samples, lambda: load(run).storage.count()):
        with pytest.raises(UserError, match=told):
            read()
    with pytest.raises(Refused, match="the episodes of commit 2 are lost or damaged"):
        read_episodes(str(run), None, 10)
    alone = written(tmp_path / "alone", later)
    monkeypatch.setattr("sys.argv", ["ray-gym", "show", str(alone)])
    capsys.readouterr()  # what the service logs of it
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2 and "ray_gym 7.1.0" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("metadata", "told"),
    [({VERSION_KEY: "99"}, "a later ray_gym reads it"), ({VERSION_KEY: "two"}, "'two', which is no number")],
)
def test_a_version_without_more_is_refused_too(tmp_path: Path, metadata: dict[str, str], told: str) -> None:
    run = written(tmp_path / "run", failed(1).replace_schema_metadata(metadata))
    with pytest.raises(UserError, match=told):
        _ = load(run).episodes


def test_a_file_without_a_column_of_its_version_is_damaged(tmp_path: Path) -> None:
    run = written(tmp_path / "run", failed(1).drop_columns(["task"]))
    (file,) = (run / "episodes").iterdir()
    with (
        pytest.raises(UserError, match=rf"{file.name}: this file of rows is damaged: .*'task'"),
        open_rows(LocalFileSystem(), str(file)) as rows,
    ):
        rows.table()
