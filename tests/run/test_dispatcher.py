"""Every episode is accepted exactly once, whatever dies and whatever the dead still deliver."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.history import FencedFile, JournaledEpisode
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.driver.suspects import SUSPECT_AFTER, SuspectSessions
from ray_gym.run.lease import EpisodeKey, LeaseGroup


def specs(count: int, size: int = 1) -> list[EpisodeSpec]:
    return [EpisodeSpec(f"e{n}", f"g{n // size}", "t", n % size, 0, "{}") for n in range(count)]


def keys(groups: list[LeaseGroup]) -> list[EpisodeKey]:
    return [lease.key for group in groups for lease in group]


def ids(groups: list[LeaseGroup]) -> list[str]:
    return [key.episode_id for key in keys(groups)]


def one_came_through(count: int, size: int = 1) -> Dispatcher:
    """Makes a dispatcher of `count` episodes after one that is accepted, so that suspects are played last."""
    dispatcher = Dispatcher.of([EpisodeSpec("first", "first", "t", 0, 0, "{}"), *specs(count, size)])
    assert dispatcher.accept("a", keys(dispatcher.lease("a", 1)))
    return dispatcher


def journal_with(**episodes: JournaledEpisode) -> FencedFile:
    return FencedFile("1-0.99.fenced", episodes)


def test_a_worker_gets_no_more_than_it_has_room_for() -> None:
    dispatcher = Dispatcher.of(specs(10))
    first = dispatcher.lease("a", 4)
    assert ids(first) == ["e0", "e1", "e2", "e3"]
    assert dispatcher.lease("a", 4) == [] and dispatcher.lease("a", 3) == []
    assert (
        dispatcher.mark_over("a", keys(first[:2])) == keys(first[:2])
        and dispatcher.mark_over("a", keys(first[:2])) == []
    )
    assert ids(dispatcher.lease("a", 4)) == ["e4", "e5"], "what is over takes no room"
    assert dispatcher.in_flight == 4


def test_a_group_goes_to_one_worker_whole() -> None:
    dispatcher = Dispatcher.of(specs(9, size=3))
    assert ids(dispatcher.lease("a", 4)) == ["e0", "e1", "e2", "e3", "e4", "e5"]
    assert ids(dispatcher.lease("b", 1)) == ["e6", "e7", "e8"]


def test_a_file_is_accepted_whole_or_refused_whole() -> None:
    dispatcher = Dispatcher.of(specs(3))
    leased = keys(dispatcher.lease("a", 3))
    assert not dispatcher.accept("a", [leased[0], EpisodeKey("e1", 1)]), "an attempt that nobody leased"
    assert not dispatcher.accept("a", [leased[0], EpisodeKey("e9", 0)]), "an episode that nobody leased"
    assert not dispatcher.accept("a", [leased[0], leased[0]]), "the same row twice"
    assert not dispatcher.accept("b", leased[:1]), "a worker that holds nothing"
    assert dispatcher.accepted == 0
    assert dispatcher.accept("a", leased[:2]) and not dispatcher.accept("a", leased[1:])
    assert dispatcher.accepted == 2 and not dispatcher.done
    assert dispatcher.accept("a", leased[2:]) and dispatcher.done


def test_what_a_lost_worker_held_comes_next_as_a_new_attempt_from_its_journal() -> None:
    dispatcher = Dispatcher.of(specs(4))
    dispatcher.mark_over("a", keys(dispatcher.lease("a", 3))[:1])
    journal = journal_with(e0=JournaledEpisode(0, calls=3, over=True), e1=JournaledEpisode(0, calls=1))
    assert dispatcher.lose("a", journal) == dispatcher.lose("a") == [] and not dispatcher.holds("a")
    again = [lease for group in dispatcher.lease("b", 9) for lease in group]
    assert [lease.key for lease in again] == [EpisodeKey(f"e{n}", attempt) for n, attempt in enumerate((1, 1, 1, 0))]
    assert [lease.adopted for lease in again] == [(journal.name,), (journal.name,), (), ()], "e2 was not begun"


def test_adopted_files_add_up() -> None:
    dispatcher = Dispatcher.of(specs(1))
    for attempt in range(2):
        dispatcher.lease("a", 1)
        dispatcher.lose("a", FencedFile(f"1-{attempt}.9.fenced", {"e0": JournaledEpisode(attempt, calls=1)}))
    assert dispatcher.lease("b", 1)[0][0].adopted == ("1-0.9.fenced", "1-1.9.fenced")


def test_who_never_gets_further_is_played_last_and_alone_and_then_charged() -> None:
    dispatcher = one_came_through(3)
    for attempt in range(SUSPECT_AFTER):
        assert "e0" in ids(dispatcher.lease("a", 3))
        dispatcher.lose(
            "a",
            journal_with(
                e0=JournaledEpisode(attempt),
                e1=JournaledEpisode(attempt, calls=1),
                e2=JournaledEpisode(attempt, over=True),
            ),
        )
    others = dispatcher.lease("a", 3)
    assert ids(others) == ["e1", "e2"] and dispatcher.lease("a", 3) == []
    assert dispatcher.accept("a", keys(others)) and not dispatcher.done
    [[alone]] = dispatcher.lease("a", 3)
    assert alone.spec.episode_id == "e0" and alone.alone and alone.charged is None
    charges = dispatcher.lose("a", journal_with(e0=JournaledEpisode(alone.spec.attempt)), "out of memory")
    [[charged]] = dispatcher.lease("a", 3)
    assert charged.charged is not None and "out of memory" in charged.charged and "isolated=True" in charged.charged
    assert charges == [charged] and dispatcher.lose("a") == [], "it is charged once"


def test_who_is_over_once_more_before_each_loss_gets_no_further() -> None:
    """Signals have their effect late: the replay of the episode that sends one to its process may be over before."""
    dispatcher = one_came_through(2)
    for attempt in range(SUSPECT_AFTER + 1):
        assert ids(dispatcher.lease("a", 2)) == ["e0", "e1"]
        calls = 0 if attempt else 5
        journal = journal_with(**{e: JournaledEpisode(attempt, calls=calls, over=True) for e in ("e0", "e1")})
        assert dispatcher.shows_progress(journal) is (attempt == 0)
        dispatcher.lose("a", journal, "SIGTERM")
    fine = dispatcher.lease("a", 2)
    assert ids(fine) == ["e0"] and dispatcher.plays_alone("a") and dispatcher.accept("a", keys(fine))
    assert ids(dispatcher.lease("a", 2)) == ["e1"]
    [lease] = dispatcher.lose("a", journal_with(e1=JournaledEpisode(SUSPECT_AFTER + 1, over=True)), "SIGTERM.")
    assert lease.charged is not None and "it was the only episode there: SIGTERM. Its code" in lease.charged


def test_those_that_were_begun_first_are_played_first_after_charges() -> None:
    """Else the first would be played last, and it would be late that it is known what becomes of them."""
    dispatcher = Dispatcher.of(specs(8))
    for worker, first in (("a", 0), ("b", 3)):
        assert ids(dispatcher.lease(worker, 3)) == [f"e{n}" for n in range(first, first + 3)]
    for worker, first in (("a", 0), ("b", 3)):
        dispatcher.lose(worker, journal_with(**{f"e{first + 1}": JournaledEpisode(0, charged="it blocked")}))
    leased = [dispatcher.lease(worker, 3) for worker in "cdefghij"]
    assert [ids(groups) for groups in leased] == [[f"e{n}"] for n in range(8)]


def lost_until_suspects(dispatcher: Dispatcher, room: int) -> None:
    for attempt in range(SUSPECT_AFTER):
        leased = ids(dispatcher.lease("a", room))
        dispatcher.lose("a", journal_with(**{episode: JournaledEpisode(attempt) for episode in leased}))


def test_suspects_are_tried_before_others_are_begun_until_one_comes_through() -> None:
    dispatcher = Dispatcher.of(specs(8))
    lost_until_suspects(dispatcher, 4)
    tried = []
    for worker in "abc":
        tried += ids(dispatcher.lease(worker, 4))
        assert dispatcher.plays_alone(worker)
        assert len(dispatcher.lose(worker, reason="exit code 3")) == 1
        charged = dispatcher.lease(worker, 4)
        assert ids(charged) == tried[-1:], "its row is committed before the next is tried"
        assert dispatcher.accept(worker, keys(charged))
    assert tried == ["e0", "e3", "e1"], "from both ends"
    fine = dispatcher.lease("d", 4)
    assert ids(fine) == ["e2"] and ids(dispatcher.lease("e", 4)) == ["e4", "e5", "e6", "e7"], "one at a time"
    assert dispatcher.accept("d", keys(fine))


def test_suspects_are_played_last_once_one_has_come_through() -> None:
    dispatcher = Dispatcher.of(specs(4))
    lost_until_suspects(dispatcher, 2)
    fine = dispatcher.lease("a", 2)
    assert ids(fine) == ["e0"] and dispatcher.accept("a", keys(fine))
    assert ids(dispatcher.lease("a", 2)) == ["e2", "e3"]


def test_whose_code_held_the_interpreters_lock_is_a_suspect_at_once() -> None:
    dispatcher = one_came_through(3)
    dispatcher.lease("a", 3)
    begun = journal_with(e0=JournaledEpisode(0, calls=3), e1=JournaledEpisode(0, calls=3, over=True))
    assert dispatcher.lose("a", begun, "it did not answer", is_placed=True) == []
    others = dispatcher.lease("a", 3)
    assert ids(others) == ["e1", "e2"] and dispatcher.accept("a", keys(others))
    assert ids(dispatcher.lease("a", 3)) == ["e0"] and dispatcher.plays_alone("a")
    [lease] = dispatcher.lose("a", journal_with(e0=JournaledEpisode(1, calls=1)), "it did not answer", is_placed=True)
    assert lease.charged == "its worker died while it was the only episode there: it did not answer"


def test_one_group_at_a_time_is_played_from_a_charge_until_one_comes_through() -> None:
    """Others are lost with the worker that an episode blocks, so that none comes through beside it."""
    dispatcher = Dispatcher.of(specs(8, size=2))
    dispatcher.lease("a", 4)
    assert not dispatcher.is_probing
    [charged] = dispatcher.lose("a", journal_with(e0=JournaledEpisode(0, charged="it blocked"), e2=JournaledEpisode(0)))
    assert charged.spec.episode_id == "e0" and dispatcher.is_probing
    probe = dispatcher.lease("a", 4)
    assert ids(probe) == ["e0", "e1"], "one of two does not show what becomes of the other"
    assert dispatcher.lease("a", 4) == []
    assert ids(dispatcher.lease("b", 4)) == ["e2", "e3"]
    dispatcher.mark_over("a", keys(probe))
    assert ids(dispatcher.lease("a", 4)) == ["e4", "e5"] and dispatcher.is_probing
    assert dispatcher.accept("a", keys(probe)) and not dispatcher.is_probing
    assert ids(dispatcher.lease("a", 4)) == ["e6", "e7"]


def test_a_group_of_which_enough_samples_are_charged_is_played_last_while_others_are_tried() -> None:
    dispatcher = Dispatcher.of(specs(8, size=4))
    for attempt, sample in enumerate(("e0", "e1", "e2")):
        assert ids(dispatcher.lease("a", 4)) == ["e0", "e1", "e2", "e3"]
        dispatcher.lose("a", journal_with(**{sample: JournaledEpisode(attempt, charged="it blocked")}))
    assert ids(dispatcher.lease("a", 4)) == ["e4", "e5", "e6", "e7"] and dispatcher.is_probing


def test_who_gets_further_alone_is_no_suspect_any_more() -> None:
    dispatcher = Dispatcher.of(specs(1))
    for attempt in range(SUSPECT_AFTER):
        dispatcher.lease("a", 1)
        dispatcher.lose("a", journal_with(e0=JournaledEpisode(attempt)))
    [[alone]] = dispatcher.lease("a", 1)
    assert alone.alone
    dispatcher.lose("a", journal_with(e0=JournaledEpisode(3, calls=1)))
    [[again]] = dispatcher.lease("a", 1)
    assert not again.alone and again.charged is None


def test_a_group_whose_scoring_kills_workers_is_charged() -> None:
    """All are over every time, which is not getting further: the workers would die for ever."""

    def scored(attempt: int) -> FencedFile:
        return journal_with(
            e0=JournaledEpisode(attempt, over=True, scoring=True), e1=JournaledEpisode(attempt, over=True, scoring=True)
        )

    dispatcher = one_came_through(4, size=2)
    for attempt in range(SUSPECT_AFTER):
        leased = keys(dispatcher.lease("a", 2))
        assert [key.episode_id for key in leased] == ["e0", "e1"]
        dispatcher.mark_over("a", leased[:1])
        dispatcher.lose("a", scored(attempt))
    others = dispatcher.lease("a", 2)
    assert ids(others) == ["e2", "e3"] and dispatcher.accept("a", keys(others))
    [alone] = dispatcher.lease("a", 2)
    assert [lease.alone for lease in alone] == [True, True]
    dispatcher.lose("a", scored(SUSPECT_AFTER), "exit code 3")
    [charged] = dispatcher.lease("a", 2)
    assert all(lease.charged is not None and "exit code 3" in lease.charged for lease in charged)


def test_who_was_over_is_not_charged_with_another_of_its_group() -> None:
    dispatcher = Dispatcher.of(specs(2, size=2))
    for attempt in range(SUSPECT_AFTER + 1):
        dispatcher.lease("a", 2)
        dispatcher.lose(
            "a", journal_with(e0=JournaledEpisode(attempt, over=True), e1=JournaledEpisode(attempt)), "exit code 3"
        )
    [[fine, charged]] = dispatcher.lease("a", 2)
    assert fine.charged is None and charged.charged is not None
    dispatcher.lose("a", journal_with(e0=JournaledEpisode(4, over=True)))
    [[_, still_charged]] = dispatcher.lease("a", 2)
    assert still_charged.charged == charged.charged


def test_who_was_over_before_is_not_charged_while_it_is_resumed() -> None:
    """It is played again from its journal beside the one of its group that kills the worker."""
    dispatcher = Dispatcher.of(specs(2, size=2))
    dispatcher.lease("a", 2)
    dispatcher.lose("a", journal_with(e0=JournaledEpisode(0, calls=2, over=True), e1=JournaledEpisode(0)))
    for attempt in range(1, SUSPECT_AFTER + 1):
        assert all(lease.charged is None for lease in dispatcher.lease("a", 2)[0])
        dispatcher.lose("a", journal_with(e0=JournaledEpisode(attempt), e1=JournaledEpisode(attempt)), "exit code 3")
    [[fine, charged]] = dispatcher.lease("a", 2)
    assert fine.charged is None and charged.charged is not None and "exit code 3" in charged.charged
    dispatcher.lose("a", journal_with(e0=JournaledEpisode(SUSPECT_AFTER + 1)), "exit code 4")
    [[ends_it, _]] = dispatcher.lease("a", 2)
    assert ends_it.charged is not None and "exit code 4" in ends_it.charged, "there is nobody else that it could be"


def test_a_worker_holds_what_it_was_leased_and_is_not_accepted() -> None:
    dispatcher = Dispatcher.of(specs(3))
    leased = keys(dispatcher.lease("a", 2))
    dispatcher.accept("a", leased[:1])
    assert dispatcher.leases_of("a") == ["e1"] and dispatcher.leases_of("b") == []


def test_a_charge_in_the_journal_reaches_the_next_worker() -> None:
    dispatcher = Dispatcher.of(specs(2))
    dispatcher.lease("a", 2)
    dispatcher.lose(
        "a", journal_with(e0=JournaledEpisode(0, calls=2, charged="it blocked the loop"), e1=JournaledEpisode(0))
    )
    [[charged]], [[fine]] = dispatcher.lease("b", 2), dispatcher.lease("c", 2)
    assert (charged.charged, fine.charged) == ("it blocked the loop", None)


def test_a_worker_is_asked_for_its_rows_when_all_is_played() -> None:
    dispatcher = Dispatcher.of(specs(2))
    assert not dispatcher.all_over("a")
    leased = keys(dispatcher.lease("a", 2))
    dispatcher.mark_over("a", leased[:1])
    assert dispatcher.holds("a") and not dispatcher.all_over("a")
    dispatcher.mark_over("a", leased[1:])
    assert dispatcher.all_over("a") and dispatcher.in_flight == 0 and not dispatcher.done
    dispatcher.accept("a", leased)
    assert not dispatcher.holds("a") and not dispatcher.all_over("a") and dispatcher.done


EPISODES = [f"e{n}" for n in range(6)]
WORKERS = st.sampled_from(["a", "b", "c"])


class Dispatching(RuleBasedStateMachine):
    """Workers come, die and deliver in any order, also what they were leased before they died."""

    @initialize(count=st.integers(0, 6), size=st.integers(1, 3))
    def begin(self, count: int, size: int) -> None:
        self.count = count
        self.dispatcher = Dispatcher.of(specs(count, size))
        self.accepted: Counter[str] = Counter()
        self.newest: dict[str, tuple[str | None, int]] = {}  # episode -> who may deliver it, and which attempt
        self.ever: dict[str, list[EpisodeKey]] = {"a": [], "b": [], "c": []}

    @rule(worker=WORKERS, room=st.integers(0, 4))
    def lease(self, worker: str, room: int) -> None:
        for spec in (lease.spec for group in self.dispatcher.lease(worker, room) for lease in group):
            holder, attempt = self.newest.get(spec.episode_id, (None, -1))
            assert holder is None, "leased to one worker at a time"
            assert spec.attempt > attempt, "every lease is a new attempt"
            assert spec.episode_id not in self.accepted
            self.newest[spec.episode_id] = (worker, spec.attempt)
            self.ever[worker].append(EpisodeKey(spec.episode_id, spec.attempt))

    @rule(worker=WORKERS, data=st.data())
    def play(self, worker: str, data: st.DataObject) -> None:
        if self.ever[worker]:
            self.dispatcher.mark_over(worker, data.draw(st.lists(st.sampled_from(self.ever[worker]), max_size=3)))

    @rule(worker=WORKERS, data=st.data())
    def deliver(self, worker: str, data: st.DataObject) -> None:
        if not self.ever[worker]:
            return
        rows = data.draw(st.lists(st.sampled_from(self.ever[worker]), min_size=1, max_size=3))
        before = self.dispatcher.accepted
        wanted = len(set(rows)) == len(rows) and all(
            self.newest[row.episode_id] == (worker, row.attempt) and row.episode_id not in self.accepted for row in rows
        )
        assert self.dispatcher.accept(worker, rows) == wanted
        if wanted:
            self.accepted.update(row.episode_id for row in rows)
        assert self.dispatcher.accepted == before + (len(rows) if wanted else 0)

    @rule(worker=WORKERS, data=st.data())
    def lose_with_journal(self, worker: str, data: st.DataObject) -> None:
        found = {
            e: JournaledEpisode(0, calls=data.draw(st.integers(0, 1)))
            for e in data.draw(st.sets(st.sampled_from(EPISODES)))
        }
        self.lose(worker, journal_with(**found))

    def lose(self, worker: str, journal: FencedFile | None = None) -> None:
        held = [e for e, (holder, _) in self.newest.items() if holder == worker and e not in self.accepted]
        self.dispatcher.lose(worker, journal)
        for episode in held:
            self.newest[episode] = (None, self.newest[episode][1])

    @precondition(lambda self: hasattr(self, "dispatcher"))
    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        leased = [e for e, (holder, _) in self.newest.items() if holder is not None and e not in self.accepted]
        pending = ids([*self.dispatcher.pending, *self.dispatcher.suspects])
        assert sorted([*leased, *pending, *self.accepted]) == [f"e{n}" for n in range(self.count)]
        assert all(count == 1 for count in self.accepted.values())
        assert self.dispatcher.done == (len(self.accepted) == self.count)
        assert self.dispatcher.in_flight <= len(leased)

    def teardown(self) -> None:
        """Checks that one living worker can end the run, whatever happened before."""
        if hasattr(self, "dispatcher"):
            for worker in self.ever:
                self.lose(worker)
            while rest := keys(self.dispatcher.lease("d", 100)):
                assert self.dispatcher.accept("d", rest)
                self.accepted.update(row.episode_id for row in rest)
            assert self.dispatcher.done and self.accepted == Counter(f"e{n}" for n in range(self.count))


TestDispatching = Dispatching.TestCase
TestDispatching.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def sessions(count: int) -> Dispatcher:
    dispatcher = Dispatcher.of([])
    dispatcher.sessions = SuspectSessions()
    for spec in specs(count):
        dispatcher.add(spec)
    return dispatcher


def test_sessions_at_rest_go_on_however_often_their_workers_die() -> None:
    dispatcher = sessions(2)
    for attempt, worker in enumerate("abcdefgh"):
        leases = [lease for group in dispatcher.lease(worker, 10) for lease in group]
        assert [lease.spec.episode_id for lease in leases] == ["e0", "e1"]
        assert all(not lease.alone and not lease.suspect and lease.charged is None for lease in leases)
        dispatcher.lose(
            worker, journal_with(e0=JournaledEpisode(attempt), e1=JournaledEpisode(attempt)) if attempt % 2 else None
        )
    assert dispatcher.waiting == 2 and not dispatcher.suspects


def test_a_session_is_charged_whose_step_workers_died_of() -> None:
    dispatcher = sessions(2)
    for attempt in range(SUSPECT_AFTER):
        [[deadly], [fine]] = dispatcher.lease("a", 10)
        assert deadly.charged is None and fine.charged is None
        dispatcher.lose(
            "a", journal_with(e0=JournaledEpisode(attempt, trying={4}), e1=JournaledEpisode(attempt)), "exit code 3"
        )
    [[deadly], [fine]] = dispatcher.lease("a", 10)
    assert deadly.charged == "3 workers died in a row while its command 5 was carried out; the last: exit code 3"
    assert fine.charged is None and len(fine.adopted) == SUSPECT_AFTER
    dispatcher.lose("a", journal_with(e1=JournaledEpisode(SUSPECT_AFTER)))
    [[deadly], [fine]] = dispatcher.lease("b", 10)
    assert deadly.charged is not None, "its row was not committed yet"
    assert dispatcher.accept("b", [deadly.key]) and dispatcher.leases_of("b") == ["e1"]


def test_suspect_sessions_wait_for_no_worker_and_keep_none_from_others() -> None:
    dispatcher = sessions(3)
    for attempt in range(SUSPECT_AFTER):
        dispatcher.lease("a", 10)
        dispatcher.lose("a", journal_with(**{f"e{n}": JournaledEpisode(attempt, trying={0}) for n in range(2)}))
    dispatcher.add(EpisodeSpec("later", "later", "t", 0, 0, "{}"))
    leases = [lease for group in dispatcher.lease("a", 10) for lease in group]
    assert [lease.spec.episode_id for lease in leases] == ["e0", "e1", "e2", "later"]
    assert [lease.suspect for lease in leases] == [True, True, False, False]
    assert not any(lease.alone or lease.charged for lease in leases)
    dispatcher.lose(
        "a", journal_with(e0=JournaledEpisode(SUSPECT_AFTER), e1=JournaledEpisode(SUSPECT_AFTER, survived={0}))
    )
    assert [lease.suspect for [lease] in dispatcher.lease("a", 2)] == [True, False], "e0 was not carried on with yet"
