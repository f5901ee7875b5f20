"""Checks answers without a box that end with an expression, which is read as if it were in one."""

from __future__ import annotations

from time import process_time

import pytest
from processor import slowness

from ray_gym.envs.math.last_expression import last_expression
from ray_gym.envs.math.verification import verify_answer

VECTOR = r"3\mathbf{i}+4\mathbf{j}"


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"v_{\text{max}}", r"The answer is $v_{\text{max}}$."),
        (r"v_{\text{max}}", r"The answer is \(v_{\mathrm{max}}\)."),
        (r"\lg 5", r"The answer is $\lg 5$."),
        ("3-5", "The answer is $3-5$."),
        ("3-5", r"So the range: \[3\text{-}5\]"),
        (r"\frac{1}{6}", r"The answer is $P(\text{red}) = \frac16$."),
        (r"\frac{1}{6}", r"The answer is $P(\text{sum is 7})=\frac{6}{36}=\frac16$."),
        (r"P(\text{red})=\frac{1}{6}", r"The answer is $P(\text{red}) = \frac16$."),
        ("a+2d", "The answer is $a+2d$."),
        ("a_1+2d", "The answer is $a_1+2d$."),
        (r"x=\lg 3", r"$x=\lg 3$"),
        ("x**2-1", "$x**2-1$"),
        (r"10^{\lg 2}", r"$10^{\lg 2}$"),
        (VECTOR, rf"The answer is {VECTOR}."),
        (VECTOR, rf"**{VECTOR}**"),
        (VECTOR, "The answer is 3i+4j."),
        (VECTOR, r"It is $3\hat{\mathbf{i}}+4\hat{\mathbf{j}}$."),
    ],
)
def test_what_is_right_in_a_box_is_right_at_the_end(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"v_{\text{max}}", r"The answer is $v_{\text{min}}$."),
        (r"\frac{1}{6}", r"The answer is $P(\text{red}) = \frac15$."),
        ("3-5", "The answer is $3-6$."),
        (VECTOR, "The answer is 3i-4j."),
        (VECTOR, "The answer is $3i+7j$."),
        ("x+1", "The answer is not x+1."),
        ("x^2+1", "It is $x^2$ or $x^2+1$."),
        ("5", "The answer is not $5$."),
    ],
)
def test_what_is_wrong_in_a_box_is_wrong_at_the_end(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize(
    "end",
    [
        *(r"\sqrt 2", "2x+1", "x + 2", "(1, 2)", r"\log 2", r"\sin 2", r"2\sqrt3+1", r"\sqrt 4", r"$\sqrt 2$"),
        *(r"2\pi", "2π", "2pi", "2*pi", "2x", "2x^2", "2n", "2√3", r"2\sqrt3 cm", "2 - 5x", "log 2", "2:3", "2e^3"),
        *(
            r"2\text{ and }7",
            r"\begin{bmatrix}1\\2\end{bmatrix}",
            "1, 2",
            r"\pm 2",
            "2π cubic inches",
            "2²",
            "2 ln 3",
            "y = x + 2",
            "f(x) = 3x = 2x",
        ),
    ],
)
def test_a_number_within_the_last_expression_is_not_the_answer(end: str) -> None:
    assert verify_answer("2", f"The answer is {end}.")[0] == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        "x ≠ 5",
        r"So x \neq 5",
        "So x != 5.",
        "It satisfies x >= 5",
        "x > 5",
        r"Hence x \le 5",
        "2x = 5",
        "x² = 5",
        "So y³ = 5.",
        "1 < x < 5",
    ],
)
def test_a_relation_to_a_number_is_not_the_number(answer: str) -> None:
    assert verify_answer("5", answer)[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        *(
            ("5", f"The answer is {end}")
            for end in ("5m.", "5 cm.", "5 apples.", "5pm.", "5 p.m.", "5th.", "5kg", "5 kWh")
        ),
        *(
            ("5", f"The answer is {end}")
            for end in ("5!", "(a) 5", "(B) 5.", "5:00", "5 because x > 4", "n = 5 (n > 0)", "5 cm²", r"\$5.")
        ),
        *(
            ("5", text)
            for text in (
                "v = d/t = 5 m/s",
                "C = 5 μF",
                "e = 5",
                "10C3 = 5",
                "12 mod 7 = 5",
                "5x = 25 → x = 5",
                "Question 2: 5",
            )
        ),
        *(("5", text) for text in ("Since 2x + 1 = 11, x = 5.", "x+2=7; x=5", "=> 5", "Answer:\n> 5", "x+2=7. x=5")),
        *(("10^3", f"x = {end}") for end in ("10^3 cm²", "10^3 km/h", "10^3 kg m/s", "10^3 L")),
        ("3", r"The answer is 3 \text{ apples}."),
        ("1:3", "The ratio is 1:3."),
        ("1,234", r"x = 1,234 \,\text{cm}"),
        (r"\mathbb{R}", r"So x = \text{all real numbers}"),
        (r"2\sqrt{3}", r"The length is 2\sqrt{3} ≈ 3.46."),
        (r"2\sqrt{3}", r"The length is 2\sqrt{3} cm."),
        (r"36\pi", "The volume is 36π cubic inches."),
        (r"\sqrt{2}", r"So x = \boxed{\sqrt{2}"),
        (r"\sqrt{2}", r"It is not 2. So x = \sqrt{2}"),
    ],
)
def test_units_steps_and_remarks_at_the_end_are_no_part_of_the_answer(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"\sqrt{2}", r"So x >= \sqrt{2}"),
        (r"\sqrt{2}", r"We can rule out x = \sqrt{2}."),
        (r"\sqrt{2}", r"This contradicts x = \sqrt{2}."),
        (r"\sqrt{2}", r"x = -\sqrt{2} or x = \sqrt{2}"),
        (r"\sqrt{2}", r"We have x_1 = 3 and x_2 = \sqrt{2}"),
        ("2x+3", "It isn't y = 2x+3"),
        ("y=2x+3", "The line has equation 3y = 2x + 3."),
        ("y=2x+3", "x = 2x + 3"),
        ("(1,2)", "P = (2,1) or P = (1,2)"),
        ("x+1", "The factor is not: x+1"),
        ("3", "1:3"),
        ("-3", "x = 3, x = -3"),
    ],
)
def test_what_is_denied_compared_or_one_of_several_is_no_answer(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        rf"\boxed{{{VECTOR}}}",
        r"\boxed{3i+4j}",
        r"\boxed{3\hat i+4\hat j}",
        r"\boxed{3\mathbf{\hat{i}}+4\mathbf{\hat{j}}}",
    ],
)
def test_unit_vectors_are_the_same_with_a_hat_and_without(answer: str) -> None:
    for expected in (VECTOR, r"3\hat{i}+4\hat{j}", r"3\hat{\mathbf{i}}+4\hat{\mathbf{j}}"):
        assert verify_answer(expected, answer)[0] == 1.0
        assert verify_answer(expected, answer.replace("+", "-"))[0] == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        r"\boxed{\frac{3\hat{i}+4\hat{j}}{5}}",
        r"\boxed{\frac{3\hat{\mathbf{i}}+4\hat{\mathbf{j}}}{5}}",
        r"\boxed{\frac{3\mathbf{\hat{i}}+4\mathbf{\hat{j}}}{5}}",
        r"\boxed{\frac{1}{5}(3\hat{i}+4\hat{j})}",
        r"\boxed{\mathbf{\frac{3\hat{i}+4\hat{j}}{5}}}",
        r"\boxed{\frac{3}{5}\hat{i}+\frac{4}{5}\hat{j}}",
        r"\boxed{{\frac35\mathbf{i}+\frac45\mathbf{j}}}",
    ],
)
def test_unit_vectors_leave_the_braces_around_them(answer: str) -> None:
    for expected in (r"\frac{3\hat{i}+4\hat{j}}{5}", r"\frac{3\mathbf{i}+4\mathbf{j}}{5}"):
        assert verify_answer(expected, answer)[0] == 1.0
        assert verify_answer(expected, answer.replace("+", "-"))[0] == 0.0


