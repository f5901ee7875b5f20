"""Checks that units are compared however they are written, in words, in symbols and in signs."""

from __future__ import annotations

from time import process_time

import pytest
from processor import slowness

from ray_gym.envs.math.unit_table import powers_of
from ray_gym.envs.math.units import bare_quantity, split_quantity
from ray_gym.envs.math.verification import verify_answer

OTHER_UNITS = [
    ("3\\text{ hours}", ["3\\text{ minutes}", "3\\text{ h}^2", "3 days", "3\\text{ weeks}"]),
    ("3\\text{ hours}", ["180\\text{ minutes}"]),
    ("2 inches", ["2 feet", "2 ft", "2\\text{ yards}", "2 square inches"]),
    ("5\\text{ miles}", ["5\\text{ km}", "5\\text{ kilometres}", "5 nautical km"]),
    ("12\\text{ cm}", ["12\\text{ inches}", "12\\text{ meters}", "12 square centimeters", "12\\%", "12^\\circ"]),
    ("12 square meters", ["12 cubic meters", "12 meters", "12\\text{ m}", "12\\text{ m}^3", "12 square feet"]),
    ("5\\text{ kilograms}", ["5\\text{ grams}", "5 mg", "5\\text{ milligrams}", "5\\text{ pounds}"]),
    ("12\\text{ m/s}", ["12\\text{ meters per hour}", "12\\text{ m}", "12\\text{ m/s}^2", "12\\text{ meters/min}"]),
    ("\\$12", ["12\\text{ cents}", "12¢", "€12", "12\\text{ euros}", "12 yen", "\\text{£}12"]),
    ("-\\$5", ["-5\\text{ cents}", "\\$5", "-€5"]),
    ("$12", ["12 cents", "€12", "12\\text{ hours}"]),
    ("12\\text{ cm}", ["12 \\text{ cm or } 13\\text{ cm}", "12\\text{ cm and }13\\text{ cm}"]),
    ("12\\text{ cents}", ["\\$12", "12 dollars", "\\$0.12"]),
    ("€12", ["\\$12", "£12", "12\\text{ dollars}"]),
    (
        "45^\\circ\\text{F}",
        ["45^\\circ\\text{C}", "45^\\circ C", "45 °C", "45\\text{ degrees Celsius}", "45\\text{ m}"],
    ),
    ("2\\pi\\text{ meters}", ["2\\pi\\text{ feet}", "2\\pi\\text{ square meters}"]),
    ("12\\%", ["12\\text{ cm}", "12^\\circ", "\\$12"]),
    ("2^\\circ", ["2\\text{ radians}", "2\\text{ rad}", "2'", "2\\%"]),
    ("30^\\circ", ["30'", "30^\\prime", "30''", "30^{\\circ}\\text{C}\\text{ m}"]),
    ("3\\text{ p.m.}", ["3\\text{ a.m.}", "3 AM"]),
    ("60\\text{ mph}", ["60\\text{ km/h}", "60 kph", "60\\text{ miles per minute}"]),
    ("12\\text{ people}", ["12\\text{ dollars}", "12\\text{ hours}"]),
    ("8.31 J/(mol K)", ["8.31 J/(kg K)", "8.31 J/(mol)", "8.31 J mol/K"]),
    ("5 N m", ["5 N/(m)", "5 J\u00b7m"]),
    ("12 square units", ["12 cubic units", "12\\text{ units}", "12\\text{ hours}"]),
    ("5\\text{ liters}", ["5\\text{ milliliters}", "5 gallons", "5\\text{ L}^2"]),
]
"""Quantities, and boxes with the same number and another unit, or with a unit that would have to be converted."""

