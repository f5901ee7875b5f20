"""Makes open-ended prompts from templates (to write, to explain, to advise), and conversations that lead to them."""

from __future__ import annotations

import random

FORMS = (
    "a short story", "a poem", "a letter to the editor", "a speech", "a dialogue between two strangers", "a diary entry",
    "an advertisement", "a product review", "a fable", "a postcard", "the opening scene of a play", "a museum label",
)  # fmt: skip
SUBJECTS = (
    "a lighthouse that is to be sold", "the last bus of the night", "a garden on a roof", "a lost umbrella",
    "the first snow of the year", "a clockmaker's apprentice", "a bridge that nobody crosses", "a letter that came too late",
    "two neighbours and one cherry tree", "a robot that learns to bake", "a village without mirrors", "an old map",
    "a choir that lost its conductor", "the sound of a harbour", "a library open at midnight", "a dog that missed its train",
    "a violin with a broken string", "moving to another city", "a power cut in summer", "a chess game by post",
    "a lemonade stand in the rain", "a tailor who can't sew", "a message in a bottle", "the smell of fresh bread",
    "a door that was always locked", "a marathon runner who walks", "a beekeeper in winter", "a ferry in the fog",
    "the oldest tree in the park", "a market before dawn", "a teacher's last lesson", "an astronaut's houseplant",
)  # fmt: skip
TOPICS = (
    "why the sky is blue", "how vaccines work", "what inflation is", "how a refrigerator keeps food cold",
    "why leaves change their colour", "how a search engine finds a page", "what a mortgage is", "how tides come about",
    "why we dream", "how bread rises", "what makes a metal rust", "how planes stay in the air", "what recursion is",
    "how a bill becomes a law", "why some ice floats", "how batteries store energy", "what a black hole is",
    "how bees find their way home", "why languages change", "how encryption keeps a message secret", "what probability means",
    "how a seed knows when to sprout", "why some people are left-handed", "how glaciers shape a valley", "what a sonnet is",
    "how a camera takes a picture", "why onions make us cry", "how money is created", "what jet lag does to the body",
    "how a violin makes its sound", "why bridges have joints", "how memory fades",
)  # fmt: skip
SITUATIONS = (
    "My neighbour plays the drums late at night", "I have to give a talk in front of fifty people", "My sourdough never rises",
    "I was offered two jobs and like both", "My teenage son hardly talks to me", "I want to start running at fifty",
    "My flatmate never washes the dishes", "I forgot a good friend's birthday", "My houseplants keep dying",
    "I can't fall asleep before two in the morning", "I am moving in with my partner", "My inbox has nine thousand messages",
    "I would like to read more books", "My boss takes credit for my work", "I am about to adopt an old cat",
    "I have a free week and little money", "My bicycle was stolen twice this year", "I want to learn the piano as an adult",
    "My parents want to stop driving", "I spend too much on takeaway food", "I have to write a wedding toast",
    "My garden is in the shade all day", "I am nervous about a dental treatment", "My team's meetings take hours",
)  # fmt: skip
WISHES = (
    "What would you do first?", "How should I go about it?", "Please give me three ideas.", "What do most people get wrong here?",
    "Help me to make a plan for the next month.", "What should I avoid?", "Which small step would help the most?",
    "How do I talk about it with my family?", "What would a friend tell me?", "How will I know that it is getting better?",
)  # fmt: skip
READERS = (
    "a ten-year-old", "a tired parent", "a retired engineer", "someone who learns English", "a sceptical friend",
    "a new colleague", "a class of teenagers", "a curious grandmother", "a busy nurse", "a visitor from abroad",
    "a book club", "a local newspaper",
)  # fmt: skip
MANNERS = (
    "Keep it warm and plain.", "A touch of humour is welcome.", "Be precise, and avoid jargon.", "Use one vivid picture.",
    "Do not use lists.", "Begin with a question.", "End with a surprise.", "Write in short sentences.",
    "Use an example from the kitchen.", "Be honest about what is not known.", "Sound calm.", "Avoid clichés.",
)  # fmt: skip
LENGTHS = (30, 40, 50, 60, 70, 80, 90, 100, 110, 120)

Turns = tuple[tuple[str, str], ...]
"""Role and text of each message, in order."""


def prompt(rng: random.Random) -> str:
    """Draws one of some 600,000 prompts."""
    return rng.choice((_to_write, _to_explain, _to_advise))(rng)


def conversation(rng: random.Random) -> Turns:
    """Draws a conversation in which a request becomes complete only after a question and its answer."""
    reader = rng.choice(READERS)
    request = prompt(rng)
    asked = "I have a request, but ask me one thing about it first. " + request
    answered = f"It is for {reader}. {rng.choice(MANNERS)} You may begin."
    return (("user", asked), ("assistant", "Gladly. Who is it for, and how should it sound?"), ("user", answered))


def _to_write(rng: random.Random) -> str:
    form, subject, reader = rng.choice(FORMS), rng.choice(SUBJECTS), rng.choice(READERS)
    return f"Write {form} about {subject}, for {reader}. {_limits(rng)}"


def _to_explain(rng: random.Random) -> str:
    return f"Explain {rng.choice(TOPICS)} to {rng.choice(READERS)}. {_limits(rng)}"


def _to_advise(rng: random.Random) -> str:
    return f"{rng.choice(SITUATIONS)}. {rng.choice(WISHES)} {_limits(rng)}"


def _limits(rng: random.Random) -> str:
    return f"{rng.choice(MANNERS)} At most {rng.choice(LENGTHS)} words."
