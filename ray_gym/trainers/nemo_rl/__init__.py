"""Connects ray_gym with NeMo RL's GRPO: a server that plays episodes where NeMo RL expects an agent of NeMo Gym.

`docs/trainer_nemo_rl.md` describes it; `docs/nemo_rl.md` has what NeMo RL can do with runs that are finished. Nothing
here needs NeMo RL.
"""

TESTED = ("7ea279abfbeb698b092856d0dab61e7cf39bc909",)
"""Commits of NeMo RL that the bridge was tested with."""
