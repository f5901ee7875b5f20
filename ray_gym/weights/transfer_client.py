"""Implements the control plane of vLLM's weight transfer over all replicas of an application, for vLLM's trainer
engines.

    client = TransferClient("my-run-policy")
    engine = WeightTransferTrainerFactory.trainer_init(NCCLTrainerInitInfo(...), client=client, source=ModuleSource(model))
    client.version = 7
    engine.send_weights()
"""

from __future__ import annotations

from typing import Any

from ray_gym.errors import UserError
from ray_gym.weights.client import Weights
from ray_gym.weights.update import Deadlines


class TransferClient:
    """Has the four methods of vLLM's `VLLMWeightSyncClient`, and carries them out on all replicas of an application.
    They block.
    """

    def __init__(self, app: str, deadlines: Deadlines | None = None) -> None:
        """Finds the holder of the application's weights. `deadlines`: seconds for the steps; None means the defaults.

        Errors: UserError if there is no such application, or its weights can't be changed.
        """
        self._weights = Weights(app)
        self._deadlines = deadlines or Deadlines()
        self.version: int | None = None
        """Version of the next transfer. It has to be set before each transfer."""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        self._weights.transfer("init", init_info, self._deadlines)

    def start_weight_update(self) -> None:
        if self.version is None:
            raise UserError("TransferClient.version: set it to the version of what is transferred")
        self._weights.transfer("start", self.version, self._deadlines)

    def update_weights(self, update_info: dict[str, Any] | list[dict[str, Any]]) -> None:
        self._weights.transfer("update", update_info, self._deadlines)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        self._weights.transfer("finish", None, self._deadlines)
        self.version = None
