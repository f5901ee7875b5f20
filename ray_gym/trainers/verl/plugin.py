"""Registers the bridge with verl, which imports this in each of its processes:

VERL_USE_EXTERNAL_MODULES=ray_gym.trainers.verl.plugin
"""

from verl.checkpoint_engine import CheckpointEngineRegistry
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.workers.rollout.replica import RolloutReplicaRegistry

from ray_gym.trainers.verl.settings import NAME
from ray_gym.trainers.verl.trainer import StreamTrainer
from ray_gym.trainers.verl.weights import HandedWeights

CheckpointEngineRegistry.register(NAME)(HandedWeights)
RolloutReplicaRegistry.register(
    NAME, lambda: object
)  # else verl looks for an engine of this name, which it never makes
register_trainer(NAME)(StreamTrainer)
