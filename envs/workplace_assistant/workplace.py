"""Holds the state of an episode: the tables of the office, with the episode's changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ray_gym.envs.workplace_assistant.base_data import base_data
from ray_gym.envs.workplace_assistant.rows import CalendarEvent, CustomerRecord, Email, Person, Plot, ProjectTask, Visit
from ray_gym.envs.workplace_assistant.table import RowT, Table, TableRow
from ray_gym.graders import folded

EXACT_COLUMNS = ("status", "list_name", "board")
"""Columns with names of a fixed list. In all other columns, case and white space make no difference."""


@dataclass(frozen=True)
class Workplace:
    """A workplace is the state of an episode. Tables that no tool can change are shared by all episodes."""

    people: Mapping[str, Person]
    """People by address; the first is the user."""
    visits: Sequence[Visit]
    emails: Table[Email]
    events: Table[CalendarEvent]
    tasks: Table[ProjectTask]
    customers: Table[CustomerRecord]
    plots: Table[Plot]
    invited: list[tuple[str, str]] = field(default_factory=list)
    """Event id and address of each invitation that the episode sent. Like an email, it can't be taken back."""

    @classmethod
    def fresh(cls) -> Workplace:
        """Makes the office with which every episode begins."""
        base = base_data()
        return cls(
            base.people,
            base.visits,
            Table("email", base.emails),
            Table("event", base.events),
            Table("task", base.tasks),
            Table("customer", base.customers),
            Table("plot", {}),
        )

    @property
    def user(self) -> Person:
        """Returns the person whom the policy assists."""
        return next(iter(self.people.values()))

    def changes(self) -> dict[str, dict[str, Any]]:
        """Returns the differences between the episode's tables and the shared ones, by table. The entry
        `withdrawn_invitations` counts, by address, the invitations to events that the invited person does not belong to
        in the end. Entries without any difference are left out.

        Workplaces with equal changes have equal tables, apart from the ids of added rows.
        """
        tables: Mapping[str, Table[Any]] = {
            "emails": self.emails,
            "events": self.events,
            "tasks": self.tasks,
            "customers": self.customers,
            "plots": self.plots,
        }
        changes = {name: found for name, table in tables.items() if (found := _changes(table))}
        withdrawn = self._withdrawn()
        return {**changes, "withdrawn_invitations": withdrawn} if withdrawn else changes

    def put_event(self, event: CalendarEvent) -> None:
        """Adds or replaces an event. Its participant gets an invitation, except the user and the one who was its
        participant before.
        """
        before = self.events.get(event.id)
        self.events.put(event)
        if event.participant not in (before and before.participant, self.user.address):
            self.invited.append((event.id, event.participant))

    def _withdrawn(self) -> dict[str, int]:
        """Returns, by address, the number of invitations to events that the person does not belong to in the end."""
        withdrawn = Counter[str]()
        for event_id, address in self.invited:
            event = self.events.get(event_id)
            withdrawn[address] += event is None or event.participant != address
        return dict(+withdrawn)


def _changes(table: Table[RowT]) -> dict[str, Any]:
    """Returns the rows added, changed and removed in a table. Added rows have no ids, which depend on the order of
    calls.

    A kind of change that did not occur is left out.
    """
    written = {row_id: _content(row) for row_id, row in table.own.items() if row is not None}
    added = [content for row_id, content in written.items() if row_id not in table.base]
    changed = {
        row_id: content
        for row_id, content in written.items()
        if row_id in table.base and content != _content(table.base[row_id])
    }
    removed = sorted(row_id for row_id, row in table.own.items() if row is None)
    found = {"added": sorted(added, key=json.dumps), "changed": changed, "removed": removed}
    return {what: rows for what, rows in found.items() if rows}


def _content(row: TableRow) -> dict[str, Any]:
    """Returns a row's columns without its id. Texts of columns other than `EXACT_COLUMNS` are in lower case with single
    spaces.
    """
    return {
        name: folded(value) if isinstance(value, str) and name not in EXACT_COLUMNS else value
        for name, value in asdict(row).items()
        if name != "id"
    }
