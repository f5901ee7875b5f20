"""Every episode is accepted exactly once, whatever dies and whatever the dead still deliver."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ray_gym.episode import EpisodeSpec
from ray_gym.run.dispatcher import Dispatcher, EpisodeKey


def specs(count: int) -> list[EpisodeSpec]:
    return [EpisodeSpec(f"e{n}", "g", "t", 0, 0, "{}") for n in range(count)]


def keys(leased: list[EpisodeSpec]) -> list[EpisodeKey]:
    return [EpisodeKey(spec.episode_id, spec.attempt) for spec in leased]


def test_a_worker_gets_no_more_than_it_has_room_for() -> None:
    dispatcher = Dispatcher.of(specs(10))
    first = dispatcher.lease("a", 4)
    assert [spec.episode_id for spec in first] == ["e0", "e1", "e2", "e3"]
    assert dispatcher.lease("a", 4) == [] and dispatcher.lease("a", 3) == []
    assert dispatcher.over("a", keys(first[:2])) == 2 and dispatcher.over("a", keys(first[:2])) == 0
    assert [spec.episode_id for spec in dispatcher.lease("a", 4)] == ["e4", "e5"], "what is over takes no room"
    assert dispatcher.in_flight == 4


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


def test_what_a_lost_worker_held_comes_next_as_a_new_attempt() -> None:
    dispatcher = Dispatcher.of(specs(4))
    dispatcher.over("a", keys(dispatcher.lease("a", 3))[:1])
    assert dispatcher.lost("a") == 3 and dispatcher.lost("a") == 0 and not dispatcher.holds("a")
    again = dispatcher.lease("b", 9)
    assert [(spec.episode_id, spec.attempt) for spec in again] == [("e0", 1), ("e1", 1), ("e2", 1), ("e3", 0)]


def test_a_worker_is_asked_for_its_rows_when_all_is_played() -> None:
    dispatcher = Dispatcher.of(specs(2))
    assert not dispatcher.all_over("a")
    leased = keys(dispatcher.lease("a", 2))
    dispatcher.over("a", leased[:1])
    assert dispatcher.holds("a") and not dispatcher.all_over("a")
    dispatcher.over("a", leased[1:])
    assert dispatcher.all_over("a") and dispatcher.in_flight == 0 and not dispatcher.done
    dispatcher.accept("a", leased)
    assert not dispatcher.holds("a") and not dispatcher.all_over("a") and dispatcher.done


WORKERS = st.sampled_from(["a", "b", "c"])


class Dispatching(RuleBasedStateMachine):
    """Workers come, die and deliver in any order, also what they were leased before they died."""

    @initialize(count=st.integers(0, 6))
    def begin(self, count: int) -> None:
        self.count = count
        self.dispatcher = Dispatcher.of(specs(count))
        self.accepted: Counter[str] = Counter()
        self.newest: dict[str, tuple[str | None, int]] = {}  # episode -> who may deliver it, and which attempt
        self.ever: dict[str, list[EpisodeKey]] = {"a": [], "b": [], "c": []}

    @rule(worker=WORKERS, room=st.integers(0, 4))
    def lease(self, worker: str, room: int) -> None:
        for spec in self.dispatcher.lease(worker, room):
            holder, attempt = self.newest.get(spec.episode_id, (None, -1))
            assert holder is None, "leased to one worker at a time"
            assert spec.attempt > attempt, "every lease is a new attempt"
            assert spec.episode_id not in self.accepted
            self.newest[spec.episode_id] = (worker, spec.attempt)
            self.ever[worker].append(EpisodeKey(spec.episode_id, spec.attempt))

    @rule(worker=WORKERS, data=st.data())
    def play(self, worker: str, data: st.DataObject) -> None:
        if self.ever[worker]:
            self.dispatcher.over(worker, data.draw(st.lists(st.sampled_from(self.ever[worker]), max_size=3)))

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

    @rule(worker=WORKERS)
    def lose(self, worker: str) -> None:
        held = [e for e, (holder, _) in self.newest.items() if holder == worker and e not in self.accepted]
        assert self.dispatcher.lost(worker) == len(held)
        for episode in held:
            self.newest[episode] = (None, self.newest[episode][1])

    @precondition(lambda self: hasattr(self, "dispatcher"))
    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        leased = [e for e, (holder, _) in self.newest.items() if holder is not None and e not in self.accepted]
        pending = [spec.episode_id for spec in self.dispatcher.pending]
        assert sorted([*leased, *pending, *self.accepted]) == [f"e{n}" for n in range(self.count)]
        assert all(count == 1 for count in self.accepted.values())
        assert self.dispatcher.done == (len(self.accepted) == self.count)
        assert self.dispatcher.in_flight <= len(leased)

    def teardown(self) -> None:
        """Whatever happened, one worker that lives can end the run."""
        if hasattr(self, "dispatcher"):
            for worker in self.ever:
                self.lose(worker)
            rest = keys(self.dispatcher.lease("d", 100))
            assert not rest or self.dispatcher.accept("d", rest)
            self.accepted.update(row.episode_id for row in rest)
            assert self.dispatcher.done and self.accepted == Counter(f"e{n}" for n in range(self.count))


TestDispatching = Dispatching.TestCase
TestDispatching.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
