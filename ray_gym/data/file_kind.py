"""Tells from a file's first bytes, or from its name, why it can't be a file of tasks as it is, and what to do."""

from __future__ import annotations

import re
from pathlib import Path

_HEAD = 4096
"""Bytes at a file's beginning that are looked at."""
_KINDS = (
    (rb"version https://git-lfs", "only Git LFS's pointer to the data; get them with `git lfs pull`"),
    (rb"\x1f\x8b", "compressed (gzip); unpack it"),
    (rb"\x28\xb5\x2f\xfd", "compressed (zstd); unpack it"),
    (rb"BZh\d", "compressed (bzip2); unpack it"),
    (rb"\xfd7zXZ", "compressed (xz); unpack it"),
    (rb"PK\x03\x04", "a ZIP archive; unpack it"),
    (rb"\xff\xfe|\xfe\xff", "UTF-16; write it as UTF-8"),
    (rb"(?i)\s*<(?:!doctype|html)", "a page of HTML, perhaps of a download that failed"),
)
_OF_LINES = (
    (rb"PAR1", "Parquet; name it .parquet"),
    (rb"(?:\xef\xbb\xbf)?\s*[\[{]\s*?\n", "JSON over several lines; write each row as an object on a line of its own"),
)
_OF_PARQUET = ((rb"(?:\xef\xbb\xbf)?\s*[\[{]", "JSON; name it .jsonl, with an object on each line"),)
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/")


def other_kind(path: Path) -> str:
    """Returns what a file named .jsonl or .parquet is instead, and what to do; "" if nothing speaks against its name.
    Errors: OSError if it can't be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    kinds = (*_KINDS, *(_OF_PARQUET if path.suffix.lower() == ".parquet" else _OF_LINES))
    return next((told for pattern, told in kinds if re.match(pattern, head)), "")


def no_file(*paths: Path | str) -> str:
    """Returns the words for a file that is at none of these paths, which may be an address, or a folder."""
    url = _URL.match(str(paths[-1]))
    if url:
        rest = str(paths[-1])[url.end() :].lstrip("/")  # a Path keeps one slash alone
        return f"{url[1]}://{rest} is an address, and only files of this machine are read; download it first"
    if folder := next((path for path in paths if Path(path).is_dir()), None):
        return f"{folder} is a folder; name a .jsonl or .parquet file"
    return f"there is no file {' nor '.join(dict.fromkeys(map(str, paths)))}"
