# Each target installs what it needs; requires python3 (3.11 or newer, with venv) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two sets of packages in one .venv: for demo and serve, and in addition for tests and checks.
DEMO_STAMP := $(VENV)/.installed-demo
STAMP := $(VENV)/.installed
# The packages of tests/npm.
NPM_STAMP := .local/npm/.installed
# Generators of clients, apart: they are large, and have nothing to do with the service's packages.
GENERATORS_STAMP := .local/generators/.installed
# The pages of /docs.
DOCS_STAMP := .local/docs.built
DOCS_SOURCES := CHANGELOG.md docs/openapi.yaml docs/signing-vectors.json $(shell find docs_site docs/examples clients -type f \
  ! -name '*.pyc' ! -path 'docs_site/pages/reference/*' ! -path docs_site/pages/changelog.md)
MANAGE := $(BIN)/python manage.py
# Tests often wait for PostgreSQL or other processes: one process more than there are processors, at most six. Those of a
# file stay together, as they share what the first one made. The files with fewest tests would come last, of which many
# start programs and wait.
PARALLEL := -n $(shell n=$$(getconf _NPROCESSORS_ONLN); [ $$n -lt 6 ] && expr $$n + 1 || echo 6) --dist loadfile \
  --no-loadscope-reorder
# Otherwise each process compiles all modules again.
export PYTHONDONTWRITEBYTECODE =

# Two rules install into one folder.
.NOTPARALLEL:

.PHONY: help install docs demo serve test slow-test test-pythons examples-test generated-test long-test chaos browser-test resilience-test failover-test deploy-test bench screenshots fuzz lint format openapi-lint messages roles lock size clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 17

install: $(STAMP) .env docs ## .venv with all locked dependencies, and .env with random secrets

# Byte code, even if PYTHONDONTWRITEBYTECODE is set: commands start three times as fast. pip would compile on one
# processor, and packages that nothing imports.
define pip-install
	@echo "Installing $(1) into $(VENV) …"
	@"$(PYTHON)" -m venv $(VENV)
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
	@test -f $@ || (umask 077 && "$(PYTHON)" -m config.environment .env.example > $@)
	@touch $@

docs: $(DOCS_STAMP) ## the pages of /docs, in .local/site

# Warnings are errors: a link without a target, an example that is not there.
$(DOCS_STAMP): $(DOCS_SOURCES) | $(DEMO_STAMP)
	@echo "Building the pages of /docs …"
	@rm -rf .local/site.new
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env --builder dirhtml \
	  --doctree-dir .local/doctrees -c docs_site docs_site/pages .local/site.new/docs
	@$(BIN)/python -m whitenoise.compress --quiet .local/site.new
	@rm -rf .local/site && mv .local/site.new .local/site
	@touch $@

demo: $(DEMO_STAMP) .env docs ## seeds, serves and calls the API; DEMO_EXIT=1 ends it after the calls
	$(MANAGE) demo $(if $(DEMO_EXIT),--exit)

serve: $(DEMO_STAMP) .env docs ## migrates, serves on HOST:PORT and delivers events
	$(MANAGE) migrate --verbosity 0
	$(MANAGE) collectstatic --noinput --verbosity 0
	@trap exit INT TERM HUP; trap 'kill $$web $$deliver; wait' EXIT; \
	  $(BIN)/python -m config.serve & web=$$!; $(MANAGE) deliver_events & deliver=$$!; wait $$web

test: install ## what to run after each change, on the embedded database
	$(BIN)/python -m pytest $(PARALLEL) --durations=10

slow-test: install ## tests that start programs, servers or many connections
	$(BIN)/python -m pytest $(PARALLEL) --durations=10 tests/slow

test-pythons: ## the test suite on each Python from 3.11 on (PATH, pyenv), each in .local/venvs
	@"$(PYTHON)" tests/pythons.py | { failed=; while read -r version python; do \
	  echo "Python $$version: $$python"; \
	  $(MAKE) test PYTHON="$$python" VENV=".local/venvs/$$version" < /dev/null || failed="$$failed $$version"; \
	  done; [ -z "$$failed" ] || { echo "Failed on Python$$failed" >&2; exit 1; }; }

long-test: install ## chaos, look-ups of keys, stateful machines; LOOKUP_ROUNDS (30), CHAOS_RUNS (5)
	$(BIN)/python -m pytest $(PARALLEL) tests/long

chaos: install ## partners whose connections are lost at random; CHAOS_RUNS (2000), CHAOS_SEED of a run that failed
	CHAOS_RUNS=$(or $(CHAOS_RUNS),2000) CHAOS_SEED=$(CHAOS_SEED) $(BIN)/python -m pytest -s tests/long/test_chaos.py

examples-test: install ## the documentation's examples in all languages; skips those whose programs are missing
	$(BIN)/python -m pytest $(PARALLEL) tests/examples