@pytest.mark.parametrize(
    "text", [r"\text{", r"\text{a}", r"\a", "= ", "is ", "$", r"\(", "a b ", "5 cm ", "x=", ": ", "a, ", "1:"]
)
def test_an_expression_is_found_in_linear_time(text: str) -> None:
    started = process_time()
    last_expression(text * 10_000 + "$")
    assert process_time() - started < slowness()


def test_what_a_long_text_ends_with_is_no_expression_where_its_beginning_is_cut() -> None:
    assert last_expression(r"\text{a}" * 60) is None
    assert last_expression("so " * 200 + "x = 5") == "x = 5"


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        *(
            (f"{left} = 60", "")
            for left in ("12(5)", "(12)(5)", "(5)12", r"\frac12(12)(10)", "100m + n", "a² + b²", "x/y", "x/(x+1)")
        ),
        *((f"Total = {left} = 60 cm", "") for left in ("12(5)", "0.5(12)(10)", "n(n+1)/2", "2(l + w)", "s²")),
        *(
            (f"It is {left} = 60.", "")
            for left in ("12m \u00d7 5m", "12 km/h \u00d7 5 h", "n - 1", "(1/3)πr²h", "∑ 1/n")
        ),
        ("So x^2 = 60.", "Given $x^2 - 5 = 55$, find $x^2$."),
        ("2x + 3 = 60", "What is 2x+3?"),
        ("f(g(2)) = 60", "Find f(g(2))."),
    ],
)
def test_a_calculation_before_a_value_is_no_equation_to_solve(answer: str, question: str) -> None:
    assert verify_answer("60", answer, question)[0] == 1.0
    assert verify_answer("61", answer, question)[0] == 0.0


