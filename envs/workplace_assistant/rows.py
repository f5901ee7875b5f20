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
    name: str
    address: str
    role: str


@dataclass(frozen=True)
class Email:
    id: str
    sender: str
    recipient: str
    subject: str
    body: str
    sent_at: str


@dataclass(frozen=True)
class CalendarEvent:
    """An event is a meeting of the user with one other person."""

    id: str
    name: str
    participant: str
    start: str
    minutes: int


@dataclass(frozen=True)
class Visit:
    """A visit is somebody's stay on the company's site. They are engaged if they did more than look."""

    visitor: str
    day: str
    minutes: int
    engaged: bool
    source: Source


@dataclass(frozen=True)
class ProjectTask:
    id: str
    name: str
    assignee: str
    list_name: str
    board: str
    due: str


@dataclass(frozen=True)
class CustomerRecord:
    id: str
    name: str
    contact: str
    assigned_to: str
    product: str
    status: str
    last_contact: str
    follow_up: str
    notes: str


@dataclass(frozen=True)
class Plot:
    """A plot is not drawn; what was asked for is kept."""

    id: str
    metric: str
    from_date: str
    to_date: str
    kind: str
