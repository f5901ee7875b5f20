"""Makes requests about project tasks."""

from __future__ import annotations

import random

from ray_gym.envs.workplace_assistant.clock import TODAY, format_day
from ray_gym.envs.workplace_assistant.requests.wanted import (
    MOST_ACTIONS,
    Template,
    Wanted,
    call,
    colleague,
    coming_workday,
    find,
    phrase_day,
    somebody_of,
    task_name,
)
from ray_gym.envs.workplace_assistant.rows import BOARDS, LIST_NAMES, Person, ProjectTask
from ray_gym.envs.workplace_assistant.task import ExpectedCall
from ray_gym.envs.workplace_assistant.workplace import Workplace


def create(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to create a task."""
    person, name, due = colleague(rng, workplace), task_name(rng), coming_workday(rng)
    board, list_name, by = rng.choice(BOARDS), rng.choice(LIST_NAMES[:3]), phrase_day(rng, due)
    request = rng.choice(
        (
            f'Add a task "{name}" for {person.name} to the {list_name} list of the {board} board, due on {by}.',
            f'{person.name} gets a new task on the {board} board, in {list_name}: "{name}". It is due on {by}.',
            f'Create "{name}" (board {board}, list {list_name}, due {by}) and assign it to {person.name}.',
        )
    )
    action = call(
        "project_create",
        name=name,
        assignee=person.address,
        list_name=list_name,
        board=board,
        due=format_day(due),
    )
    return Wanted(request, find(person), (action,))


def reassign_overdue(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to assign a person's overdue tasks to another person. Returns None if the draw would change more
    than `MOST_ACTIONS` rows.
    """
    person = somebody_with_tasks(rng, workplace)
    other, tasks = colleague(rng, workplace, person), overdue(workplace, person)
    if len(tasks) > MOST_ACTIONS:
        return None
    request = rng.choice(
        (
            f"Give all overdue tasks of {person.name} to {other.name}.",
            f"Reassign every task of {person.name} that is overdue to {other.name}.",
            f"{other.name} takes over whatever {person.name} has that is overdue. Please change the assignee.",
        )
    )
    actions = (call("project_update", task_id=t.id, field="assignee", new_value=other.address) for t in tasks)
    return Wanted(request, (*find(person, other), search_overdue(person)), tuple(actions))


def move_between_lists(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to move a person's tasks from one list to another. Returns None if the draw would change more
    than `MOST_ACTIONS` rows.
    """
    person = somebody_with_tasks(rng, workplace)
    source, target = rng.sample(LIST_NAMES, 2)
    found = [task for task in _tasks_of(workplace, person) if task.list_name == source]
    if len(found) > MOST_ACTIONS:
        return None
    request = rng.choice(
        (
            f"Move all tasks of {person.name} that are in {source} to {target}.",
            f"What {person.name} has in the {source} list belongs into {target} now. Please move those tasks.",
            f"For {person.name}: every task in {source} goes to {target}, on all boards.",
        )
    )
    search = call("project_search", assignee=person.address, list_name=source)
    actions = (call("project_update", task_id=t.id, field="list_name", new_value=target) for t in found)
    return Wanted(request, (*find(person), search), tuple(actions))


def change_due_date(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to change a task's due date. Returns None if the draw is the date that the task has."""
    task, due = rng.choice(list(workplace.tasks)), coming_workday(rng)
    if task.due == format_day(due):
        return None
    by = phrase_day(rng, due)
    request = rng.choice(
        (
            f'Set the due date of the task "{task.name}" to {by}.',
            f'The task "{task.name}" is due on {by} now. Please change that.',
            f'There is a new deadline for "{task.name}": {by}. Please update the task.',
        )
    )
    action = call("project_update", task_id=task.id, field="due", new_value=format_day(due))
    return Wanted(request, (call("project_search", query=task.name),), (action,))


def delete_one(rng: random.Random, workplace: Workplace) -> Wanted:
    """Draws a request to delete a task."""
    task = rng.choice(list(workplace.tasks))
    request = rng.choice(
        (
            f'The task "{task.name}" is no longer needed, delete it.',
            f'Delete the task "{task.name}" from the {task.board} board.',
            f'Please remove "{task.name}" from our project tasks.',
        )
    )
    return Wanted(request, (call("project_search", query=task.name),), (call("project_delete", task_id=task.id),))


def delete_completed(rng: random.Random, workplace: Workplace) -> Wanted | None:
    """Draws a request to delete a person's completed tasks on a board. Returns None if the draw would change more than
    `MOST_ACTIONS` rows.
    """
    person, board = somebody_with_tasks(rng, workplace), rng.choice(BOARDS)
    found = [task for task in _tasks_of(workplace, person) if (task.list_name, task.board) == ("Completed", board)]
    if len(found) > MOST_ACTIONS:
        return None
    request = rng.choice(
        (
            f"Delete the completed tasks of {person.name} on the {board} board.",
            f"Clean up the {board} board: whatever {person.name} has in Completed there can be deleted.",
            f"Remove {person.name}'s tasks in the Completed list of the {board} board, and no others.",
        )
    )
    search = call("project_search", assignee=person.address, list_name="Completed", board=board)
    return Wanted(request, (*find(person), search), tuple(call("project_delete", task_id=t.id) for t in found))


def somebody_with_tasks(rng: random.Random, workplace: Workplace) -> Person:
    """Draws a person who has tasks."""
    return somebody_of(rng, workplace, (task.assignee for task in workplace.tasks))


def overdue(workplace: Workplace, person: Person) -> list[ProjectTask]:
    """Returns a person's tasks that are overdue: due before today, and not completed."""
    today = format_day(TODAY)
    return [task for task in _tasks_of(workplace, person) if task.due < today and task.list_name != "Completed"]


def search_overdue(person: Person) -> ExpectedCall:
    """Returns the call that searches a person's tasks due before today. Its answer has completed ones too."""
    return call("project_search", assignee=person.address, due_before=format_day(TODAY))


def _tasks_of(workplace: Workplace, person: Person) -> list[ProjectTask]:
    return [task for task in workplace.tasks if task.assignee == person.address]


TEMPLATES: tuple[Template, ...] = (
    create,
    reassign_overdue,
    move_between_lists,
    change_due_date,
    delete_one,
    delete_completed,
)
