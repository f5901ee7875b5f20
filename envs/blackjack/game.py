"""One hand of blackjack with Gymnasium's interface: `reset` and `step`, text in and out. It knows nothing of models and episodes.

game = BlackjackGame(shuffled_deck(seed=1))
observation, info = game.reset()
observation, reward, terminated, truncated, info = game.step("hit")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ray_gym.envs.blackjack.cards import TWENTY_ONE, Rank, is_natural, shown, total_of

WIN, DRAW, LOSS = 1.0, 0.0, -1.0
ACTIONS = ("hit", "stand")
DEALER_STANDS_AT = 17
EXPECTED = "Answer with <action>hit</action> or <action>stand</action>."

Step = tuple[str, float, bool, bool, dict[str, Any]]


class BlackjackGame:
    """The player's and the dealer's cards come from the top of the deck in turns, the player's first; all others as they are drawn.

    An action that is none of `ACTIONS` changes nothing but the count of mistakes; that of number `max_mistakes` truncates the game.
    """

    def __init__(self, deck: Sequence[Rank], max_mistakes: int = 3) -> None:
        self._deck = tuple(deck)
        self._max_mistakes = max_mistakes
        self.reset()

    def reset(self) -> tuple[str, dict[str, Any]]:
        self._undealt = iter(self._deck)
        first = [next(self._undealt) for _ in range(4)]
        self.player, self.dealer = first[0::2], first[1::2]
        self.mistakes = 0
        self.is_over = False
        return f"{self._table()} {EXPECTED}", {}

    def step(self, action: str | None) -> Step:
        """Errors: ValueError when the game is over."""
        if self.is_over:
            raise ValueError("the game is over: reset() it before the next step()")
        if action == "stand":
            return self._stand()
        return self._hit() if action == "hit" else self._mistake()

    def _hit(self) -> Step:
        self.player.append(next(self._undealt))
        if total_of(self.player) > TWENTY_ONE:
            return self._ended(
                LOSS, f"You drew {self.player[-1]}. You have {shown(self.player)}, over {TWENTY_ONE}: you lose."
            )
        return f"You drew {self.player[-1]}. {self._table()} {EXPECTED}", 0.0, False, False, {}

    def _stand(self) -> Step:
        """The dealer's fixed rule: draw below 17, stand from 17 on, also a soft one."""
        while total_of(self.dealer) < DEALER_STANDS_AT:
            self.dealer.append(next(self._undealt))
        reward = compared(self.player, self.dealer)
        result = {WIN: "you win", DRAW: "a draw", LOSS: "you lose"}[reward]
        return self._ended(reward, f"You have {shown(self.player)}, the dealer has {shown(self.dealer)}: {result}.")

    def _mistake(self) -> Step:
        self.mistakes += 1
        left = self._max_mistakes - self.mistakes
        if left <= 0:
            self.is_over = True
            text = f"That is no action. The dealer waits no longer: you lose. {EXPECTED}"
            return text, LOSS, False, True, {"outcome": "too many mistakes"}
        tries = "one more such answer loses" if left == 1 else f"{left} more such answers lose"
        return f"That is no action ({tries} the game). {self._table()} {EXPECTED}", 0.0, False, False, {}

    def _ended(self, reward: float, observation: str) -> Step:
        self.is_over = True
        return observation, reward, True, False, {"outcome": {WIN: "win", DRAW: "draw", LOSS: "loss"}[reward]}

    def _table(self) -> str:
        """What the player may know: one of the dealer's cards lies face down."""
        return f"Your hand: {shown(self.player)}. The dealer shows {self.dealer[0]}."


def compared(player: Sequence[Rank], dealer: Sequence[Rank]) -> float:
    """What a hand that is not over 21 is worth against the dealer's; a natural beats all other hands."""
    if total_of(dealer) > TWENTY_ONE:
        return WIN
    own, others = ((total_of(hand), is_natural(hand)) for hand in (player, dealer))
    return WIN if own > others else DRAW if own == others else LOSS
