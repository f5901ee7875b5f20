"""Defines the base class of forms that write episodes as one participant has them, with its tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from ray_gym.export.conversation import POLICY
from ray_gym.export.form import Form, FormOptions
from ray_gym.export.tools_shown import ToolsShown
from ray_gym.run.directory.reading import Run


class ViewOptions(FormOptions):
    """Holds the options of forms that write the view of one participant."""

    participant: str = POLICY
    """Name of the participant whose view is written."""


@dataclass(frozen=True)
class ViewForm(Form):
    """Writes episodes as one participant has them."""

    participant: str
    """Name of the participant."""
    tools: ToolsShown
    """Source of the tools."""
    Options = ViewOptions

    @classmethod
    @contextmanager
    def open_form(cls, options: Any, run: Run) -> Iterator[Self]:
        """Makes the form of `ViewOptions`, and closes its source of tools after the block."""
        with ToolsShown(run) as tools:
            yield cls(options.participant, tools)
