"""Defines the cursor of a mixture: the cursors of its sources, and how many of the groups of each are settled."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ray_gym.errors import UserError
from ray_gym.stream.cursor import Cursor, Natural
from ray_gym.stream.shares import Shares


class MixtureCursor(BaseModel):
    """A cursor of a mixture is a trainer's place in it. Sources are named by their `run.name`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sources: dict[str, Cursor]
    """Cursor of each source."""
    shares: dict[str, float]
    """Shares that held when the cursor was taken."""
    acknowledged: dict[str, Natural]
    """Number of the acknowledged groups of each source since the shares were last changed."""

    @classmethod
    def parse(cls, saved: Any) -> MixtureCursor:
        """Reads a cursor from saved JSON values. Errors: UserError if they are no cursor of a mixture."""
        try:
            return cls.model_validate(saved)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(["cursor", *map(str, first["loc"])])
            raise UserError(
                f"{place}: {first['msg']}; give back what `mixture.cursor` gave, or None to begin"
            ) from None

    def resume(self, shares: Shares) -> None:
        """Lets shares go on from the cursor's counts. Shares that were changed hold from here on, and count anew."""
        names = self.shares.keys() | shares.wanted.keys()
        if all(math.isclose(self.shares.get(name, 0.0), shares.wanted.get(name, 0.0)) for name in names):
            shares.counts = {name: self.acknowledged.get(name, 0) for name in shares.wanted}

    def cursors_without(self, names: Collection[str]) -> dict[str, Any]:
        """Returns the cursors of the sources that are not among `names`, as JSON values, so that they can come back."""
        return {name: cursor.as_json() for name, cursor in self.sources.items() if name not in names}
