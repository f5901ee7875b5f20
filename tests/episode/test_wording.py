"""Checks that words are found in a text only where they stand by themselves."""

from __future__ import annotations

import pytest

from ray_gym.episode.wording import has_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("That was all. END", "END"),
        ("END", "END"),
        ("(END).", "END"),
        ("**END**", "END"),
        ("WEEKEND, then END", "END"),
        ("I am glad I could help!", "glad I could help"),
        ("Bye###STOP###now", "###STOP###"),
        ("ok<done>", "<done>"),
        ("<done>ok", "<done>"),
        ("ok [DONE", "[DONE"),
        ("a.*b", ".*"),
        ("a line\nEND\nanother", "END"),
        ("Es ist groß", "groß"),
        ("对话结束了", "结束"),
        ("今日はここまでです", "ここまで"),
        ("任务完成TASK_DONE", "TASK_DONE"),
        ("完了DONE", "DONE"),
        ("DONE。谢谢DONE了", "DONE"),
        ("终了DONE吗", "DONE"),
        ("xa a a", "a a"),
    ],
)
def test_words_by_themselves_are_found(text: str, words: str) -> None:
    assert has_words(text, words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Have a good WEEKEND", "END"),
        ("ENDING", "END"),
        ("MY_END", "END"),
        ("END2", "END"),
        ("unresolved", "resolved"),
        ("[DONE]x", "x]"),
        ("[DONE", "[DONE]"),
        ("end", "END"),
        ("anything", ""),
        ("größer", "größe"),
    ],
)
def test_parts_of_longer_words_are_not(text: str, words: str) -> None:
    assert not has_words(text, words)


def test_case_may_be_ignored() -> None:
    assert has_words("GLAD I COULD HELP.", "Glad I could help", any_case=True)
    assert has_words("STRASSE", "straße", any_case=True)
    assert not has_words("UNRESOLVED", "resolved", any_case=True)
