"""Checks the 27 tools on the tables, and the tables themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import FrozenInstanceError, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from ray_gym.envs.workplace_assistant import WorkplaceAssistant
from ray_gym.envs.workplace_assistant.base_data import SEED, base_data, generate_base_data
from ray_gym.envs.workplace_assistant.clock import read_moment
from ray_gym.envs.workplace_assistant.requests.wanted import call
from ray_gym.envs.workplace_assistant.table import Table
from ray_gym.envs.workplace_assistant.workplace import Workplace

SOMEBODY = list(base_data().people)[5]
TASK = {"name": "Paint it", "assignee": SOMEBODY, "list_name": "Backlog", "board": "Design", "due": "2026-04-01"}
EVENT = {"name": "Talk", "participant": SOMEBODY, "start": "2026-03-20 10:00", "minutes": 30}
CUSTOMER = {
    "name": "Fox Ltd",
    "contact": "fox@fox.example",
    "assigned_to": SOMEBODY,
    "product": "Atlas",
    "status": "Lead",
    "last_contact": "2026-03-12",
    "follow_up": "2026-03-20",
}


@pytest.fixture
def office() -> Workplace:
    return Workplace.fresh()


def found(workplace: Workplace, name: str, /, **arguments: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = call(name, **arguments).carry_out(workplace)["found"]
    return rows


def test_there_are_27_tools_in_six_areas() -> None:
    areas = Counter(name.partition("_")[0] for name in WorkplaceAssistant.tools)
    assert areas == {"directory": 1, "email": 6, "calendar": 5, "analytics": 6, "project": 5, "customer": 4}


def test_a_table_copies_only_rows_that_change() -> None:
    base = base_data().tasks
    table, other = Table("task", base), Table("task", base)
    row = base["task-7"]
    table.put(replace(row, name="Sleep"))
    assert table.get("task-7") != row and other.get("task-7") is row and base["task-7"] is row
    assert table.next_id == "task-301"
    table.put(replace(row, id=table.next_id))
    assert table.next_id == "task-302" and other.next_id == "task-301"
    table.remove("task-301")
    table.remove("task-8")
    assert table.next_id == "task-302", "an id is never given twice"
    assert table.get("task-301") is None and table.get("task-8") is None and other.get("task-8") is base["task-8"]
    assert [each.id for each in table] == [each.id for each in other if each.id != "task-8"]
    assert set(table.own) == {"task-7", "task-8"}


def test_what_sessions_share_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        base_data().emails["email-1"] = base_data().emails["email-2"]
    with pytest.raises(FrozenInstanceError):
        base_data().emails["email-1"].subject = "Mine"


def test_the_data_is_always_the_same_and_makes_sense() -> None:
    data = base_data()
    assert data is base_data() and data == generate_base_data(SEED) and data != generate_base_data(SEED + 1)
    tables = (data.people, data.emails, data.events, data.visits, data.tasks, data.customers)
    assert all(200 <= len(table) <= 500 for table in tables)
    assert len({person.name for person in data.people.values()}) == len(data.people)
    events = sorted(data.events.values(), key=lambda event: event.start)
    for event, following in pairwise(events):
        assert read_moment(event.start) + timedelta(minutes=event.minutes) <= read_moment(following.start)
        assert read_moment(event.start).weekday() < 5 and event.participant in data.people
    assert all(task.assignee in data.people for task in data.tasks.values())
    assert all(customer.assigned_to in data.people for customer in data.customers.values())
    assert len({email.sent_at for email in data.emails.values()}) == len(data.emails)


def test_searches_find_all_words_and_show_the_first_ten(office: Workplace) -> None:
    answer = call("email_search", query="NOTES the").carry_out(office)
    matching = [e for e in office.emails if "notes" in f"{e.subject}{e.body}".lower()]
    assert len(answer["found"]) == 10 and answer["not_shown"] == len(matching) - 10 > 0
    sent = [row["sent_at"] for row in answer["found"]]
    assert sent == sorted(sent, reverse=True) and sent[0] == max(e.sent_at for e in matching)
    assert found(office, "email_search", query="zebra") == []
    one = next(iter(office.people.values()))
    assert found(office, "directory_find", name="lindqvist MARA") == [
        {"name": one.name, "address": one.address, "role": one.role}
    ]


def test_both_days_of_a_period_belong_to_it(office: Workplace) -> None:
    days = {event.start[:10] for event in office.events}
    shown = found(office, "calendar_search", from_date="2026-03-17", to_date="2026-03-18")
    assert {row["start"][:10] for row in shown} == {"2026-03-17", "2026-03-18"} <= days
    assert [row["start"] for row in shown] == sorted(row["start"] for row in shown)


def test_filters_of_tasks_and_customers_add_up(office: Workplace) -> None:
    task = next(task for task in office.tasks if task.due < "2026-03-12")
    shown = found(
        office,
        "project_search",
        query=task.name,
        assignee=task.assignee.upper(),
        list_name=task.list_name,
        board=task.board,
        due_before="2026-03-12",
    )
    assert [row["id"] for row in shown] == [task.id]
    assert found(office, "project_search", query=task.name, due_before=task.due) == []
    customer = office.customers.base["customer-3"]
    search = {"query": customer.name, "assigned_to": customer.assigned_to, "product": customer.product}
    assert [row["id"] for row in found(office, "customer_search", **search, status=customer.status)] == ["customer-3"]
    assert found(office, "customer_search", **search, last_contact_before=customer.last_contact) == []


def test_analytics_count_visits(office: Workplace) -> None:
    period = {"from_date": "2026-02-10", "to_date": "2026-02-12"}
    visits = [visit for visit in office.visits if visit.day in ("2026-02-10", "2026-02-11", "2026-02-12")]
    total = call("analytics_total_visits", **period).carry_out(office)
    assert total["in_all"] == len(visits) == sum(total["by_day"].values()) and len(total["by_day"]) == 3
    engaged = call("analytics_engaged_visits", **period).carry_out(office)
    assert 0 < engaged["in_all"] == sum(visit.engaged for visit in visits) < len(visits)
    minutes = call("analytics_average_minutes", **period).carry_out(office)
    assert minutes["in_all"] == pytest.approx(sum(visit.minutes for visit in visits) / len(visits), abs=0.05)
    assert call("analytics_traffic_sources", **period).carry_out(office) == Counter(visit.source for visit in visits)
    of_one = found(office, "analytics_visitor", visitor_id=visits[0].visitor)
    assert {"2026-02-10"} <= {row["day"] for row in of_one} and of_one[0]["day"] >= of_one[-1]["day"]
    nothing = call("analytics_average_minutes", from_date="1999-01-01", to_date="1999-01-02").carry_out(office)
    assert nothing == {"by_day": {}, "in_all": 0}


def test_emails_are_sent_answered_forwarded_and_deleted(office: Workplace) -> None:
    first = office.emails.base["email-1"]
    assert call("email_read", email_id="email-1").carry_out(office)["body"] == first.body
    sent = call("email_send", recipient=SOMEBODY, subject="Hello", body="How are you?").carry_out(office)
    assert sent == f"sent to {SOMEBODY} as email-301"
    call("email_reply", email_id="email-1", body="Yes.").carry_out(office)
    call("email_forward", email_id="email-1", recipient="out@side.example").carry_out(office)
    call("email_delete", email_id="email-1").carry_out(office)
    rows = [office.emails.get(f"email-{number}") for number in (301, 302, 303)]
    assert [(row.recipient, row.subject, row.body) for row in rows if row is not None] == [
        (SOMEBODY, "Hello", "How are you?"),
        (first.sender, f"Re: {first.subject}", "Yes."),
        ("out@side.example", f"Fwd: {first.subject}", first.body),
    ]
    assert all(row and row.sent_at == "2026-03-12 08:30" and row.sender == office.user.address for row in rows)
    assert office.emails.get("email-1") is None and office.changes()["emails"]["removed"] == ["email-1"]


def test_rows_are_created_changed_and_deleted(office: Workplace) -> None:
    call("calendar_create", **EVENT).carry_out(office)
    number = len(office.events.base) + 1
    call("calendar_update", event_id=f"event-{number}", field="minutes", new_value="45").carry_out(office)
    call("calendar_update", event_id=f"event-{number}", field="start", new_value="2026-03-21T09:00").carry_out(office)
    event = call("calendar_read", event_id=f"event-{number}").carry_out(office)
    assert event == {**EVENT, "id": f"event-{number}", "minutes": 45, "start": "2026-03-21 09:00"}
    call("project_create", **TASK).carry_out(office)
    call("project_update", task_id="task-301", field="board", new_value="Front end").carry_out(office)
    assert call("project_read", task_id="task-301").carry_out(office) == {
        **TASK,
        "id": "task-301",
        "board": "Front end",
    }
    call("customer_add", **CUSTOMER).carry_out(office)
    call("customer_update", customer_id="customer-221", field="notes", new_value="Foxes").carry_out(office)
    assert office.changes()["customers"] == {
        "added": [{**CUSTOMER, "name": "fox ltd", "product": "atlas", "notes": "foxes"}]
    }
    for name, what in (("calendar", f"event-{number}"), ("project", "task-301"), ("customer", "customer-221")):
        call(f"{name}_delete", **{f"{what.partition('-')[0]}_id": what}).carry_out(office)
    withdrawn = {"withdrawn_invitations": {SOMEBODY: 1}}
    assert office.changes() == withdrawn, "the invitation can't be taken back"
    call("analytics_plot", metric="total_visits", from_date="2026-03-01", to_date="20260302", kind="bar").carry_out(
        office
    )
    plot = {"metric": "total_visits", "from_date": "2026-03-01", "to_date": "2026-03-02", "kind": "bar"}
    assert office.changes() == {"plots": {"added": [plot]}, **withdrawn}


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("directory_find", {"name": " "}, "an empty text can't be used here"),
        ("email_read", {"email_id": "email-0"}, "there is no email 'email-0'; ids look like email-7"),
        ("email_send", {"recipient": "Ann", "subject": "a", "body": "b"}, "'Ann' is no email address"),
        ("email_send", {"recipient": SOMEBODY, "subject": "", "body": "b"}, "an empty text can't be used here"),
        ("email_search", {"from_date": "yesterday"}, "'yesterday' is no date; write it as YYYY-MM-DD"),
        ("email_search", {"to_date": "2026-02-30"}, "'2026-02-30' is no date"),
        ("calendar_create", {**EVENT, "start": "2026-03-20"}, "'2026-03-20' is no date with a time; write it as YYYY"),
        ("calendar_create", {**EVENT, "start": "2026-03-20T10:00Z"}, "'2026-03-20T10:00Z' is no date with a time"),
        ("calendar_create", {**EVENT, "minutes": 481}, "minutes: Input should be less than or equal to 480"),
        ("calendar_create", {**EVENT, "minutes": "30"}, "minutes: Input should be a valid integer"),
        (
            "calendar_update",
            {"event_id": "event-1", "field": "minutes", "new_value": "-5"},
            "'-5' is no number of minutes from 5 to 480",
        ),
        (
            "calendar_update",
            {"event_id": "event-1", "field": "minutes", "new_value": "4800"},
            "'4800' is no number of minutes from 5 to 480",
        ),
        (
            "analytics_total_visits",
            {"from_date": "2026-02-02", "to_date": "2026-02-01"},
            "the period ends on 2026-02-01, before it begins on 2026-02-02",
        ),
        ("analytics_visitor", {"visitor_id": "visitor-0"}, "nobody called 'visitor-0' was ever there"),
        (
            "project_create",
            {**TASK, "assignee": "x@y.example"},
            "nobody in the directory has the address 'x@y.example'",
        ),
        ("project_create", {**TASK, "board": "design"}, "board: Input should be 'Back end', 'Front end' or 'Design'"),
        (
            "project_update",
            {"task_id": "task-1", "field": "list_name", "new_value": "completed"},
            "'completed' is none of: Backlog, In Progress, In Review, Completed",
        ),
        (
            "project_update",
            {"task_id": "task-1", "field": "id", "new_value": "task-2"},
            "field: Input should be 'name'",
        ),
        ("customer_add", {**CUSTOMER, "follow_up": "soon"}, "'soon' is no date"),
        ("customer_delete", {"customer_id": "email-1"}, "there is no customer 'email-1'"),
    ],
)
def test_tools_refuse_and_change_nothing(
    office: Workplace, name: str, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError) as refused:
        call(name, **arguments).carry_out(office)
    assert complaint in str(refused.value)
    tables = (office.emails, office.events, office.tasks, office.customers, office.plots)
    assert all(table.own == {} for table in tables)


def test_an_email_that_was_sent_cannot_be_taken_back(office: Workplace) -> None:
    call("email_reply", email_id="email-1", body="No!").carry_out(office)
    with pytest.raises(ValueError, match="email-301 was sent, and can't be taken back"):
        call("email_delete", email_id="email-301").carry_out(office)
    assert office.emails.get("email-301") is not None
