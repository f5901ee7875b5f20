"""Lets SkyRL's trainer be imported in Python 3.11, and without the engine that it does not use here.

SkyRL asks for Python 3.12, before which pydantic refuses `typing.TypedDict`, and imports vLLM.
"""

import sys
import typing
from pathlib import Path

import typing_extensions

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if sys.version_info < (3, 12):
    typing.TypedDict = typing_extensions.TypedDict
