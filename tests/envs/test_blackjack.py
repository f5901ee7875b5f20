"""Checks hands of blackjack: the game alone, and played by text."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import generated, play_task, reward_of, says
from pydantic import ValidationError

import ray_gym.envs.blackjack
from ray_gym.data.checking import play_problems
from ray_gym.envs.blackjack import Blackjack
from ray_gym.envs.blackjack.cards import RANKS, is_natural, is_soft, show_hand, shuffle_deck, total_of
from ray_gym.envs.blackjack.environment import BlackjackTask, action_in
from ray_gym.envs.blackjack.foresight import best_plan
from ray_gym.envs.blackjack.game import BlackjackGame
from ray_gym.envs.blackjack.players import basic_player, random_player, should_hit

HIT, STAND = "<action>hit</action>", "<action>stand</action>"
SIXTEEN_AGAINST_TEN = ("10", "10", "6", "7", "5", "2")  # a hit makes 21; the dealer has 17


def task_of(*top: str, **fields: Any) -> BlackjackTask:
    return BlackjackTask.model_validate({"top": top, **fields})


def game_of(*top: str, max_mistakes: int = 3) -> BlackjackGame:
    return BlackjackGame(task_of(*top).deck(), max_mistakes)


# ---- cards ----


@pytest.mark.parametrize(
    ("hand", "total", "soft"),
    [
        ("10 6", 16, False),
        ("A 6", 17, True),
        ("A A", 12, True),
        ("A 6 10", 17, False),
        ("A A 9", 21, True),
        ("A A A A 7", 21, True),
        ("J Q K", 30, False),
        ("A K", 21, True),
        ("A 5 5", 21, True),
        ("A 5 6", 12, False),
    ],
)
def test_hands(hand: str, total: int, soft: bool) -> None:
    cards: Any = hand.split()
    assert (total_of(cards), is_soft(cards)) == (total, soft)
    assert show_hand(cards) == f"{hand} ({'soft ' if soft else ''}{total})"
    assert is_natural(cards) == (hand == "A K")


def test_a_deck_has_four_of_each_and_its_top_is_as_it_was_set() -> None:
    for seed, top in ((1, ()), (2, ("A", "A", "10")), (3, ("K",) * 4)):
        deck = shuffle_deck(seed, top)
        assert Counter(deck) == dict.fromkeys(RANKS, 4) and deck[: len(top)] == top
    assert shuffle_deck(1) == shuffle_deck(1) != shuffle_deck(2)


# ---- the game ----


def test_reset_deals_in_turns_and_hides_a_card() -> None:
    game = game_of("10", "9", "6", "7")
    observation, info = game.reset()
    assert observation.startswith("Your hand: 10 6 (16). The dealer shows 9.") and "7" not in observation and info == {}
    assert (game.player, game.dealer) == (["10", "6"], ["9", "7"])
    game.step("hit")
    assert game.reset()[0] == observation, "the same deck again"


@pytest.mark.parametrize(
    ("top", "actions", "reward", "last"),
    [
        ("10 10 6 7 5", "hit stand", 1, "You have 10 6 5 (21), the dealer has 10 7 (17): you win."),
        ("10 10 6 7", "stand", -1, "You have 10 6 (16), the dealer has 10 7 (17): you lose."),
        ("10 10 6 7 8", "hit", -1, "You drew 8. You have 10 6 8 (24), over 21: you lose."),
        ("10 10 7 7", "stand", 0, "You have 10 7 (17), the dealer has 10 7 (17): a draw."),
        ("10 10 2 6 K", "stand", 1, "You have 10 2 (12), the dealer has 10 6 K (26): you win."),
        ("10 A 8 6", "stand", 1, "You have 10 8 (18), the dealer has A 6 (soft 17): you win."),
        ("10 A 9 5 3", "stand", 0, "You have 10 9 (19), the dealer has A 5 3 (soft 19): a draw."),
        ("A 10 K A", "stand", 0, "You have A K (soft 21), the dealer has 10 A (soft 21): a draw."),
        ("A 5 K 6 10", "stand", 1, "You have A K (soft 21), the dealer has 5 6 10 (21): you win."),
        ("5 A 6 K 10", "hit stand", -1, "You have 5 6 10 (21), the dealer has A K (soft 21): you lose."),
        ("A 9 6 9 K 4", "hit hit stand", 1, "You have A 6 K 4 (21), the dealer has 9 9 (18): you win."),
    ],
)
def test_hands_are_played_by_the_rules(top: str, actions: str, reward: float, last: str) -> None:
    game = game_of(*top.split())
    steps = [game.step(action) for action in actions.split()]
    assert all(step[1:] == (0.0, False, False, {}) for step in steps[:-1])
    outcome = {1: "win", 0: "draw", -1: "loss"}[int(reward)]
    assert steps[-1] == (last, reward, True, False, {"outcome": outcome})
    with pytest.raises(ValueError, match="the game is over"):
        game.step("stand")


def test_mistakes_are_told_and_truncate_the_game() -> None:
    game = game_of(*SIXTEEN_AGAINST_TEN)
    first, second, third = game.step("double"), game.step(None), game.step("")
    assert first[0].startswith("That is no action (2 more such answers lose the game). Your hand: 10 6 (16).")
    assert second[0].startswith("That is no action (one more such answer loses the game).")
    assert first[0].endswith("Answer with <action>hit</action> or <action>stand</action>.")
    assert first[1:] == second[1:] == (0.0, False, False, {})
    assert third[1:] == (-1.0, False, True, {"outcome": "too many mistakes"})
    assert game_of(max_mistakes=1).step(None)[3]


def rewards_of_all_plays(top: tuple[str, ...], seed: int) -> dict[tuple[str, ...], float]:
    """Returns the reward of every sequence of actions that ends a game, by trying them all."""
    rewards: dict[tuple[str, ...], float] = {}

    def go_on(actions: tuple[str, ...]) -> None:
        for action in ("hit", "stand"):
            game = BlackjackGame(task_of(*top, seed=seed).deck())
            steps = [game.step(one) for one in (*actions, action)]
            if steps[-1][2]:
                rewards[(*actions, action)] = sum(step[1] for step in steps)
            else:
                go_on((*actions, action))

    go_on(())
    return rewards


def test_the_best_plan_is_the_best_of_all_plays() -> None:
    found = Counter()
    for seed in range(300):
        rewards = rewards_of_all_plays((), seed)
        reward, plan = best_plan(shuffle_deck(seed))
        assert rewards[plan] == reward == max(rewards.values())
        assert len(plan) == min(len(one) for one, worth in rewards.items() if worth == reward)
        found[reward] += 1
    assert set(found) == {-1, 0, 1} and found[1] > 180


# ---- played by text ----


async def test_a_perfect_player_wins_every_generated_deal() -> None:
    environment = Blackjack()
    longest = 0
    for index in range(200):
        task = generated(environment, index)
        assert max(rewards_of_all_plays(task.top, task.seed).values()) == 1
        played = await play_task(environment, task, seed=index)
        assert reward_of(played) == 1
        longest = max(longest, played.episode.turns_of("policy"))
    assert longest > 2, "some deals take more than one hit"


@pytest.mark.parametrize(
    ("top", "said", "reward", "stop"),
    [
        (SIXTEEN_AGAINST_TEN, [HIT, STAND], 1, "win"),
        (SIXTEEN_AGAINST_TEN, [STAND], -1, "loss"),
        (SIXTEEN_AGAINST_TEN, [HIT, HIT], -1, "loss"),
        (("10", "10", "7", "7"), [STAND], 0, "draw"),
        (SIXTEEN_AGAINST_TEN, ["Hit me!", "<action> HIT </action>", f"Not {HIT}, but {STAND}"], 1, "win"),
        (SIXTEEN_AGAINST_TEN, ["stand", "<action>stand", "<action></action>"], -1, "too many mistakes"),
        (SIXTEEN_AGAINST_TEN, ["", HIT, "<action>double</action>", "I stand."], -1, "too many mistakes"),
        (SIXTEEN_AGAINST_TEN, ["<ACTION>hit</ACTION>", "hm", STAND], 1, "win"),
        (SIXTEEN_AGAINST_TEN, ["<action>hit or stand</action>", HIT, STAND], 1, "win"),
    ],
)
async def test_what_the_policy_says_is_played(top: tuple[str, ...], said: list[str], reward: float, stop: str) -> None:
    played = await play_task(Blackjack(), task_of(*top), {"policy": says(*said)})
    assert reward_of(played) == reward
    assert played.episode.stop is not None
    assert (played.episode.stop.reason.value, played.episode.stop.text) == ("finished", stop)
    assert played.episode.usage.model_calls == len(said)
    told = [message for message in played.episode.threads["policy"].messages if message.role == "user"]
    assert len(told) == 1 + len(said), "the deal, and an observation for each answer"


async def test_a_game_that_a_limit_ends_is_lost() -> None:
    task = task_of("2", "10", "3", "7", "2", "2")
    played = await play_task(Blackjack(), task, {"policy": says(HIT)}, limits={"max_turns": 2})
    assert reward_of(played) == -1 and played.episode.stop is not None
    assert played.episode.stop.reason.value == "max_turns"


async def test_the_number_of_mistakes_is_an_option() -> None:
    patient = Blackjack(Blackjack.Options(max_mistakes=5))
    played = await play_task(patient, task_of(*SIXTEEN_AGAINST_TEN), {"policy": says(*["?"] * 4, HIT, STAND)})
    assert reward_of(played) == 1


async def test_the_hidden_card_is_not_told_before_the_end() -> None:
    played = await play_task(Blackjack(), task_of("2", "10", "3", "Q", "4"), {"policy": says(HIT, "?", STAND)})
    *before, last = [message.content for message in played.episode.threads["policy"].messages if message.role == "user"]
    assert not any("Q" in text for text in before) and "10 Q (20)" in last


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (HIT, "hit"),
        ("<action>\n Stand\n</action> yes", "stand"),
        ("<ACTION>HIT</Action>", "hit"),
        ("hit", None),
        ("<action>hit", None),
        (f"{HIT}{STAND}", "stand"),
    ],
)
def test_the_action_stands_between_the_last_tags(text: str, action: str | None) -> None:
    assert action_in(text) == action


async def test_basic_strategy_plays_better_than_chance() -> None:
    async def mean(player: Any) -> float:
        rewards = [
            reward_of(await play_task(Blackjack(), BlackjackTask(seed=seed), {"policy": player}, seed=seed))
            for seed in range(400)
        ]
        return sum(rewards) / len(rewards)

    assert await mean(basic_player) > -0.2 > await mean(random_player)


@pytest.mark.parametrize(
    ("total", "soft", "dealer", "hits"),
    [
        (11, False, 6, True), (12, False, 3, True), (12, False, 4, False), (16, False, 6, False), (16, False, 7, True),
        (17, False, 1, False), (17, True, 6, True), (18, True, 8, False), (18, True, 9, True), (18, True, 1, True),
        (19, True, 10, False),
    ],
)  # fmt: skip
def test_basic_strategy(total: int, soft: bool, dealer: int, hits: bool) -> None:
    assert should_hit(total, soft, dealer) == hits


# ---- tasks ----


def test_generated_tasks_are_many_and_the_same_from_the_same_seed() -> None:
    environment = Blackjack()
    tasks = [generated(environment, index) for index in range(1000)]
    assert len({task.deck() for task in tasks}) >= 990
    assert tasks[:100] == [generated(environment, index) for index in range(100)]
    assert tasks[:100] != [generated(environment, index, seed=1) for index in range(100)]


async def test_the_seed_of_the_task_decides_the_cards() -> None:
    async def messages(task: BlackjackTask, seed: int) -> list[str]:
        played = await play_task(Blackjack(), task, {"policy": says(HIT, STAND)}, seed=seed)
        return [event.content for event in played.episode.events]

    assert await messages(BlackjackTask(seed=5), 1) == await messages(BlackjackTask(seed=5), 2)
    assert await messages(BlackjackTask(seed=5), 1) != await messages(BlackjackTask(seed=6), 1)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"top": ["A"] * 5}, "top: 'A' is there 5 times; a deck has 4 of each"),
        ({"top": ["1"]}, "Input should be 'A', '2'"),
        ({"top": list(itertools.chain(*[RANKS] * 4, ["A"]))}, "at most 52 items"),
        ({"seed": -1}, "greater than or equal to 0"),
        ({"seed": "x"}, "valid integer"),
        ({"deck": []}, "Extra inputs are not permitted"),
    ],
)
def test_bad_rows_are_refused(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        BlackjackTask.model_validate(row)


async def test_the_example_rows_are_played() -> None:
    rows = Path(ray_gym.envs.blackjack.__file__).with_name("example.jsonl").read_text().splitlines()
    tasks = [BlackjackTask.model_validate_json(row) for row in rows]
    assert len(tasks) == 5
    for task in tasks:
        assert reward_of(await play_task(Blackjack(), task)) == best_plan(task.deck())[0]


async def test_a_rows_prompt_comes_before_the_cards_and_a_rows_play_is_refused() -> None:
    prompt = task_of(*SIXTEEN_AGAINST_TEN, messages=[{"role": "user", "content": "Deal me in."}])
    played = await play_task(Blackjack(), prompt, {"policy": says(STAND)})
    told = [event.content for event in played.episode.events if event.kind == "opening"]
    assert told[0] == "Deal me in." and "10 6" in told[1] and len(told) == 2
    begun = [{"role": "user", "content": "You have 9 7."}, {"role": "assistant", "content": HIT}]
    [problem] = play_problems(task_of(*SIXTEEN_AGAINST_TEN, messages=begun), Blackjack())
    assert problem.startswith("messages: here they may be a prompt")
