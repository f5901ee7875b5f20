"""Checks which session is charged with the deaths of workers: one whose same step was carried out each time, and none
that was there by chance.
"""

from __future__ import annotations

from ray_gym.journal.history import JournaledEpisode
from ray_gym.journal.records import SETUP
from ray_gym.run.driver.suspects import SUSPECT_AFTER, SuspectSessions


def died(suspects: SuspectSessions, reason: str = "exit code 3", **sessions: JournaledEpisode) -> dict[str, str]:
    return suspects.count_deaths(sessions, reason)


def test_the_only_one_is_charged_after_a_few_deaths() -> None:
    suspects = SuspectSessions()
    for _ in range(SUSPECT_AFTER - 1):
        assert died(suspects, a=JournaledEpisode(0, trying={SETUP}), b=JournaledEpisode(0)) == {} and not suspects.has(
            "a"
        )
    assert died(suspects, "out of memory", a=JournaledEpisode(0, trying={SETUP}), b=JournaledEpisode(0)) == {
        "a": "3 workers died in a row while its setup was carried out; the last: out of memory"
    }
    assert not suspects.has("b")


def test_who_was_there_by_chance_is_not_charged() -> None:
    """Its long command is cut by the other's death every time: both are suspects, and tried one at a time."""
    suspects = SuspectSessions()
    for _ in range(SUSPECT_AFTER):
        assert died(suspects, deadly=JournaledEpisode(0, trying={2}), fine=JournaledEpisode(0, trying={0})) == {}
    assert suspects.has("deadly") and suspects.has("fine")
    assert list(died(suspects, deadly=JournaledEpisode(0, trying={2}), fine=JournaledEpisode(0))) == ["deadly"]
    assert suspects.has("fine"), "it has not been carried out yet"
    assert died(suspects, fine=JournaledEpisode(0, survived={0}), other=JournaledEpisode(0, trying={7})) == {}
    assert not suspects.has("fine") and not suspects.has("other")


def test_who_gets_through_begins_anew() -> None:
    suspects = SuspectSessions()
    for _ in range(SUSPECT_AFTER - 1):
        died(suspects, a=JournaledEpisode(0, trying={0}))
    assert died(suspects, a=JournaledEpisode(0, survived={0}, trying={1})) == {}, "another step"
    for _ in range(SUSPECT_AFTER - 2):
        assert died(suspects, a=JournaledEpisode(0, trying={1})) == {}
    assert list(died(suspects, a=JournaledEpisode(0, trying={1}))) == ["a"]


def test_other_commands_do_not_hide_the_one_that_workers_die_of() -> None:
    """A caller cannot keep a session alive that ends its workers by asking again and again, in new commands."""
    suspects = SuspectSessions()
    for attempt in range(SUSPECT_AFTER - 1):
        assert (
            died(suspects, a=JournaledEpisode(0, calls=2, trying={0, 2 * attempt + 1}, survived={2 * attempt + 2}))
            == {}
        )
    assert list(died(suspects, a=JournaledEpisode(0, calls=2, trying={0}))) == ["a"]


def test_where_others_are_always_busy_it_takes_as_long_again() -> None:
    suspects = SuspectSessions()
    for attempt in range(2 * SUSPECT_AFTER - 1):
        assert (
            died(
                suspects, deadly=JournaledEpisode(0, trying={0}), **{f"busy{attempt}": JournaledEpisode(0, trying={0})}
            )
            == {}
        )
    assert list(died(suspects, deadly=JournaledEpisode(0, trying={0}), busy=JournaledEpisode(0, trying={0}))) == [
        "deadly"
    ]


def test_a_suspect_is_not_charged_with_what_it_had_no_part_in() -> None:
    suspects = SuspectSessions()
    for _ in range(SUSPECT_AFTER):
        died(suspects, a=JournaledEpisode(0, trying={0}), b=JournaledEpisode(0, trying={0}))
    for _ in range(SUSPECT_AFTER):
        assert died(suspects, a=JournaledEpisode(0), other=JournaledEpisode(0)) == {}
    assert died(suspects, a=JournaledEpisode(0, trying={1})) == {}, "in another step"


def test_a_death_whose_cause_is_known_is_no_other_sessions() -> None:
    suspects = SuspectSessions()
    for _ in range(2 * SUSPECT_AFTER):
        blocks = JournaledEpisode(0, trying={0}, charged="it blocked the loop")
        assert died(suspects, blocks=blocks, fine=JournaledEpisode(0, trying={0})) == {}
    assert not suspects.has("fine")


def test_who_is_over_or_committed_is_forgotten() -> None:
    suspects = SuspectSessions()
    for _ in range(SUSPECT_AFTER):
        died(
            suspects,
            a=JournaledEpisode(0, trying={0}),
            b=JournaledEpisode(0, trying={0}),
            c=JournaledEpisode(0, trying={0}),
        )
    suspects.forget("a")
    died(suspects, b=JournaledEpisode(0, over=True))
    assert not suspects.has("a") and not suspects.has("b") and suspects.has("c")