@pytest.mark.parametrize("left", ["2x", "x^2", "2x + 1", r"2\theta", r"\log_2 x", r"\frac{x}{2}"])
def test_an_equation_to_solve_is_no_value(left: str) -> None:
    assert verify_answer("5", f"So {left} = 5")[0] == 0.0
    assert verify_answer("5", f"The equation is {left} = 5.", "Solve the equation.")[0] == 0.0
    assert verify_answer("5", f"{left} = 5", f"Solve {left} = 10 for x.")[0] == 0.0


@pytest.mark.parametrize(
    "answer",
    ["So 5 it is.", "5 is what we have.", "5 is how many there are!", "5 apples, as 5 they are.", "5\n---", "5\n==="],
)
def test_signs_alone_are_no_last_expression(answer: str) -> None:
    assert verify_answer("5", answer)[0] == 1.0


@pytest.mark.parametrize("expression", [r"6\pi", "2√3", "(2, 3)", "x^2+1", "3/4"])
@pytest.mark.parametrize(
    "text",
    [
        *(
            "The answer is `{}`.",
            "Answer: {} ✅",
            "The answer is {} ✓",
            "Answer: `{}` 🎉",
            "Answer: ✅ {}",
            "**Answer:** `{}`",
        ),
        *(
            "> {}",
            "> **{}**",
            "==> {}",
            "--> {}",
            "`{}`",
            "**{}**\n\n---",
            "• {}",
            "The answer is {}。",
            "Answer: {} —",
        ),
    ],
)
def test_marks_around_the_last_expression_are_no_part_of_it(expression: str, text: str) -> None:
    answer = text.replace("{}", expression)
    assert verify_answer(expression.replace("2√3", r"2\sqrt{3}"), answer)[0] == 1.0
    assert verify_answer("6", answer)[0] == verify_answer("2", answer)[0] == 0.0


@pytest.mark.parametrize("around", ["{}", "We solve:\n{}", "$${}$$", "\\[\n{}\n\\]"])
@pytest.mark.parametrize("name", ["align*", "aligned", "align", "split", "eqnarray*", "equation"])
def test_the_last_of_several_lines_of_equations_is_the_answer(name: str, around: str) -> None:
    for lines in (
        "\n2x &= 10\\\\\nx &= 5\n",
        "2x &= 10\\\\ x &= 5",
        "\n2x+1 &= 11 \\\\\nx &= \\frac{10}{2} \\\\ &= 5.\n",
    ):
        answer = around.replace("{}", rf"\begin{{{name}}}{lines}\end{{{name}}}")
        assert verify_answer("5", answer)[0] == 1.0


@pytest.mark.parametrize(
    "more",
    [
        *(
            "\n\nConfidence: 95%",
            ". Check: 12 - 5 = 7",
            ", because the number of boys is 3.",
            ". Here x = 3",
            " since n = 3",
        ),
        *(
            ". The number of boys is 3.",
            "\n\nSteps:\n1. 9 - 2 = 7\n2. So it is 9",
            ": the total is 9 + 3",
            " Then x = 3",
        ),
    ],
)
def test_an_announced_answer_goes_before_the_last_expression(more: str) -> None:
    for announced in ("The final answer is 12", "Final Answer: The final answer is $12$"):
        assert verify_answer("12", f"{announced}{more}")[0] == 1.0
    assert verify_answer("12", f"The answer is 9{more}.\n\n12")[0] == 0.0


@pytest.mark.parametrize(
    "more", ["\n\nConfidence: 95%", ", because x is 3.", ". The number of boys is 3.", " Here y is 3"]
)
def test_an_answer_behind_a_colon_goes_before_the_last_expression(more: str) -> None:
    assert verify_answer("12", f"Answer: 12{more}")[0] == 1.0
    assert verify_answer("3", f"Answer: 12{more}")[0] == 0.0


def test_a_heading_may_announce_the_answer() -> None:
    assert verify_answer("18", "### Answer\n**$18**\n\n### Check\n- eggs: 16\n- eaten: 3")[0] == 1.0


