"""Gives tools for email: the user's inbox, and emails in the user's name."""

from __future__ import annotations

from dataclasses import asdict

from ray_gym import ToolError, tool
from ray_gym.envs.workplace_assistant.clock import NOW, format_moment
from ray_gym.envs.workplace_assistant.rows import Email
from ray_gym.envs.workplace_assistant.tools.answers import Query, listing
from ray_gym.envs.workplace_assistant.tools.arguments import address, open_period, require_text, row
from ray_gym.envs.workplace_assistant.workplace import Workplace


class EmailTools:
    """Adds the tools for email to the environment."""

    @tool()
    def email_search(
        self, workplace: Workplace, caller: object, query: str = "", from_date: str = "", to_date: str = ""
    ) -> dict[str, object]:
        """Find emails, newest first, with all words of the query in their addresses, subject or body."""
        wanted = Query(query)
        first, last = open_period(from_date, to_date)
        found = [
            email
            for email in workplace.emails
            if first <= email.sent_at[:10] <= last
            and wanted.matches(email.sender, email.recipient, email.subject, email.body)
        ]
        found.sort(key=lambda email: email.sent_at, reverse=True)
        return listing(found, "id", "sender", "subject", "sent_at")

    @tool()
    def email_read(self, workplace: Workplace, caller: object, email_id: str) -> dict[str, object]:
        """A whole email."""
        return asdict(row(workplace.emails, email_id))

    @tool()
    def email_send(self, workplace: Workplace, caller: object, recipient: str, subject: str, body: str) -> str:
        """Send an email to an address."""
        return _send(workplace, address(recipient), require_text(subject), require_text(body))

    @tool()
    def email_reply(self, workplace: Workplace, caller: object, email_id: str, body: str) -> str:
        """Answer the sender of an email."""
        answered = row(workplace.emails, email_id)
        return _send(workplace, answered.sender, f"Re: {answered.subject}", require_text(body))

    @tool()
    def email_forward(self, workplace: Workplace, caller: object, email_id: str, recipient: str) -> str:
        """Send an email on to an address, as it is."""
        email = row(workplace.emails, email_id)
        return _send(workplace, address(recipient), f"Fwd: {email.subject}", email.body)

    @tool()
    def email_delete(self, workplace: Workplace, caller: object, email_id: str) -> str:
        """Delete an email that the user got."""
        if row(workplace.emails, email_id).sender == workplace.user.address:
            raise ToolError(f"{email_id} was sent, and can't be taken back by deleting it")
        workplace.emails.remove(email_id)
        return f"deleted {email_id}"


def _send(workplace: Workplace, recipient: str, subject: str, body: str) -> str:
    email_id = workplace.emails.next_id
    sent_at = format_moment(NOW)
    workplace.emails.put(Email(email_id, workplace.user.address, recipient, subject, body, sent_at))
    return f"sent to {recipient} as {email_id}"
