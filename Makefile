# Verbs for people and CI. Everything is installed into .venv; nothing else on the machine is touched.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PACKAGES := src flows tasks expectations deployments
NAMES := $(shell find $(PACKAGES) -name '*.py' -o -name '*.yaml' | LC_ALL=C sort | cksum | cut -d' ' -f1)

.DEFAULT_GOAL := help
.PHONY: help demo test test-flow test-slow lint types layers format check wheel constraints clean

help:  ## List the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.base-$(NAMES)  ## Write a small source and run the main job on it
	@rm -rf rollmill-demo
	@$(BIN)/rollmill demo rollmill-demo

test: $(VENV)/.dev-$(NAMES)  ## Run the fast tests
	$(BIN)/python -m pytest -q -n auto -m "not flow and not slow"

test-flow: $(VENV)/.dev-$(NAMES)  ## Run the tests that start an embedded Prefect server
	$(BIN)/python -m pytest -q -m "flow and not slow"

test-slow: $(VENV)/.dev-$(NAMES)  ## Run the tests at real sizes
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/.dev-$(NAMES)  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev-$(NAMES)  ## Check types
	$(BIN)/mypy -p rollmill
	$(BIN)/mypy tests

layers: $(VENV)/.dev-$(NAMES)  ## Check that imports go one way
	$(BIN)/lint-imports

check: lint types layers  ## Run all static checks

format: $(VENV)/.dev-$(NAMES)  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(VENV)/.dev-$(NAMES)  ## Build the wheel into dist/
	$(PIP) wheel --no-deps --no-build-isolation -w dist .

constraints:  ## Write constraints.txt anew from the newest versions allowed
	rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	build/constraints/bin/python -m pip -q install '.[dev]'
	build/constraints/bin/python -m pip freeze --exclude rollmill > constraints.txt

clean:  ## Remove what was installed and built
	rm -rf $(VENV) build dist rollmill-demo

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A strict editable install is a tree of links: a new file needs it again, hence the names in the stamp.
$(VENV)/.base-$(NAMES): $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install -c constraints.txt -e . --config-settings editable_mode=strict
	@rm -f $(VENV)/.base-* && touch $@

$(VENV)/.dev-$(NAMES): $(VENV)/.base-$(NAMES)
	$(PIP) install -c constraints.txt -e '.[dev]' --config-settings editable_mode=strict
	@rm -f $(VENV)/.dev-* && touch $@
