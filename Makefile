# Everything a developer runs. Needs python3 (3.11 or newer, with venv and pip) and make. node and npm are needed for the tests
# that start the AWS SDK for JavaScript, pyright and Chromium: without npm these are skipped, in CI they fail.

PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
UV_VERSION := 0.13.7
JS_CLIENTS := tests/clients/javascript
TYPING := tests/typing
BROWSER := tests/browser
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
# Tests run on all cores, in one process more than there are cores, as those that start servers mostly wait. A process that
# has finished its share takes tests from the end of another's, so the tests of a module mostly stay in one process and
# share its fixtures.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal

# Without compiled files each process of the tests compiles them all again, for half a minute.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup clients up test test-clones test-pythons check lint types lengths format hooks bench docs build extras lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.installed ## Create .venv and install everything (instant when nothing changed)

clients: .venv-clients/.installed $(JS_CLIENTS)/node_modules/.installed $(TYPING)/node_modules/.installed $(BROWSER)/node_modules/.unpacked ## Install what the tests start: other AWS clients, pyright, a browser

up: setup ## Run everything with demo data: DynamoDB on 127.0.0.1:8000, pages on :8002, data in ./data (ARGS="--web-port 9002" adds options)
	$(BIN)/hashrange up --demo $(ARGS)

test: setup clients ## Run the tests, on all cores (ARGS="-k keys" adds options of pytest)
	$(PYTEST) $(ARGS)

test-clones: setup ## Run unit tests of the last commit in folders with other names: one with a space and an umlaut
	$(BIN)/python scripts/test_clones.py --numprocesses $(WORKERS) --dist worksteal

test-pythons: ## Run the tests on every supported Python that is installed (PYTHONS="python3.12 ..." chooses)
	scripts/test_pythons.sh $(PYTHONS)

check: lint types test ## Everything a change must pass: format, lint, import layers, types, tests
	$(MAKE) test-clones  # not beside the others: some tests measure time

lint: setup ## Check format, lint rules and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: setup ## Check types, strictly
	$(BIN)/mypy

lengths: ## Print the longest files and functions, for a reader to judge
	@$(PYTHON) scripts/lengths.py src systems/src

format: setup ## Format the code and apply the safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

hooks: setup ## Install the pre-commit hooks: format, lint, import layers, types
	$(BIN)/pre-commit install

bench: setup ## Measure speed against the peers, side by side (ARGS="wire --quick" adds options)
	$(BIN)/python -m bench $(ARGS)

docs: setup ## Regenerate the generated pages of docs/reference
	$(BIN)/hashrange docs --write docs/reference/operations.md
	$(BIN)/python scripts/declaration_errors.py

build: setup ## Build the sdist and the wheel of both distributions into dist/
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist systems

extras: build ## Install each extra of the built wheels in an empty environment and use it
	$(BIN)/python scripts/try_extras.py dist

lock: .venv-lock/.installed ## Resolve the lock files again (UPGRADE=1 takes the newest versions)
	@set -e; \
	compile=".venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header"; \
	compile="$$compile --no-emit-index-url --no-emit-find-links --no-emit-package hashrange $(if $(UPGRADE),--upgrade)"; \
	$$compile pyproject.toml systems/pyproject.toml --all-extras -o requirements.txt; \
	$$compile pyproject.toml systems/pyproject.toml --all-extras --group dev -c requirements.txt -o requirements-dev.txt; \
	$$compile requirements-clients.in -o requirements-clients.txt; \
	sed -i.old '/^# The following packages were excluded/,$$d' requirements.txt requirements-dev.txt; \
	rm -f requirements.txt.old requirements-dev.txt.old
	node scripts/lock_npm.mjs $(if $(UPGRADE),update,install) $(JS_CLIENTS) $(TYPING) $(BROWSER)

clean: ## Remove everything that setup and the tools made; data/ stays
	rm -rf .venv .venv-clients .venv-lock .venv-python* $(JS_CLIENTS)/node_modules $(TYPING)/node_modules $(BROWSER)/node_modules
	rm -rf bench/.peers build dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src systems tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.venv/.installed: requirements-dev.txt pyproject.toml systems/pyproject.toml src/hashrange/__init__.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hashrange needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": run make PYTHON=python3.11 " + "$(MAKECMDGOALS)")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) --require-hashes -r requirements-dev.txt
	$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable . --editable systems
	$(BIN)/python -m compileall -q src systems/src  # as pip does for what it copies
	@touch $@

.venv-clients/.installed: requirements-clients.txt
	test -x .venv-clients/bin/python || $(PYTHON) -m venv .venv-clients
	.venv-clients/bin/python $(PIP_INSTALL) --require-hashes -r requirements-clients.txt
	@touch $@

%/node_modules/.installed: %/package-lock.json
	@if command -v npm >/dev/null; then \
	  npm ci --prefix $* --no-audit --no-fund --loglevel=error && touch $@; \
	else \
	  echo "npm is not installed: what $* needs is not tested here"; \
	fi

$(BROWSER)/node_modules/.unpacked: $(BROWSER)/node_modules/.installed $(BROWSER)/unpack.mjs
	@if test -e $<; then node $(BROWSER)/unpack.mjs && touch $@; fi

.venv-lock/.installed: Makefile
	test -x .venv-lock/bin/python || $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python $(PIP_INSTALL) uv==$(UV_VERSION)
	@touch $@