@pytest.mark.parametrize(
    "text", ["Answer: {}", "The answer is {}.", "{}", "**{}**", "• {}", "> {}", "So x is {}", "`{}`"]
)
@pytest.mark.parametrize("number", ["5", r"\frac{3}{4}", r"6\pi", "2x"])
def test_a_dash_before_the_last_expression_is_a_minus(number: str, text: str) -> None:
    for dash in "\u2013\u2212-":
        assert verify_answer(f"-{number}", text.replace("{}", f"{dash}{number}"))[0] == 1.0
        assert verify_answer(number, text.replace("{}", f"{dash}{number}"))[0] == 0.0
    assert verify_answer("5", text.replace("{}", "\u27965"))[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "other", "end"),
    [
        *((r"\emptyset", "0", end) for end in ("{}", "{ }", r"\{\}", r"$\{\}$", "\u2205")),
        *((sign, other, sign) for sign, other in zip("><", "<>", strict=True)),
    ],
)
@pytest.mark.parametrize("text", ["Answer: {}", "The answer is {}.", "{}", "So it is {}"])
def test_an_empty_set_and_a_sign_alone_may_be_the_answer(expected: str, other: str, end: str, text: str) -> None:
    assert verify_answer(expected, text.replace("{}", end))[0] == 1.0
    assert verify_answer(other, text.replace("{}", end))[0] == 0.0


@pytest.mark.parametrize("word", ["So", "Hence", "Thus", "Therefore", "Then"])
@pytest.mark.parametrize(
    ("expected", "number", "end"),
    [(r"\frac{5}{6}", "5", "5/6"), ("10^6", "10", "10^6"), (r"6\pi", "6", "6π"), ("-5", "5", "-5")],
)
def test_a_comma_behind_a_conclusion_is_no_part_of_it(expected: str, number: str, end: str, word: str) -> None:
    assert verify_answer(expected, f"{word}, {end}.")[0] == 1.0
    assert verify_answer(number, f"{word}, {end}.")[0] == 0.0


@pytest.mark.parametrize("before", ["Answer:", "The answer is:\n", "So we have:", "**Answer:**\n\n- x is a length"])
def test_a_dash_with_a_space_that_begins_a_last_line_is_a_bullet(before: str) -> None:
    for value, end in (("18", "18"), (r"12 \text{ cm}", "12 cm"), (r"\frac{5}{6}", "**5/6**")):
        assert verify_answer(value, f"{before}\n- {end}")[0] == 1.0
        assert verify_answer(f"-{value}", f"{before}\n- {end}")[0] == 0.0
    assert verify_answer("-18", f"{before}\n-18")[0] == 1.0


def test_a_dash_before_a_minus_or_an_equation_is_none() -> None:
    assert verify_answer("-4", "- \u20134")[0] == verify_answer("x=2", "Answer \u2013 x = 2")[0] == 1.0
    assert verify_answer("4", "- \u20134")[0] == verify_answer("x=-2", "Answer \u2013 x = 2")[0] == 0.0


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (r"12 \text{ cm}", "The answer is 12 cm!"),
        (r"12 \text{ cm}", "**12 cm!**"),
        (r"25\%", "The answer is 25%!"),
        (r"45^\circ", "The answer is 45°!"),
        (r"5\text{ m/s}", "Answer: 5 m/s!"),
        ("18", "The answer is **18**!"),
        ("n!", "The answer is n!"),
        ("(2n)!", "The answer is (2n)!"),
    ],
)
def test_an_exclamation_mark_is_no_part_of_a_unit_or_mark(expected: str, answer: str) -> None:
    assert verify_answer(expected, answer)[0] == 1.0


def test_money_in_a_fence_and_primes_leave_a_number_as_it_is() -> None:
    for expected, answer in (
        ("18", "```\n$18\n```"),
        (r"\$18", "```\n$18\n```"),
        ("5", "Answer: 5\u2032"),
        ("5", "5\u2033"),
    ):
        assert verify_answer(expected, answer)[0] == 1.0


@pytest.mark.parametrize(
    "text", ["{}\n---", "**{}**\n\n---", "___\n\n{}\n\n___", "> {}", "{}\n===", "Answer:\n- {}", "It equals {}!"]
)
def test_units_are_compared_behind_marks_of_markdown(text: str) -> None:
    for expected, other in (
        (r"12 \text{ m}", "12 cm"),
        (r"5 \text{ km/h}", "5 m/s"),
        ("3 \\text{ hours}", "3 minutes"),
    ):
        assert verify_answer(expected, text.replace("{}", other))[0] == 0.0
    assert verify_answer(r"12 \text{ cm}", text.replace("{}", "12 cm"))[0] == 1.0


@pytest.mark.parametrize(
    "before", ["The point P =", "So x =", "Thus P =", "Hence v =", "We get v =", "The interval I ="]
)
def test_a_pair_behind_an_equals_sign_is_no_remark(before: str) -> None:
    assert verify_answer("3", f"{before} (2, 3).")[0] == 0.0
    assert verify_answer("(2, 3)", f"{before} (2, 3).")[0] == 1.0
