"""The directory: who works here."""

from __future__ import annotations

from envs.workplace_assistant.tools.answers import Query, listing
from envs.workplace_assistant.tools.arguments import filled
from envs.workplace_assistant.workplace import Workplace
from ray_gym import tool


class DirectoryTools:
    @tool()
    def directory_find(self, workplace: Workplace, caller: object, name: str) -> dict[str, object]:
        """Find colleagues' email addresses by name or part of it."""
        wanted = Query(filled(name))
        found = (person for person in workplace.people.values() if wanted.matches(person.name))
        return listing(found, "name", "address", "role")
