"""Makes requests and the calls that fulfil them, from a seed."""

from __future__ import annotations

import random

from ray_gym.envs.workplace_assistant.requests import (
    about_analytics,
    about_calendar,
    about_customers,
    about_email,
    about_projects,
    across_areas,
)
from ray_gym.envs.workplace_assistant.requests.wanted import Template, Wanted
from ray_gym.envs.workplace_assistant.workplace import Workplace

TEMPLATES: tuple[Template, ...] = (
    *about_email.TEMPLATES,
    *about_calendar.TEMPLATES,
    *about_analytics.TEMPLATES,
    *about_projects.TEMPLATES,
    *about_customers.TEMPLATES,
    *across_areas.TEMPLATES,
)
KEPT_WITHOUT_ACTIONS = 0.4
"""Probability with which a request that requires no change is kept; otherwise another one is drawn."""

_GREETINGS = ("", "", "", "Hi! ", "Good morning. ", "One thing for today: ", "When you get to it: ")
_THANKS = ("", "", "", " Thanks!", " Thank you.", " Please be careful with it.")


def make_request(rng: random.Random) -> Wanted:
    """Draws a request (some have a greeting or thanks) with the calls that fulfil it. All templates are equally likely.
    A request that requires no change is kept with the probability `KEPT_WITHOUT_ACTIONS`, else drawn again from the
    same template.
    """
    template = rng.choice(TEMPLATES)
    while True:
        wanted = template(rng, Workplace.fresh())
        if wanted is not None and (wanted.actions or rng.random() < KEPT_WITHOUT_ACTIONS):
            request = f"{rng.choice(_GREETINGS)}{wanted.request}{rng.choice(_THANKS)}"
            return Wanted(request, wanted.lookups, wanted.actions)
