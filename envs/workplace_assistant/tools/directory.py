"""Gives a tool for the directory of the people who work here."""

from __future__ import annotations

from ray_gym import tool
from ray_gym.envs.workplace_assistant.tools.answers import Query, listing
from ray_gym.envs.workplace_assistant.tools.arguments import require_text
from ray_gym.envs.workplace_assistant.workplace import Workplace


class DirectoryTools:
    """Adds the tool that finds colleagues in the staff directory."""

    @tool()
    def directory_find(self, workplace: Workplace, caller: object, name: str) -> dict[str, object]:
        """Find colleagues' email addresses by name or part of it."""
        wanted = Query(require_text(name))
        found = (person for person in workplace.people.values() if wanted.matches(person.name))
        return listing(found, "name", "address", "role")
