"""Defines the task format: a customer, and the goal for which they write."""

from __future__ import annotations

from pydantic import model_validator

from ray_gym import Task
from ray_gym.envs.customer_service.goals import AnyGoal
from ray_gym.envs.customer_service.office import Office, open_office
from ray_gym.envs.customer_service.people import Customer, Persona


class CustomerServiceTask(Task):
    """A task is a customer, the person behind the account, and the goal for which they write."""

    customer: Customer
    persona: Persona
    goal: AnyGoal

    @model_validator(mode="after")
    def _check_goal(self) -> CustomerServiceTask:
        if any(message.tool_calls for message in self.messages):
            raise ValueError(
                "messages: they have tool calls, but the office is as if none had been made: leave them out"
            )
        problem = self.goal.problem(self.customer)
        if problem is not None:
            raise ValueError(f"goal {self.goal.kind}: {problem}")
        return self

    def office(self) -> Office:
        """Makes the office as it is at the beginning of the conversation, a new one in each call."""
        office = open_office(self.customer)
        self.goal.arrange(office)
        return office

    def expected_books(self) -> dict[str, object]:
        """Returns the books that are right at the end of the conversation: only the goal's entries have changed."""
        before = self.office().books()
        changed = self.goal.outcome(self.customer)
        for entry, after in changed.items():
            before[entry] = {**before[entry], **after} if isinstance(after, dict) else after
        return before
