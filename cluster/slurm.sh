#!/bin/bash
# One run on nodes of SLURM: a Ray cluster that is there as long as the allocation. Three parts of one job: CPU nodes (the first has
# the head and the driver), nodes for the policy, nodes for the user model. Submitted from the repository, on a file system that all
# nodes share, with its venv (`make setup`, or the GPU build: README.md):
#   sbatch cluster/slurm.sh cluster/pools.yaml output.dir=/shared/runs run.name=first
#   sbatch cluster/slurm.sh --resume /shared/runs/first
#SBATCH --job-name=ray-gym
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@300
#SBATCH --open-mode=append
#SBATCH --partition=cpu --nodes=1 --ntasks-per-node=1 --cpus-per-task=16 --mem=64G
#SBATCH hetjob
#SBATCH --partition=gpu --nodes=1 --ntasks-per-node=1 --cpus-per-task=16 --mem=128G --gpus-per-node=2
#SBATCH hetjob
#SBATCH --partition=gpu --nodes=1 --ntasks-per-node=1 --cpus-per-task=32 --mem=256G --gpus-per-node=4
set -euo pipefail

pools=(cpu policy user)                                # the parts of the job above, in their order
cd "${SLURM_SUBMIT_DIR:?run it by sbatch}"
export PATH="$PWD/.venv/bin:$PATH"
port="${RAY_GYM_PORT:-6379}"

# Everybody who has an account reaches the nodes' ports: a token of this job's own, in a file that only its owner reads.
secret="$PWD/.ray-token-$SLURM_JOB_ID"
(umask 077 && openssl rand -hex 32 | tr -d '\n' > "$secret")
end() {                                                # also of the nodes, each of which is a srun in the background
  rm -f "$secret"
  jobs -p | xargs --no-run-if-empty kill 2>/dev/null || true
  wait
}
trap end EXIT
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$secret" RAY_TMPDIR="/tmp/ray-$SLURM_JOB_ID"
mkdir -p "$RAY_TMPDIR"

mapfile -t cpu_nodes < <(scontrol show hostnames "${SLURM_JOB_NODELIST_HET_GROUP_0:-$SLURM_JOB_NODELIST}")
head="${cpu_nodes[0]}"
address_of() { getent ahostsv4 "$1" | awk 'NR == 1 {print $1}'; }
address="$(address_of "$head")"

start_node() {                                         # PART NODE POOL CPUS [OPTION]...: in the foreground of srun, until the job ends
  local part="$1" node="$2" pool="$3" cpus="$4"
  shift 4
  srun --het-group="$part" --nodes=1 --ntasks=1 --nodelist="$node" --export=ALL \
    bash -c 'mkdir -p "$RAY_TMPDIR" && exec ray start --block --disable-usage-stats "$@"' start \
    --labels="pool=$pool" --num-cpus="$cpus" --node-ip-address="$(address_of "$node")" --object-store-memory=4000000000 "$@" &
}

start_node 0 "$head" cpu "$SLURM_CPUS_PER_TASK_HET_GROUP_0" --head --port="$port" --dashboard-host=127.0.0.1
export RAY_ADDRESS="$address:$port"
for _ in $(seq 120); do                                # nodes don't wait long for a head that is not there yet
  if (exec 3<> "/dev/tcp/$address/$port") 2>/dev/null; then break; fi
  sleep 1
done

wanted=1
for part in 0 1 2; do
  list="SLURM_JOB_NODELIST_HET_GROUP_$part"
  cpus="SLURM_CPUS_PER_TASK_HET_GROUP_$part"
  mapfile -t nodes < <(scontrol show hostnames "${!list}")
  for node in "${nodes[@]}"; do
    if [[ "$node" != "$head" ]]; then
      start_node "$part" "$node" "${pools[$part]}" "${!cpus}" --address="$RAY_ADDRESS"
      wanted=$((wanted + 1))
    fi
  done
done

there=0
count='import ray; ray.init(log_to_driver=False); print(sum(node["Alive"] for node in ray.nodes()))'
for _ in $(seq 60); do
  there="$(python -c "$count" 2>/dev/null || echo 0)"
  if [[ "$there" -ge "$wanted" ]]; then break; fi
  sleep "${RAY_GYM_LOOK_S:-5}"
done
if [[ "$there" -lt "$wanted" ]]; then
  echo "slurm.sh: only $there of $wanted nodes have come" >&2
  exit 1
fi

# Before the time is up, SLURM sends TERM (--signal): the run ends as with Ctrl-C, and --resume resumes it.
ray-gym rollout "$@" &
run=$!
trap 'kill -TERM "$run"' TERM
code=0
wait "$run" || code=$?
while kill -0 "$run" 2>/dev/null; do code=0; wait "$run" || code=$?; done
exit "$code"
