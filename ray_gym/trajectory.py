"""Exports `ray_gym.record.schema` under the name that pages and trainers import it by."""

from ray_gym.record.schema import SCHEMA, VOLATILE_COLUMNS, as_table, without_volatile

__all__ = ["SCHEMA", "VOLATILE_COLUMNS", "as_table", "without_volatile"]