SAME_UNITS = [
    ("12\\text{ hours}", ["12 h", "12\\text{ hr}", "12 hours", "12\\text{ hrs}", "12\\text{ hour}", "12"]),
    (
        "12\\text{ m/s}",
        ["12\\text{ meters per second}", "12 metres/second", "12\\text{ m}\\cdot\\text{s}^{-1}", "12 m/s"],
    ),
    (
        "12\\text{ ft}^2",
        ["12\\text{ sq. ft.}", "12 square feet", "12\\text{ sq ft}", "12\\text{ feet squared}", "12 sq ft"],
    ),
    ("5\\text{ sq. ft.}", ["5 \\text{ ft}^2", "5\\text{ square foot}"]),
    ("8.31 J/(mol K)", ["8.31 J/mol/K", "8.31 J/(mol\u00b7K)", "8.31 J/(mol*K)", "8.31\\text{ J/(mol K)}", "8.31"]),
    ("5 N m", ["5 N\u00b7m", "5\\text{ N}\u00b7\\text{m}", "5 N\\cdot m", "5\\text{ N} \\times \\text{m}"]),
    ("5 W/(m^2 K)", ["5 W/m^2/K", "5 W/(m^2\\cdot K)"]),
    ("5 kilograms", ["5\\text{ kg}", "5\\text{ kilogrammes}", "5\\text{ Kilograms}"]),
    (
        "\\$12",
        ["12\\text{ dollars}", "US$12", "12 dollars", "12\\$", "12", "\\$12.00", "12\\text{ USD}", "\\text{\\$}12"],
    ),
    ("\\$3\\text{ per hour}", ["3\\text{ dollars per hour}", "\\$3", "3 dollars/hour", "\\$3\\text{/hr}"]),
    ("18", [r"\$18/\text{day}", "\\$18/day", r"\$18 \text{ per day}", r"\$18/\mathrm{h}", "\\$18 / day"]),
    ("$12", ["12\\text{ dollars}", "\\$12", "12", "$12", "$12$", "12.00"]),
    ("-\\$5", ["-5", "\\$-5", "-5\\text{ dollars}"]),
    ("2 A", ["2A", "2 A", "2"]),
    ("8\\text{ hours}", ["8\\text{ hours per day}", "8 h"]),
    ("6 PM", ["6\\text{ p.m.}", "6 p.m.", "6 pm"]),
    ("£5", ["5\\text{ pounds}", "\\pounds 5"]),
    ("5\\text{ lb}", ["5\\text{ pounds}", "5 lbs"]),
    ("45^\\circ", ["45\\text{ degrees}", "45 °", "45", "45 degrees", "45^{\\circ}"]),
    ("45^\\circ\\text{C}", ["45\\text{ degrees Celsius}", "45 °C", "45^\\circ C", "45^\\circ", "45\\text{ °C}", "45℃"]),
    ("30'", ["30\\text{ minutes}", "30^\\prime", "30\\text{ arcminutes}"]),
    ("25\\%", ["25\\text{ percent}", "25 per cent", "0.25", "25"]),
    ("2\\pi\\text{ meters}", ["2\\pi\\text{ m}", "2\\pi\\,\\mathrm{m}", "2\\pi"]),
    ("60\\text{ mph}", ["60\\text{ miles per hour}", "60 mi/h", "60\\text{ miles/hour}"]),
    ("5\\text{ kWh}", ["5\\text{ kilowatt-hours}", "5 kilowatt hours"]),
    ("3\\text{ p.m.}", ["3\\text{ pm}", "3\\text{ PM}", "3"]),
    ("12 square units", ["12\\text{ units}^2", "12\\text{ cm}^2", "12"]),
    ("12\\text{ people}", ["12\\text{ students}", "12\\text{ persons}", "12"]),
    ("9.8\\text{ m/s}^2", ["9.8\\text{ meters per second squared}", "9.8 m/s^2", "9.8\\text{ m per s}^2"]),
    ("5\\,\\mu\\text{m}", ["5\\text{ micrometers}", "5 µm"]),
    ("5\\text{ ml}", ["5\\text{ mL}", "5\\text{ millilitres}"]),
]
"""Quantities, and other spellings of them."""


@pytest.mark.parametrize(("expected", "answers"), OTHER_UNITS)
def test_another_unit_is_another_answer_however_it_is_written(expected: str, answers: list[str]) -> None:
    for answer in answers:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == 0, answer


@pytest.mark.parametrize(("expected", "answers"), SAME_UNITS)
def test_a_unit_may_be_written_in_many_ways(expected: str, answers: list[str]) -> None:
    for answer in [expected, *answers]:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == 1, (
            answer,
            verify_answer(expected, f"\\boxed{{{answer}}}"),
        )


@pytest.mark.parametrize(
    ("unit", "powers"),
    [
        ("meters per second squared", {"m": 1, "s": -2}),
        ("kg m^2/s^2", {"kg": 1, "m": 2, "s": -2}),
        ("cubic decimetres", {"dm": 3}),
        ("miles/gallon", {"mi": 1, "gal": -1}),
        ("per second", None),
        ("square", None),
        ("meters per", None),
        ("squared", None),
        ("degrees below zero", None),
        ("MW", {"MW": 1}),
        ("mW", {"mW": 1}),
        ("m12", None),
        ("", None),
    ],
)
def test_powers_of_a_unit(unit: str, powers: dict[str, int] | None) -> None:
    assert powers_of(unit) == powers


@pytest.mark.parametrize(
    "part", ["m ", "per ", "°", "\\text{", "'", "$", "square ", "^{\\circ}", "/", "-", " ", "a. m"]
)
def test_no_unit_takes_long_to_read(part: str) -> None:
    began = process_time()
    for text in (part * 2000, f"5 {part * 2000}", f"5{part * 2000}!", f"\\$5 {part * 2000}"):
        powers_of(text), split_quantity(text)
    assert process_time() - began < slowness()


