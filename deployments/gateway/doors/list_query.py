"""Defines the query parameters of routes that return lists: the cursor of the page, and its length."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from ray_gym.service.pages import LIST_CURSOR

ListCursor = Annotated[str | None, Query(pattern=LIST_CURSOR, description="Of the next page, from an answer.")]
ListLimit = Annotated[int, Query(ge=1, le=1000)]
