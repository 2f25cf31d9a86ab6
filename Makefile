.DEFAULT_GOAL := help
.PHONY: help demo test check fmt lock bench clean
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

help: ## Show what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(INSTALLED): requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(INSTALLED) ## Send 28,000 airports to a target on this machine, and check that each arrived once
	$(BIN)/python examples/demo.py

test: $(INSTALLED) ## Run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

check: $(INSTALLED) ## Check style, types, imports and dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .

fmt: $(INSTALLED) ## Format the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lock: $(INSTALLED) ## Pin what pyproject.toml asks for
	./requirements/lock $(BIN)/uv

clean: ## Remove what make made
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