@pytest.mark.parametrize(
    ("expected", "answer", "equal"),
    [
        ("5 cm", "The answer is 5 cm.", True),
        ("5 cm", "The length is about 5\\text{ cm}", True),
        ("5 cm", "Answer: 5 centimetres", True),
        ("5 m/s", "So the speed is 5 m/s.", True),
        ("5 cm", "The radius is 5", True),
        ("5 N m", "The torque is 5 N\u00b7m.", True),
        ("5", "The torque is 5 N\u00b7m.", True),
        ("8.31 J/(mol K)", "The gas constant is 8.31 J/(mol K).", True),
        ("5 N m", "The force is 5 N.", False),
        ("5 cm", "The answer is 5 m.", False),
        ("5 cm", "5 m", False),
        ("5 cm", "It is 5 cm wide in the picture, so really x = 5 km", False),
        ("5 m/s", "So the speed is 5 km/h.", False),
        ("\\$5", "It costs €5.", False),
        ("12 cm", "The length is $12$ cm.", True),
        ("12 cm", "It is **12** centimeters.", True),
        ("30 minutes", "It takes $30$ min.", True),
        ("12 cm", "The length is $12$ m.", False),
        ("12 cm", r"The length is \(12\) km", False),
        ("12 cm", "It is **12** m.", False),
        ("30 minutes", "It takes 30 s.", False),
        (r"12\pi\text{ m}", r"\boxed{12\pi m}", True),
        (r"12\text{ m}", r"\boxed{12m}", True),
        (r"12\pi\text{ cm}", r"\boxed{12\pi m}", False),
        (r"12\text{ cm}", r"\boxed{12m}", False),
        (r"5\sqrt{2}\text{ cm}", r"\boxed{5\sqrt2 km}", False),
        (r"5\sqrt{2}\text{ cm}", r"The length is 5\sqrt{2} m.", False),
    ],
)
def test_the_unit_at_the_end_of_an_answer_without_a_box_counts(expected: str, answer: str, equal: bool) -> None:
    assert verify_answer(expected, answer)[0] == float(equal)


def test_the_last_quantity_of_a_long_answer_is_found_fast() -> None:
    began = process_time()
    for text in ("5 is " * 400, "is" * 1000, ": = " * 500, "5 m " * 500):
        verify_answer("5 cm", text)
    assert process_time() - began < 2 * slowness()


def test_units_of_an_expression_are_compared_in_text() -> None:
    expected = r"2x\text{ cm}"
    given = {r"2x\text{ m}": 0, r"2x\text{ cm}": 1, r"2x\text{ centimeters}": 1, "2x": 1, r"3x\text{ cm}": 0}
    assert {box: verify_answer(expected, rf"\boxed{{{box}}}")[0] for box in given} == given


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "5",
            [r"5\ \mu m", r"5\,\mu s", r"5\,\mu C", r"5\mu F", r"5 \mu g/mL", r"5\,\mu m^{2}"],
            [r"5\mu", r"5\,\mu x", r"5\mu m g", r"6\,\mu m"],
        ),
        (r"5\,\mu\text{m}", [r"5\ \mu m", "5"], [r"5\,\mu s", r"5\,m"]),
        (r"5\mu m", [r"5\,\mu\text{m}", r"5\,\mu m"], [r"5\,\mu s"]),
        (r"5 \mu m", ["5", r"5\text{ micrometers}"], ["5 m"]),
        (r"3\mu g", [r"3\mu g", r"3g\mu", r"3\,\mu\text{g}"], ["3", r"3\mu", "3 g"]),
        (r"2\mu N", [r"2\mu N", r"2\mu\cdot N"], ["2", "2 N"]),
        (r"2\mu L", [r"2 \mu L", r"2L\mu"], ["2", r"2\text{ L}"]),
        (r"\frac{1}{2}\mu g", [r"\frac{\mu g}{2}"], [r"\frac{1}{2}", "0.5"]),
        (r"28\%", ["28 pct", r"28\text{ pct}"], ["29 pct"]),
    ],
)
def test_mu_before_the_letter_of_a_unit_is_micro(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            "5",
            [
                *[
                    "v = 5 m/s",
                    "V = 5 cm^3",
                    "F = 5 N",
                    "n = 5 mol",
                    r"\omega = 5 rad/s",
                    "x = 5 dollars",
                    "v_0 = 5 m/s",
                ],
                *[r"v_{\text{max}} = 5 m/s", r"v \approx 5 km/h", "x = 5 m"],
            ],
            [
                "v = 6 m/s",
                "x = 5 y",
                "x = 5 y z",
                "2x = 5 m/s",
                "x^2 = 5 m/s",
                "x = 5 squared",
                "x = 5 hundred",
                "x = 5 mod 7",
            ],
        ),
        ("5 m/s", ["v = 5 m/s", r"v = 5 \text{ m/s}"], ["v = 5 km/h", "v = 5 m"]),
        (r"5 \text{ cm}", ["x = 5 cm"], ["x = 5 m"]),
        (r"\$5", ["x = 5 dollars"], ["x = 5 cents"]),
        ("x = 5", ["x = 5 cm"], ["y = 5 m/s"]),
    ],
)
def test_plain_units_count_no_more_behind_a_name(expected: str, right: list[str], wrong: list[str]) -> None:
    for answer in right + wrong:
        assert verify_answer(expected, f"\\boxed{{{answer}}}")[0] == (answer in right), answer


@pytest.mark.parametrize("text", ["v", "v_{", r"v_{\text{a}", "v = 5 ", "5 m/", "v=5"])
def test_a_name_before_a_quantity_is_looked_for_in_linear_time(text: str) -> None:
    started = process_time()
    bare_quantity(text * 10_000 + "$")
    assert process_time() - started < slowness()
