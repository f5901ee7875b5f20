#!/bin/bash
# Trains by slime on groups that a ray_gym service plays. It needs GPUs, slime's container, and a checkout of slime at
# commit 624b824, of which this is called. ray_gym and what its client needs (httpx, httpx-sse, pyarrow, msgspec, xxhash,
# pydantic) are on PYTHONPATH, in the Ray job, too.
#
# In ray_gym's venv, on the rollout GPUs and a Ray cluster of its own (ray start --head --port 6380):
#     ray-gym serve service.yaml             # whose policy is the model below, of the service `small`
#
# Then, with MODEL the folder of that model and RECIPE this folder:
#     MODEL=/shared/Qwen3-0.6B RECIPE=/path/to/examples/trainers/slime bash $RECIPE/train.sh
#
# Lines of tasks.jsonl are {"id": "1", "task": "{...}"}: the label is JSON text with the fields of the environment's
# task_schema. Without --prompt-data, and with --disable-rollout-global-dataset, the environment generates the tasks.
set -euo pipefail
. scripts/models/qwen3-0.6B.sh  # MODEL_ARGS
exec python3 train.py "${MODEL_ARGS[@]}" \
  --hf-checkpoint "$MODEL" --ref-load "${MODEL}_torch_dist" --load /shared/slime/checkpoints --save /shared/slime/checkpoints \
  --save-hf '/shared/slime/hf/{rollout_id}' --save-interval 1 \
  --actor-num-nodes 1 --actor-num-gpus-per-node 2 --rollout-num-gpus 0 \
  --rollout-function-path ray_gym.trainers.slime.rollouts.generate_rollout \
  --custom-reward-post-process-path ray_gym.trainers.slime.rollouts.post_process_rewards \
  --custom-config-path "$RECIPE/ray_gym.yaml" \
  --prompt-data tasks.jsonl --input-key id --label-key task \
  --num-rollout 200 --rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 256 \
  --rollout-temperature 1.0 --advantage-estimator grpo --use-rollout-logprobs \
  --use-dynamic-batch-size --max-tokens-per-gpu 16384 --optimizer adam --lr 1e-6
