"""Gives tools for projects: tasks on boards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Annotated, Literal

from pydantic import Field

from ray_gym import tool
from ray_gym.envs.workplace_assistant.rows import BOARDS, LIST_NAMES, Board, ListName, ProjectTask
from ray_gym.envs.workplace_assistant.tools.answers import Query, listing
from ray_gym.envs.workplace_assistant.tools.arguments import colleague, day, one_of, require_text, row
from ray_gym.envs.workplace_assistant.workplace import Workplace

_READ: Mapping[str, Callable[[Workplace, str], str]] = {
    "name": lambda workplace, text: require_text(text),
    "assignee": colleague,
    "list_name": lambda workplace, text: one_of(LIST_NAMES, text),
    "board": lambda workplace, text: one_of(BOARDS, text),
    "due": lambda workplace, text: day(text),
}


class ProjectTools:
    """Adds the tools for projects to the environment."""

    @tool()
    def project_search(
        self,
        workplace: Workplace,
        caller: object,
        query: Annotated[str, Field(description="words of the name")] = "",
        assignee: Annotated[str, Field(description="address")] = "",
        list_name: ListName | Literal[""] = "",
        board: Board | Literal[""] = "",
        due_before: str = "",
    ) -> dict[str, object]:
        """Find tasks, earliest due first. What is left out doesn't matter."""
        wanted = Query(query)
        limit = day(due_before) if due_before else ""
        found = [
            task
            for task in workplace.tasks
            if wanted.matches(task.name)
            and (not assignee or task.assignee == assignee.strip().lower())
            and (not list_name or task.list_name == list_name)
            and (not board or task.board == board)
            and (not limit or task.due < limit)
        ]
        found.sort(key=lambda task: task.due)
        return listing(found, "id", "name", "assignee", "list_name", "board", "due")

    @tool()
    def project_read(self, workplace: Workplace, caller: object, task_id: str) -> dict[str, object]:
        """A whole task."""
        return asdict(row(workplace.tasks, task_id))

    @tool()
    def project_create(
        self,
        workplace: Workplace,
        caller: object,
        name: str,
        assignee: Annotated[str, Field(description="address")],
        list_name: ListName,
        board: Board,
        due: str,
    ) -> str:
        """Put a task on a board."""
        task_id = workplace.tasks.next_id
        task = ProjectTask(task_id, require_text(name), colleague(workplace, assignee), list_name, board, day(due))
        workplace.tasks.put(task)
        return f"created {task_id}"

    @tool()
    def project_update(
        self,
        workplace: Workplace,
        caller: object,
        task_id: str,
        field: Literal["name", "assignee", "list_name", "board", "due"],
        new_value: str,
    ) -> str:
        """Change one field of a task."""
        task = row(workplace.tasks, task_id)
        workplace.tasks.put(replace(task, **{field: _READ[field](workplace, new_value)}))
        return f"changed {task_id}"

    @tool()
    def project_delete(self, workplace: Workplace, caller: object, task_id: str) -> str:
        """Delete a task."""
        workplace.tasks.remove(row(workplace.tasks, task_id).id)
        return f"deleted {task_id}"
