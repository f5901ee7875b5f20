"""Checks that a file which is not what its name says is told as what it is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ray_gym.data.file_kind import no_file, other_kind
from ray_gym.data.rows import TaskFile
from ray_gym.errors import UserError

ROW = b'{"a": 1}\n'
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.jsonl", POINTER, "only Git LFS's pointer to the data; get them with `git lfs pull`"),
        ("a.parquet", POINTER, "only Git LFS's pointer to the data; get them with `git lfs pull`"),
        ("a.jsonl", gzip.compress(ROW), "compressed (gzip); unpack it"),
        ("a.jsonl", ROW.decode().encode("utf-16"), "UTF-16; write it as UTF-8"),
        ("a.jsonl", b"PAR1", "Parquet; name it .parquet"),
        ("a.PARQUET", ROW, "JSON; name it .jsonl, with an object on each line"),
        ("a.jsonl", b'[\n  {"a": 1}\n]', "JSON over several lines; write each row as an object on a line of its own"),
        ("a.jsonl", b'\xef\xbb\xbf{\r\n  "a": 1\r\n}', "JSON over several lines; write each row"),
        ("a.jsonl", b"\n<!DOCTYPE html>", "a page of HTML, perhaps of a download that failed"),
    ],
)
def test_a_file_of_another_kind(tmp_path: Path, name: str, data: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError) as error:
        TaskFile(tmp_path / name).rows()
    assert str(error.value).startswith(f"{tmp_path / name} is {told}")


@pytest.mark.parametrize("data", [b"", ROW, b"\n\n" + ROW, b"\xef\xbb\xbf" + ROW, b"{}\n", b"[1]\n", b"version 2\n"])
def test_files_of_lines(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    assert other_kind(tmp_path / "a.jsonl") == ""


def test_an_address_is_no_file() -> None:
    for url in ("https://a.org/x.jsonl", "hf://datasets/a/x.jsonl", "s3://a/x.jsonl"):
        told = f"{url} is an address, and only files of this machine are read; download it first"
        assert no_file(url) == no_file(Path(url)) == told
    assert no_file("a/x.jsonl", "x.jsonl") == "there is no file a/x.jsonl nor x.jsonl"