generated-test: install $(GENERATORS_STAMP) $(NPM_STAMP) ## clients made of the description by generators, in Python, TypeScript, PHP and Go
	@command -v java > /dev/null || { echo "generated-test needs Java on the PATH: apt-get install default-jdk-headless" >&2; exit 1; }
	$(BIN)/python -m pytest tests/generated

$(GENERATORS_STAMP): requirements/generators.txt
	@"$(PYTHON)" -m venv $(@D)
	@$(@D)/bin/python -m pip install --disable-pip-version-check --progress-bar off --require-hashes -r $<
	@touch $@

browser-test: install ## the back office in headless Chromium
	@command -v chromium chromium-browser google-chrome > /dev/null || \
	  { echo "browser-test needs Chromium on the PATH: apt-get install chromium" >&2; exit 1; }
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/browser

resilience-test: install ## failures of database, Redis and the service; backup, key rotation
	$(BIN)/python -m pytest $(PARALLEL) tests/resilience

failover-test: install ## a cluster under Patroni whose nodes fail; FAILOVER_FAULTS (5), FAILOVER_BY=haproxy
	@for program in etcd haproxy nginx redis-server; do PATH="$$PATH:/usr/sbin" command -v $$program > /dev/null || \
	  { echo "failover-test needs $$program: apt-get install etcd-server haproxy nginx-light redis-server" >&2; exit 1; }; done
	$(BIN)/python -m pytest -s tests/failover

deploy-test: install ## deploy/: the service behind nginx, the systemd units, the alerts
	@PATH="$$PATH:/usr/sbin" command -v nginx > /dev/null || \
	  { echo "deploy-test needs nginx on the PATH: apt-get install nginx-light systemd" >&2; exit 1; }
	$(BIN)/python -m pytest $(PARALLEL) tests/deploy

bench: install ## the cost of a request; BENCH: options, such as '--against HEAD~1'
	@command -v wrk > /dev/null || { echo "bench needs wrk on the PATH: apt-get install wrk" >&2; exit 1; }
	@$(BIN)/python -m bench $(BENCH)

fuzz: install ## schemathesis against a live server; FUZZ_EXAMPLES for each operation (100)
	FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),100) $(BIN)/python -m pytest -s tests/fuzz

screenshots: install ## of the back office, in .local/screenshots
	$(BIN)/python -m pytest --quiet tests/browser/screenshots.py

lint: install ## format, lint, types, layers, migrations, deployment check, texts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m mypy .
	$(BIN)/python -c 'from importlinter.cli import lint_imports_command as lint; lint()' --no-cache
	$(MANAGE) makemigrations --check --dry-run
	$(BIN)/python -m config.environment --deployment -- $(MANAGE) check --deploy --fail-level WARNING
	$(BIN)/python -m pytest --quiet tests/lint

format: install ## ruff's formats and fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

openapi-lint: $(NPM_STAMP) ## Redocly, Spectral and openapi-typescript on docs/openapi.yaml; needs npm and Node.js 20.19
	cd .local/npm && REDOCLY_TELEMETRY=off npx redocly lint --max-problems 1 ../../docs/openapi.yaml 2>&1 | tee redocly.txt \
	  && grep -q "Your API description is valid" redocly.txt && ! grep -q "Warning was generated" redocly.txt
	cd .local/npm && npx spectral lint --fail-severity hint ../../docs/openapi.yaml
	cd .local/npm && npx openapi-typescript ../../docs/openapi.yaml -o types.ts && npx tsc --noEmit --strict types.ts
	@! grep -nE 'unknown &|& \(?unknown' .local/npm/types.ts

$(NPM_STAMP): tests/npm/package.json tests/npm/package-lock.json tests/npm/.spectral.yaml
	@command -v npm > /dev/null || { echo "npm and Node.js 20.19 or newer must be on the PATH" >&2; exit 1; }
	@mkdir -p $(@D) && cp $^ $(@D)
	cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

messages: install ## updates and compiles the French catalogue; needs GNU gettext
	@command -v msgfmt > /dev/null || \
	  { echo "messages needs GNU gettext on the PATH: apt-get install gettext" >&2; exit 1; }
	$(MANAGE) makemessages --locale fr --add-location file --no-obsolete --ignore tests --ignore docs --ignore staticfiles
	msgfmt --check-format -o locale/fr/LC_MESSAGES/django.mo locale/fr/LC_MESSAGES/django.po

roles: install ## every page and action of the back office, with the roles that see or do it
	@PYTHONPATH=clients/python/src $(MANAGE) shell -v 0 -c 'from tests.staff import test_roles_table as t; print(t.table())'

lock: install ## resolves requirements/*.in, with hashes and without an index's address
	cd requirements && for name in base docs demo dev generators; do \
	  ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --custom-compile-command 'make lock' $$name.in -o $$name.txt; done

size: ## lines by kind and by app, and the words of the documentation
	@"$(PYTHON)" tests/size.py

clean: ## removes everything that the other targets created, the embedded database included
	@test ! -d .local/postgres || $(BIN)/python -m config.embedded.server
	rm -rf $(VENV) .local staticfiles .mypy_cache .ruff_cache .pytest_cache .hypothesis
