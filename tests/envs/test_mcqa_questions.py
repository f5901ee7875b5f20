"""Checks generated multiple-choice questions: they differ, have exactly one right option, and give no hint at it."""

from __future__ import annotations

import calendar
import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from playing_tasks import generated
from pydantic import ValidationError

from ray_gym.envs.mcqa import MultipleChoice
from ray_gym.envs.mcqa.environment import MultipleChoiceTask
from ray_gym.envs.mcqa.subjects import SUBJECTS, roman
from ray_gym.envs.mcqa.words import WORDS


def test_generated_tasks_differ_and_are_the_seeds() -> None:
    environment = MultipleChoice()
    tasks = [generated(environment, index) for index in range(1000)]
    assert len({task.question + str(task.options) for task in tasks}) >= 990
    assert tasks[:50] == [generated(environment, index) for index in range(50)]
    assert tasks[:50] != [generated(environment, index, seed=1) for index in range(50)]
    assert {task.subject for task in tasks} == set(SUBJECTS)
    assert {len(task.options) for task in tasks} == set(range(4, 11))
    assert {task.expected_answer for task in tasks} == set("ABCDEFGHIJ")
    only = MultipleChoice(MultipleChoice.Options(subjects=("clock", "units")))
    assert {generated(only, index).subject for index in range(40)} == {"clock", "units"}
    with pytest.raises(ValidationError, match="Input should be 'arithmetic'"):
        MultipleChoice.Options.model_validate({"subjects": ["alchemy"]})


def right_ones(task: MultipleChoiceTask) -> list[str]:
    """Returns the right options of a question, worked out in another way than the generator's where there is one."""
    question = task.question
    numbers = [int(number) for number in re.findall(r"\d+", question)]

    def is_right(option: str) -> bool:
        match task.subject:
            case "arithmetic":
                return int(option) == eval(question.removeprefix("What is ").removesuffix("?"))
            case "divisibility":
                return int(option) % numbers[0] == 0
            case "weekdays":
                day = datetime.strptime(question.removeprefix("Which day of the week is ")[:-1], "%d %B %Y")
                return option == calendar.day_name[calendar.weekday(day.year, day.month, day.day)]
            case "dates":
                start = datetime.strptime(re.split(" after | before ", question)[1][:-1], "%d %B %Y")
                days = numbers[0] if "after" in question else -numbers[0]
                return datetime.strptime(option, "%d %B %Y") == start + timedelta(days=days)
            case "clock":
                hours, minutes, *travel = numbers
                travelled = travel[0] * 60 + travel[1] if len(travel) == 2 else travel[0]
                moment = datetime(2000, 1, 1, hours, minutes) + timedelta(minutes=travelled)
                return option == moment.strftime("%H:%M")
            case "sorting":
                listed = question.partition(": ")[2][:-1].split(", ")
                places = "first second third fourth fifth sixth seventh eighth ninth tenth".split()  # noqa: SIM905
                place = next(index for index, name in enumerate(places) if f"comes {name}:" in question)
                return sum(word < option for word in listed) == place
            case "roman numerals":
                return roman(numbers[0]) == option
        return option == task.options[task.expected_answer]  # units and sequences: checked below

    return [letter for letter, option in task.options.items() if is_right(option)]


def test_exactly_one_option_of_a_generated_question_is_right() -> None:
    for index in range(600):
        task = generated(MultipleChoice(), index, seed=3)
        assert len(set(task.options.values())) == len(task.options)
        assert right_ones(task) == [task.expected_answer], task


def place_of(option: str) -> int:
    """Returns an option as a number: a day, a minute, a Roman numeral, a word's place in the alphabet."""
    if re.fullmatch(r"\d\d:\d\d", option):
        return int(option[:2]) * 60 + int(option[3:])
    if re.fullmatch("[MDCLXVI]+", option):
        return ROMAN.index(option)
    if re.fullmatch(r"\d+ \w+ \d+", option):
        return datetime.strptime(option, "%d %B %Y").toordinal()
    if option.isdigit():
        return int(option)
    return list(calendar.day_name).index(option) if option in calendar.day_name else WORDS.index(option)


ROMAN = [roman(number) for number in range(4000)]


@pytest.mark.environments
@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_options_alone_do_not_tell_the_answer(subject: Any) -> None:
    """Checks that guessing by usual distances or by the middle, without the question, is little better than chance."""
    environment = MultipleChoice(MultipleChoice.Options(subjects=(subject,)))

    def drawn(seed: int) -> list[tuple[list[int], int]]:
        tasks = [generated(environment, index, seed=seed) for index in range(800)]
        return [
            ([place_of(option) for option in task.options.values()], place_of(task.options[task.expected_answer]))
            for task in tasks
        ]

    seen: Counter[int] = Counter()
    for places, answer in drawn(1):
        seen.update(abs(place - answer) for place in places if place != answer)
    common = {distance for distance, _ in seen.most_common(20)}

    def is_hub(place: int, places: list[int]) -> float:
        return sum(abs(place - other) in common for other in places)

    def is_in_the_middle(place: int, places: list[int]) -> float:
        return -abs(sum(other - place for other in places))

    for looks_right in (is_hub, is_in_the_middle):
        hits, chance = 0.0, 0.0
        for places, answer in (played := drawn(2)):
            values = {place: looks_right(place, places) for place in places}
            best = [place for place in places if values[place] == max(values.values())]
            hits += (answer in best) / len(best)
            chance += 1 / len(places)
        assert hits / len(played) < chance / len(played) + 0.05, looks_right


def test_answers_of_known_questions() -> None:
    assert [roman(number) for number in (4, 49, 1987, 2024, 3999)] == [
        "IV",
        "XLIX",
        "MCMLXXXVII",
        "MMXXIV",
        "MMMCMXCIX",
    ]
    environment = MultipleChoice(MultipleChoice.Options(subjects=("units", "sequences")))
    per_unit = {"metres": 1000, "centimetres": 100, "millimetres": 10, "grams": 1000, "millilitres": 1000}
    per_unit |= {"minutes": 60, "seconds": 60, "hours": 24, "days": 7}
    for index in range(200):
        task = generated(environment, index)
        numbers = [int(number) for number in re.findall(r"\d+", task.question)]
        answer = int(task.options[task.expected_answer])
        if task.subject == "units":
            whole, rest = numbers
            assert answer == whole * per_unit[task.question.split()[2]] + rest
        else:
            a, b, c, d, e, *_ = [*numbers, answer]
            steps = [later - earlier for earlier, later in pairwise([*numbers, answer])]
            second = {later - earlier for earlier, later in pairwise(steps)}
            doubles = (b, c, d, e) == (2 * a, 2 * b, 2 * c, 2 * d) and answer == 2 * numbers[-1]
            sums = (c, d, e) == (a + b, b + c, c + d) and answer == numbers[-1] + numbers[-2]
            assert len(second) == 1 or doubles or sums, task.question
