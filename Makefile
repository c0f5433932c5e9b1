# Each target builds what it needs from a bare checkout: python3 (3.11 or newer, with venv) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two sets of packages in one .venv: what demo and serve need, and on top of it what tests and checks need.
DEMO_STAMP := $(VENV)/.installed-demo
STAMP := $(VENV)/.installed
MANAGE := $(BIN)/python manage.py
DESCRIBE := $(MANAGE) spectacular --format openapi-json --validate --fail-on-warn

# The two rules that install would meet in one folder.
.NOTPARALLEL:

.PHONY: help install demo serve test browser-test resilience-test deploy-test bench screenshots fuzz lint format openapi openapi-lint messages lock clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(STAMP) .env ## .venv with all locked dependencies, and .env with fresh secrets

# Byte code even where PYTHONDONTWRITEBYTECODE is set: it makes a command start three times as fast. pip would write it
# on one processor alone, and for parts that nothing here imports.
define pip-install
	@echo "Making $(VENV) with the packages of $(1) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --no-compile --require-hashes -r $(1)
	@echo "Compiling the packages …"
	@$(BIN)/python -m compileall -q -j 0 -x '/(pip|setuptools|tests|gis|providers)/' $(VENV)/lib > /dev/null || true
endef

$(DEMO_STAMP): requirements/demo.txt
	$(call pip-install,$<)
	@touch $@

$(STAMP): requirements/dev.txt
	$(call pip-install,$<)
	@touch $(DEMO_STAMP) $@

.env: .env.example
	@test -f $@ || (umask 077 && $(PYTHON) -m config.environment .env.example > $@)
	@touch $@

demo: $(DEMO_STAMP) .env ## the main job, shown; DEMO_EXIT=1 ends it after the walk
	$(MANAGE) demo $(if $(DEMO_EXIT),--exit)

serve: $(DEMO_STAMP) .env ## migrates and serves on HOST:PORT with WEB_WORKERS processes
	$(MANAGE) migrate --verbosity 0
	$(MANAGE) collectstatic --noinput --verbosity 0
	$(BIN)/python -m config.serve

# Four processes even on two cores: a test often waits for PostgreSQL or for a process that it has started.
test: install ## the test suite, on the embedded database
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

browser-test: install ## the back office in headless Chromium, which has to be on the PATH
	@command -v chromium chromium-browser google-chrome > /dev/null || \
	  { echo "browser-test needs Chromium on the PATH: apt-get install chromium" >&2; exit 1; }
	$(BIN)/python -m pytest tests/browser

resilience-test: install ## the service while its database, its Redis, its workers or its keys go and come back
	$(BIN)/python -m pytest -n auto --maxprocesses 3 --dist loadfile tests/resilience

deploy-test: install ## what deploy/ holds: the service behind nginx, systemd's own look at the units
	@PATH="$$PATH:/usr/sbin" command -v nginx > /dev/null || \
	  { echo "deploy-test needs nginx on the PATH: apt-get install nginx-light systemd" >&2; exit 1; }
	$(BIN)/python -m pytest tests/deploy

bench: install ## what a request costs; BENCH holds options, such as '--against HEAD~1 --json FILE'
	@command -v wrk > /dev/null || { echo "bench needs wrk on the PATH: apt-get install wrk" >&2; exit 1; }
	@$(BIN)/python -m bench $(BENCH)

fuzz: install ## schemathesis against a live server, FUZZ_EXAMPLES for each operation (100)
	FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),100) $(BIN)/python -m pytest -s tests/fuzz

screenshots: install ## pictures of the back office, by headless Chromium, in .local/screenshots
	$(BIN)/python -m pytest --quiet tests/browser/screenshots.py

lint: install ## format, lint, types, layers, migrations, drift of the description, deployment check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --no-cache
	$(MANAGE) makemigrations --check --dry-run
	@$(DESCRIBE) | diff docs/openapi.json - || \
	  { echo "docs/openapi.json is not what the code says: make openapi, and look at what changed" >&2; exit 1; }
	$(BIN)/python -m config.environment --deployment -- $(MANAGE) check --deploy --fail-level WARNING

format: install ## mends what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

openapi: install ## makes docs/openapi.json, the description of the API, from the code
	$(DESCRIBE) > docs/openapi.json

openapi-lint: ## Redocly and Spectral on docs/openapi.json, and TypeScript types made from it; needs npm and Node.js 20.19
	@command -v npm > /dev/null || { echo "openapi-lint needs npm and Node.js 20.19 or newer on the PATH" >&2; exit 1; }
	@mkdir -p .local/npm && cp tests/npm/package.json tests/npm/package-lock.json tests/npm/.spectral.yaml .local/npm
	cd .local/npm && npm ci --ignore-scripts --no-audit --no-fund
	cd .local/npm && REDOCLY_TELEMETRY=off npx redocly lint --max-problems 1 ../../docs/openapi.json 2>&1 | tee redocly.txt \
	  && grep -q "Your API description is valid" redocly.txt && ! grep -q "Warning was generated" redocly.txt
	cd .local/npm && npx spectral lint --fail-severity hint ../../docs/openapi.json
	cd .local/npm && npx openapi-typescript ../../docs/openapi.json -o types.ts && npx tsc --noEmit --strict types.ts
	@! grep -nE 'unknown &|& \(?unknown' .local/npm/types.ts

messages: install ## refreshes the French catalogue from the code and compiles it; needs GNU gettext
	@command -v msgfmt > /dev/null || \
	  { echo "messages needs GNU gettext on the PATH: apt-get install gettext" >&2; exit 1; }
	$(MANAGE) makemessages --locale fr --add-location file --no-obsolete --ignore tests --ignore docs --ignore staticfiles
	msgfmt --check-format -o locale/fr/LC_MESSAGES/django.mo locale/fr/LC_MESSAGES/django.po

lock: install ## locks requirements/*.in anew, with hashes and without an index's address
	cd requirements && for name in base demo dev; do \
	  ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --custom-compile-command 'make lock' $$name.in -o $$name.txt; done

clean: ## removes what the other targets made, the embedded database included
	@test ! -d .local/postgres || $(BIN)/python -m config.embedded.stop
	rm -rf $(VENV) .local staticfiles .mypy_cache .ruff_cache .pytest_cache .hypothesis
