"""Describes the customers who write to the support: the account holder in the company's records, and the person."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.envs.customer_service.company import PlanName

Detail = Literal["customer number", "security PIN"]
Text = Annotated[str, Field(min_length=1)]


class Customer(BaseModel):
    """A customer is an account holder, as the company's records have them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    number: Annotated[str, Field(pattern=r"^C\d{6}$")]
    phone: Annotated[str, Field(pattern=r"^\d{3}-\d{3}-\d{4}$")]
    pin: Annotated[str, Field(pattern=r"^\d{4}$")]
    area: Text
    plan: PlanName
    invoice: Annotated[str, Field(pattern=r"^INV-\d{6}$")]
    """Number of this month's invoice."""
    months_left: Annotated[int, Field(ge=0, le=24)] = 0
    """Months that are left of the plan's minimum term."""


class Persona(BaseModel):
    """A persona is the person behind an account, which only the customer's side knows. Details that the customer has
    forgotten are in a welcome letter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    occupation: Text
    manner: Text
    situation: Text
    forgotten: tuple[Detail, ...] = ()
