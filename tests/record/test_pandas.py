"""Tables of runs and groups become data frames by `to_pandas()`, where pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ray_gym.load import load
from ray_gym.stream.group import Group

pandas = pytest.importorskip("pandas")

VERSIONS = Path(__file__).parent / "versions"
STORED = sorted(int(folder.name) for folder in VERSIONS.iterdir())


def stored(version: int = STORED[-1]) -> pa.Table:
    return load(VERSIONS / str(version) / "finished").episodes


def group_of(episodes: pa.Table, oldest_kept: Mapping[str, int] | None = None) -> Group:
    first = episodes.slice(0, 1).to_pylist()[0]
    return Group(0, first["group_id"], first["task_id"], 0, episodes, oldest_kept)


@pytest.mark.parametrize("version", STORED)
def test_episodes_and_samples_of_a_run(version: int) -> None:
    run = load(VERSIONS / str(version) / "finished")
    episodes, samples = run.episodes.to_pandas(), run.samples.to_pandas()
    assert len(episodes) == run.episodes.num_rows and list(episodes.columns) == run.episodes.column_names
    assert episodes["reward"].tolist() == run.episodes.column("reward").to_pylist()
    assert episodes["events"][0][0]["kind"] == run.episodes.column("events")[0].as_py()[0]["kind"]
    for name, dtype in (("token_ids", np.int32), ("loss_mask", np.int8), ("logprobs", np.float32)):
        assert [array.dtype for array in samples[name]] == [dtype] * len(samples)
        assert [array.tolist() for array in samples[name]] == run.samples.column(name).to_pylist()


def test_an_episode_table_comes_back_as_it_was() -> None:
    episodes = stored()
    again = pa.Table.from_pandas(episodes.to_pandas(), schema=episodes.schema, preserve_index=False)
    assert again.equals(episodes)


def test_a_run_without_rows_has_the_columns() -> None:
    frame = stored().slice(0, 0).to_pandas()
    assert len(frame) == 0 and list(frame.columns) == stored().column_names


def test_files_whose_repeated_texts_differ_are_one_column() -> None:
    """Each file of a run has a dictionary of its own for `tools_shown`."""
    episodes = stored()
    place, rest = episodes.column_names.index("tools_shown"), episodes.slice(2)
    other = pa.array(["{}"] * rest.num_rows).dictionary_encode()
    both = pa.concat_tables([episodes.slice(0, 2), rest.set_column(place, episodes.schema.field(place), other)])
    assert both.to_pandas()["tools_shown"].astype(str).tolist() == both.column("tools_shown").to_pylist()


def test_samples_of_groups_with_their_advantages() -> None:
    episodes = stored()
    groups = [group_of(episodes.slice(start, 2), oldest_kept={"small": 1}) for start in (0, 2)]
    for group in (*groups, Group.joined(groups)):
        frame = group.samples.to_pandas().assign(advantage=group.advantages())
        assert frame["withheld_tokens"].tolist() == group.samples.column("withheld_tokens").to_pylist()
        assert frame["withheld_tokens"].sum() > 0, "all tokens are of version 0"
        assert frame["advantage"].notna().all() and len(frame) == group.samples.num_rows
