"""Checks that damaged files of a run directory are told in one line that names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playing import read_config

from ray_gym.cli import main
from ray_gym.errors import UserError
from ray_gym.run.directory.directory import RunDirectory, find_run, new_run_directory, reopen
