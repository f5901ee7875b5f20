"""Checks how thoughts in a text are told from its words."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.messages import Message, ToolCall
from ray_gym.models.thoughts import has_mark, last_words, tell_apart, with_thoughts_apart


@pytest.mark.parametrize(
    ("text", "thoughts", "said"),
    [
        ("Hello.", "", "Hello."),
        (" Hello. ", "", " Hello. "),
        ("<think>hm</think>Hello.", "hm", "Hello."),
        ("<think>\nhm\n</think>\n\nHello.", "hm", "Hello."),
        ("hm</think>Hello.", "hm", "Hello."),
        ("<think>a</think>One. <think>b</think>Two.", "a\nb", "One. Two."),
        ("One. <think>b</think>", "b", "One."),
        ("hm </think>A <think>b</think> C <think>d", "hm\nb\nd", "A  C"),
        ("<think>cut", "cut", ""),
        ("  <think>cut", "cut", ""),
        ("Hello. <think>hm ###STOP###", "hm ###STOP###", "Hello."),
        ("<think>a</think>Hi.<think>b ###STOP###", "a\nb ###STOP###", "Hi."),
        ("<think>a <think>b</think> ###STOP### c</think>My order", "a <think>b</think> ###STOP### c", "My order"),
        ("<think>Do I write <think> first?</think>Hi.", "Do I write <think> first?", "Hi."),
        ("<think>a</think> and b</think>Hi.", "a\nand b", "Hi."),
        ("[THINK]a<think>b[/THINK]c</think>d", "a<think>b\nc", "d"),
        ("<think>I see <reasoning> here</think>Hi.", "I see <reasoning> here", "Hi."),
        ("[THINK]hm[/THINK]Hello.", "hm", "Hello."),
        ("<think></think>Hello.", "", "Hello."),
        ("<think>a</thinking>Hi.", "a", "Hi."),
        ("<think>a</thinking>Hi.<think>b</reasoning>You.", "a\nb", "Hi.You."),
        ("<think>I see </thinking> here</think>Hi.", "I see </thinking> here", "Hi."),
        ("<think>I see <reasoning>this</reasoning> ###STOP###", "I see <reasoning>this</reasoning> ###STOP###", ""),
        ("<think><think>a</thinking>Hi.", "<think>a", "Hi."),
        ("<seed:think>a</think>Hi.", "a", "Hi."),
        ('<think id="1">a</think>Hi.', "a", "Hi."),
        ("[THINK]a</think>b", "a</think>b", ""),
        ("<think>a</think><|return|>Hi.", "a", "<|return|>Hi."),
        (
            "<|start|>assistant<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hi.",
            "a",
            "Hi.",
        ),
        ("<|channel|>analysis<|message|>a<|end|><|channel|>final <|constrain|>json<|message|>{}<|return|>", "a", "{}"),
        ("<think>a</ think>b", "a", "b"),
        ("<think>a</\nthink >b", "a", "b"),
        ("<think>a< /think>b", "a", "b"),
        ("<think>a<\\/think>b", "a", "b"),
        ("<think>a<|/think|>b", "a", "b"),
        ("<|think|>a<|/think|>b", "a", "b"),
        ("[thinking]a[/thinking]b", "a", "b"),
        ("[THINK]a[ /THINK]b", "a", "b"),
        ("<reasoning_content>a</reasoning_content>b", "a", "b"),
        ("<scratch_pad>a</scratch_pad>b", "a", "b"),
        ("<think/>b", "", "b"),
        ("b <think /> c", "", "b  c"),
        ("[thoughts]a[/thoughts]b", "a", "b"),
        ("<think>a<think/>b", "a", "b"),
        ("<think>a<think />b<think/>c", "a", "bc"),
        ("<think>a<think/>b</think>c", "a<think/>b", "c"),
        ("<think>a<thinking/>b", "a<thinking/>b", ""),
        ("[Reasoning] It asks.\n[Answer] Paris", "", "[Reasoning] It asks.\n[Answer] Paris"),
        ("See [reasoning](x).", "", "See [reasoning](x)."),
        ("<start_working_out>a ###STOP###", "a ###STOP###", ""),
        ("<think>a</think><think/>b", "a", "b"),
        ("<think>Do I end with `</think>`?</think>Hi.", "Do I end with `</think>`?", "Hi."),
        ("Use `<think>` tags. <think>a</think>Hi.", "a", "Use `<think>` tags. Hi."),
        ("`<think>a</think>`", "a", "``"),
        ('<think>Do I end with "</think>"?</think>Hi.', 'Do I end with "</think>"?', "Hi."),
        ('<think>He said "yes"</think>"No" is right.', 'He said "yes"', '"No" is right.'),
        ('<think>He said "So, yes."</think>"\u2026" is right.', 'He said "So, yes."', '"\u2026" is right.'),
        ("<think>It is the users'</think>'No' is right.", "It is the users'", "'No' is right."),
        ('"<think>a</think>"', "a", '""'),
        ("<think>a<\\think>b", "a", "b"),
        ("<think>a< \\ think>b", "a", "b"),
        ("a<\\thinking>b", "a", "b"),
        ("[THINK]a[\\THINK]b", "a", "b"),
        ("", "", ""),
        ("Here is my thought process:\n###STOP###\n\nHere is my response:\nMy order", "###STOP###", "My order"),
        ("Here's my thought process: a\nHere\u2019s my response: b <think>c</think>", "a\nc", "b"),
        ("Here's my thought process: I looked first.", "", "Here's my thought process: I looked first."),
        ("Here is my response: b", "", "Here is my response: b"),
        ("So: analysisAsks.assistantfinalMy order", "", "So: analysisAsks.assistantfinalMy order"),
        ("analysisThe user <think>asks</think>.assistantfinalMy order", "The user <think>asks</think>.", "My order"),
        ("analysis: the assistant is final", "", "analysis: the assistant is final"),
        ("<|think_start|>a<|think_end|>b", "a", "b"),
        ("<|begin_think|>a<|end_think|>b", "a", "b"),
        ("Hi<thought>a</thought>You", "a", "HiYou"),
        ("Hi<think>a ###STOP###", "a ###STOP###", "Hi"),
        ("Hi[THINK]a ###STOP###", "a ###STOP###", "Hi"),
        ("\u597d<thinking>a ###STOP###", "a ###STOP###", "\u597d"),
        ("<think>a</think>List<Thought> b;", "a", "List<Thought> b;"),
        ("A List<Thought>.</think>List<Thought> b;", "A List<Thought>.", "List<Thought> b;"),
        ("<think>A List<Thought>.</think>Set<Thought> b;", "A List<Thought>.", "Set<Thought> b;"),
        ("List<Thought> b; <thinking>a ###STOP###", "a ###STOP###", "List<Thought> b;"),
    ],
)
def test_thoughts_and_words(text: str, thoughts: str, said: str) -> None:
    assert tell_apart(text) == (thoughts, said)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("<think>", "</think>"),
        ("<THINK>", "</Think>"),
        ("<think >", "</think >"),
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<thoughts>", "</thoughts>"),
        ("<reasoning>", "</reasoning>"),
        ("<seed:think>", "</seed:think>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<longcat_think>", "</longcat_think>"),
        ("<think_6ee>", "</think_6ee>"),
        ("<think_never_used_51bce0c785ca2f68081bfa7d91973934>", "</think_never_used_51bce0c785ca2f68081bfa7d91973934>"),
        ("<think:6ee>", "</think:6ee>"),
        ("<ifm|think_fast>", "</ifm|think_fast>"),
        ('<think id="1" of = "a b">', "</think>"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        ("<|open|> think <|sep|>", "<|close|> think <|sep|><|open|>response<|sep|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|begin_of_think|>", "<|end_of_think|>"),
        ("<start_of_thought>", "<end_of_thought>"),
        ("<|think_begin|>", "<|think_end|>"),
        ("<think_start>", "<think_end>"),
        ("[REASONING]", "[/REASONING]"),
        ("[|thinking_start|]", "[|thinking_end|]"),
        ("[begin_of_reasoning]", "[end_of_reasoning]"),
        ("<|begin_of_reasoning|>", "<|end_of_reasoning|>"),
        ("<|reasoning_start|>", "<|reasoning_end|>"),
        ("<start_reasoning>", "<end_reasoning>"),
        ("<start_working_out>", "<end_working_out>"),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
        ("<|begin_of_thinking|>", "<|end_of_thinking|>"),
        ("<thought_process>", "</thought_process>"),
        ("<thinking_process>", "</thinking_process>"),
        ("<thinking-process>", "</ thinking-process>"),
        ("<cot>", "</cot>"),
        ("<CoT>", "</CoT>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        ("<unused94>thought", "<unused95>"),
        ("<scratchpad>", "</scratchpad>"),
        ("<antThinking>", "</antThinking>"),
        ("<|channel>thought", "<channel|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
        ("<\uff5cthink\uff5c>", "<\uff5c/think\uff5c>"),
        ("<\uff5cbegin\u2581of\u2581thinking\uff5c>", "<\uff5cend\u2581of\u2581thinking\uff5c>"),
        ("<think>", "<\\think>"),
    ],
)
def test_all_marks_are_known(begin: str, end: str) -> None:
    assert tell_apart(f"{begin}a [[YES]]{end}My order") == ("a [[YES]]", "My order")
    assert tell_apart(f"a [[YES]]{end}My order") == ("a [[YES]]", "My order"), "the prompt has begun it"
    assert tell_apart(f"My order {begin}a [[YES]]") == ("a [[YES]]", "My order"), "it was cut"


@pytest.mark.parametrize(
    ("begin", "end", "last"),
    [
        ("<|begin_of_thought|>", "<|end_of_thought|>\n\n<|begin_of_solution|>\n", "\n<|end_of_solution|>"),
        (
            "<|open|>think<|sep|>",
            "<|close|>think<|sep|><|open|>response<|sep|>",
            "<|close|>response<|sep|><|close|>message<|sep|>",
        ),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"),
        (
            "<|start|>assistant<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant<|channel|>final<|message|>",
            "<|return|>",
        ),
    ],
)
def test_marks_around_words_are_left_out(begin: str, end: str, last: str) -> None:
    text = f"{begin}a{end}My order{last}"
    assert tell_apart(text) == ("a", "My order") and last_words(text) == "My order"


@pytest.mark.parametrize(
    "text",
    [
        "1 < thinking > 2", "I think <b>so</b>.", "[thinker]", "<thinker>", "<|end|>Hi.", "<no_think>",
        "<reasoning_effort>low</reasoning_effort>", "<think you so>", "<cotton>", "<apricot>",
        "Use `<think>` tags for it. Then stop.", "Between `<think>` and `</think>`.", "`[THINK]`", "`<|begin_of_thought|>`",
        "<|begin_of_solution|>Hi.<|end_of_solution|>",
        "List<Thought> thoughts = new ArrayList<>();", "Array<Reasoning>", "const [a, b] = useState<Thought>()",
        "std::vector<cot> v;", "dict[THINKING]", "`List<Thought>`", "Map<Thoughts>, Map<THOUGHT>", "f_<Thinking>(1)",
        'Use "<think>" to begin.', "Between '<think>' and '</think>'.",
        "Use \u201c<think>\u201d, \u2018</think>\u2019.",
        '["<think>","</think>"]', 'tag="<think>"', "\u201e<think>\u201c, \xab[THINK]\xbb", "\uff5c \u2581 a_b|c",
    ],
)  # fmt: skip
def test_other_marks_are_words(text: str) -> None:
    assert tell_apart(text) == ("", text)


@pytest.mark.parametrize(
    ("text", "thoughts", "words"),
    [
        ("<analysis>a\n[[YES]]</analysis>\nMy order", "a\n[[YES]]", "My order"),
        (" <Rationale> a </Rationale> My <b>order</b>", "a", "My <b>order</b>"),
        ("<reflection>a</reflection>My order", "a", "My order"),
        ("<self_critique>a < b</self_critique>My order", "a < b", "My order"),
        ("<analysis>a</analysis><reflection>b</reflection>\nMy order", "a\n\nb", "My order"),
        ("<thinking>a</thinking><reflection>b</reflection>My order", "a\nb", "My order"),
        ("a</think><reflection>b</reflection>My order", "a\nb", "My order"),
        ("<analysis>a <think>b</think> c</analysis>My order", "a <think>b</think> c", "My order"),
        ("<analysis>a</analysis>My<think>b</think> order", "a\nb", "My order"),
        ("<thinking>a <reflection>b</reflection> c</thinking>My order", "a <reflection>b</reflection> c", "My order"),
    ],
)
def test_elements_before_all_words_are_thoughts(text: str, thoughts: str, words: str) -> None:
    assert tell_apart(text) == (thoughts, words) and has_mark(text)


@pytest.mark.parametrize(
    "text",
    [
        "<analysis>a</analysis>",
        "<analysis>a</analysis>\n<reflection>b</reflection>\n",
        "<report><analysis>a</analysis>b</report>",
        '<?xml version="1.0"?><analysis>a</analysis><b/>',
        "My order: <analysis>a</analysis> b",
        "<analysis>a, never closed",
        "<analysis>a</reflection>My order",
        "<analysis><analysis>a</analysis></analysis>My order",
        '<analysis id="1">a</analysis>b',
        "<sentiment_analysis>a</sentiment_analysis>b",
        "`<analysis>`a</analysis>b",
    ],
)
def test_elements_of_data_are_words(text: str) -> None:
    assert tell_apart(text) == ("", text) and last_words(text) == text and not has_mark(text)


def test_an_element_before_a_call_is_a_thought() -> None:
    call = ToolCall("find", "{}", "c1")
    told = with_thoughts_apart(Message("assistant", "<analysis>I look.</analysis>", tool_calls=(call,)))
    assert (told.content, told.reasoning, told.tool_calls) == ("", "I look.", (call,))


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("[[NO]]", "[[NO]]"),
        ("<analysis>[[YES]]</analysis>[[NO]]", "[[NO]]"),
        ("[[YES]]\n<think>wait, no</think>\n[[NO]]", "[[NO]]"),
        ("[[YES]] <think>sure</think>  ", "[[YES]]"),
        ("[[YES]] <think>sure", "[[YES]]"),
        ("[[YES]]</think>[[NO]]", "[[NO]]"),
        ("<think>[[YES]]", ""),
        ("[[YES]]<think>sure</think>\u200b", "[[YES]]"),
    ],
)
def test_the_last_words_are_those_after_the_last_thought(text: str, last: str) -> None:
    assert last_words(text) == last


def test_thoughts_join_those_that_an_engine_has_found() -> None:
    told = with_thoughts_apart(Message("assistant", "<think>b</think>Hi.", reasoning="a"))
    assert (told.content, told.reasoning) == ("Hi.", "a\nb")
    twice = with_thoughts_apart(Message("assistant", "<think>\na\n</think>Hi.", reasoning="a"))
    assert (twice.content, twice.reasoning) == ("Hi.", "a")
    plain = Message("assistant", "Hi.")
    assert with_thoughts_apart(plain) is plain


@pytest.mark.usefixtures("own_garbage")
@pytest.mark.clock
@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 100_000,
        "</think>" * 100_000,
        "<think>a</think>" * 50_000,
        "<think>" * 50_000 + "</think>" * 50_000,
        "".join(f"<a{number}:think></a{number}:think>" for number in range(20_000)),
        "<" * 500_000,
        "<a" * 200_000,
        "<|" * 200_000,
        "<think " * 100_000,
        "a<thought>" * 50_000 + "</think>",
        "a<thought>" * 50_000 + "</thought>" * 50_000,
        "<think " + " " * 500_000,
        "<think a=" * 100_000,
        "<|open|>" * 100_000 + " " * 100_000,
        "<think>" * 50_000 + "</thinking>" * 50_000,
        "`<think>`" * 50_000,
        ' "<think>" ' * 50_000,
        "<\uff5cthink\uff5c>" * 50_000,
        "<\\" * 200_000,
        "<\\think>" * 50_000,
        "</ " * 200_000,
        "</" + " " * 500_000,
        "</ think" * 100_000,
        "<|begin_of_thought|>" * 50_000 + "<|end_of_solution|>" * 50_000,
        "<|channel|>analysis<|end|><|start|>assistant" * 20_000,
        "<|channel|>commentary<|message|>a<|end|><|start|>assistant" * 20_000,
        "<|channel|>analysis<|message|>a" * 20_000 + "<|channel|>commentary to=" * 20_000,
        "".join(f"<a{number}:think></b{number}:think>" for number in range(20_000)),
        "<analysis>" * 100_000,
        "<analysis>" + "<" * 500_000,
        "<analysis>a</analysis>" * 50_000,
        "<think></think><analysis>a</analysis>" * 30_000,
        "<analysis>a</analysis>" + "<think></think>" * 50_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    tell_apart(text)
    assert time.process_time() - began < slowness()


ANALYSIS = "<|channel|>analysis<|message|>I think.<|end|><|start|>assistant"
PREAMBLE = "<|channel|>commentary<|message|>I look it up.<|end|><|start|>assistant"
FINAL = "<|channel|>final<|message|>It is 5.<|return|>"
CALL = '<|channel|>commentary to=functions.find <|constrain|>json<|message|>{"a": 1}<|call|>'
CALL_BY_ROLE = ' to=functions.find<|channel|>commentary json<|message|>{"a": 1}<|call|>'


@pytest.mark.parametrize(
    ("text", "thoughts", "words"),
    [
        (ANALYSIS + PREAMBLE + FINAL, "I think.", "I look it up.\nIt is 5."),
        (PREAMBLE + FINAL, "", "I look it up.\nIt is 5."),
        (PREAMBLE, "", "I look it up."),
        (ANALYSIS + PREAMBLE.removesuffix("<|start|>assistant"), "I think.", "I look it up."),
        (PREAMBLE + ANALYSIS + FINAL, "I think.", "I look it up.\nIt is 5."),
        (ANALYSIS + PREAMBLE + ANALYSIS + FINAL, "I think.\nI think.", "I look it up.\nIt is 5."),
        (PREAMBLE + PREAMBLE, "", "I look it up.\nI look it up."),
        (ANALYSIS + PREAMBLE + CALL, "I think.", f"I look it up.\n{CALL}"),
        (ANALYSIS + CALL, "I think.", CALL),
        (ANALYSIS + CALL_BY_ROLE, "I think.", f"<|start|>assistant{CALL_BY_ROLE}"),
        (ANALYSIS + PREAMBLE + CALL_BY_ROLE, "I think.", f"I look it up.\n<|start|>assistant{CALL_BY_ROLE}"),
        (CALL, "", CALL),
    ],
)
def test_commentary_of_harmony_is_words_to_the_user(text: str, thoughts: str, words: str) -> None:
    """vLLM's parser takes commentary without a recipient for content, before that of the final channel."""
    assert tell_apart(text) == (thoughts, words)


def test_two_thoughts_before_commentary_do_not_swallow_it() -> None:
    thoughts, words = tell_apart(ANALYSIS + ANALYSIS + PREAMBLE + ANALYSIS + FINAL)
    assert words == "I look it up.\nIt is 5." and "look" not in thoughts


def test_commentary_is_no_final_answer() -> None:
    assert last_words(ANALYSIS + PREAMBLE + FINAL) == last_words(PREAMBLE + FINAL) == "It is 5."
