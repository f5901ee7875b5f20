"""Defines the rows of the office's tables. They never change: a changed row is another row with the same id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

ListName = Literal["Backlog", "In Progress", "In Review", "Completed"]
Board = Literal["Back end", "Front end", "Design"]
Status = Literal["Lead", "Qualified", "Proposal", "Won", "Lost"]
Product = Literal["Ledger", "Beacon", "Harbour", "Atlas", "Quill"]
Source = Literal["direct", "search", "newsletter", "referral", "social"]
Metric = Literal["total_visits", "engaged_visits", "average_minutes", "traffic_sources"]
PlotKind = Literal["line", "bar", "scatter", "histogram"]

LIST_NAMES: tuple[ListName, ...] = get_args(ListName)
BOARDS: tuple[Board, ...] = get_args(Board)
STATUSES: tuple[Status, ...] = get_args(Status)
PRODUCTS: tuple[Product, ...] = get_args(Product)
SOURCES: tuple[Source, ...] = get_args(Source)
METRICS: tuple[Metric, ...] = get_args(Metric)
PLOT_KINDS: tuple[PlotKind, ...] = get_args(PlotKind)


@dataclass(frozen=True)
class Person:
    """A person works in the office."""

    name: str
    address: str
    role: str


@dataclass(frozen=True)
class Email:
    """An email was sent or received by the user."""

    id: str
    sender: str
    """Address of the sender."""
    recipient: str
    """Address of the recipient."""
    subject: str
    body: str
    sent_at: str
    """Moment, as 2026-03-12 08:30."""


@dataclass(frozen=True)
class CalendarEvent:
    """An event is a meeting of the user with one other person."""

    id: str
    name: str
    participant: str
    """Address of the other person."""
    start: str
    """Moment, as 2026-03-12 08:30."""
    minutes: int


@dataclass(frozen=True)
class Visit:
    """A visit is a person's stay on the company's site."""

    visitor: str
    day: str
    """Day, as 2026-03-12."""
    minutes: int
    engaged: bool
    """True if the visitor did more than look."""
    source: Source


@dataclass(frozen=True)
class ProjectTask:
    """A project task is in a list of a board."""

    id: str
    name: str
    assignee: str
    """Address of the person who has to do it."""
    list_name: str
    board: str
    due: str
    """Day, as 2026-03-12."""


@dataclass(frozen=True)
class CustomerRecord:
    """A customer record holds the company's data about a customer."""

    id: str
    name: str
    contact: str
    """Address of the customer."""
    assigned_to: str
    """Address of the person who looks after the customer."""
    product: str
    status: str
    last_contact: str
    """Day, as 2026-03-12."""
    follow_up: str
    """Day, as 2026-03-12."""
    notes: str


@dataclass(frozen=True)
class Plot:
    """A plot is recorded as it was asked for, and not drawn."""

    id: str
    metric: str
    from_date: str
    """Day, as 2026-03-12."""
    to_date: str
    """Day, as 2026-03-12."""
    kind: str
