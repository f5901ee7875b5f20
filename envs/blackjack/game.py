"""Plays one hand of blackjack with Gymnasium's interface, text in and out. It knows nothing of models and episodes.

game = BlackjackGame(shuffle_deck(seed=1))
observation, info = game.reset()
observation, reward, terminated, truncated, info = game.step("hit")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ray_gym.envs.blackjack.cards import TWENTY_ONE, Rank, is_natural, show_hand, total_of

WIN, DRAW, LOSS = 1.0, 0.0, -1.0
ACTIONS = ("hit", "stand")
DEALER_STANDS_AT = 17
EXPECTED = "Answer with <action>hit</action> or <action>stand</action>."

Step = tuple[str, float, bool, bool, dict[str, Any]]
"""Observation, reward, terminated, truncated and info of a step, as in Gymnasium."""


class BlackjackGame:
    """A game is one hand of blackjack. Two cards each are dealt in turns from the top of the deck, the player's first;
    the cards that are drawn follow.

    An action that is none of `ACTIONS` changes nothing but the count of mistakes. The mistake of number `max_mistakes`
    ends the game as truncated.
    """

    def __init__(self, deck: Sequence[Rank], max_mistakes: int = 3) -> None:
        self._deck = tuple(deck)
        self._max_mistakes = max_mistakes
        self.reset()

    def reset(self) -> tuple[str, dict[str, Any]]:
        """Deals the hand anew from the same deck. Returns the observation and an empty info."""
        self._undealt = iter(self._deck)
        first = [next(self._undealt) for _ in range(4)]
        self.player, self.dealer = first[0::2], first[1::2]
        self.mistakes = 0
        self.is_over = False
        return f"{self._describe_table()} {EXPECTED}", {}

    def step(self, action: str | None) -> Step:
        """Takes one action, and returns the observation, the reward, whether the game is over by its rules, whether
        mistakes ended it, and an info. Anything but `hit` and `stand` is a mistake. Errors: ValueError if the game is
        over.
        """
        if self.is_over:
            raise ValueError("the game is over: reset() it before the next step()")
        if action == "stand":
            return self._stand()
        return self._hit() if action == "hit" else self._count_mistake()

    def _hit(self) -> Step:
        self.player.append(next(self._undealt))
        if total_of(self.player) > TWENTY_ONE:
            return self._end(
                LOSS, f"You drew {self.player[-1]}. You have {show_hand(self.player)}, over {TWENTY_ONE}: you lose."
            )
        return f"You drew {self.player[-1]}. {self._describe_table()} {EXPECTED}", 0.0, False, False, {}

    def _stand(self) -> Step:
        """Plays the dealer's fixed rule (draw below 17, stand from 17 on, also with a soft 17), and ends the game."""
        while total_of(self.dealer) < DEALER_STANDS_AT:
            self.dealer.append(next(self._undealt))
        reward = reward_against(self.player, self.dealer)
        result = {WIN: "you win", DRAW: "a draw", LOSS: "you lose"}[reward]
        return self._end(
            reward, f"You have {show_hand(self.player)}, the dealer has {show_hand(self.dealer)}: {result}."
        )

    def _count_mistake(self) -> Step:
        self.mistakes += 1
        left = self._max_mistakes - self.mistakes
        if left <= 0:
            self.is_over = True
            text = f"That is no action. The dealer waits no longer: you lose. {EXPECTED}"
            return text, LOSS, False, True, {"outcome": "too many mistakes"}
        tries = "one more such answer loses" if left == 1 else f"{left} more such answers lose"
        return f"That is no action ({tries} the game). {self._describe_table()} {EXPECTED}", 0.0, False, False, {}

    def _end(self, reward: float, observation: str) -> Step:
        self.is_over = True
        return observation, reward, True, False, {"outcome": {WIN: "win", DRAW: "draw", LOSS: "loss"}[reward]}

    def _describe_table(self) -> str:
        """Describes the player's hand and the dealer's open card as text. The dealer's other card is hidden."""
        return f"Your hand: {show_hand(self.player)}. The dealer shows {self.dealer[0]}."


def reward_against(player: Sequence[Rank], dealer: Sequence[Rank]) -> float:
    """Returns the reward (1, 0 or -1) of a player's hand that is not over 21 against the dealer's. A natural beats all
    hands but another natural.
    """
    if total_of(dealer) > TWENTY_ONE:
        return WIN
    own, others = ((total_of(hand), is_natural(hand)) for hand in (player, dealer))
    return WIN if own > others else DRAW if own == others else LOSS
