# make demo     a small pipeline on the embedded default, with a live display
# make test     lint, types and the quick tests, in about three minutes; nothing but Python is needed
# make check    what CI adds: races, brokers, processes, a browser, the built wheel; ten minutes
# make night    everything else, in about two hours: all seeds and mutants, crashes, chaos, soak, other servers
# make lint     lint and types alone
# make servers  install what `make check` can use (RabbitMQ, Redis, PgBouncer, Chromium, …) on a Debian-like machine, as root
# make site     the documentation as a site, in site/, readable without a network
# make lock     renew requirements.lock from pyproject.toml
# make sbom     the packages that Sluice runs on, as CycloneDX, in sluice.cdx.json; asks PyPI for them
# make audit    look for known vulnerabilities in the locked packages; asks PyPI
# make clean    remove what was made here, .venv included (not .sluice, which may hold a ledger)
#
# All of them need Python 3.11 or newer, called python3 or named by PYTHON=…. tests/README.md describes the tiers.
# Tests run in as many processes as there are cores, at most four. PYTEST_ARGS="-k walk -x" chooses among them;
# PYTEST_ARGS="-n 0" runs them in one process. A missing server or program skips its tests; CI=true requires all.

PYTHON ?= python3
bin = .venv/bin
pytest = $(bin)/python -m pytest --quiet --numprocesses auto --maxprocesses 4 --dist worksteal

demo: .venv/installed
	@$(bin)/python -m sluice.ops.tools.demo

test: lint
	@$(pytest) --tier test $(PYTEST_ARGS)

check: .venv/complete
	@$(pytest) --tier check $(PYTEST_ARGS)

night: .venv/complete
	@PYTEST_ARGS="$(PYTEST_ARGS)" sh ops/setup/night.sh

lint: .venv/tested
	@$(bin)/ruff check --quiet .
	@$(bin)/ruff format --quiet --check . || { echo "make lint: run .venv/bin/ruff format ." >&2; exit 1; }
	@$(bin)/mypy --no-error-summary

servers: .venv/installed
	@sh ops/setup/services.sh

# Not --quiet, with which mkdocs counts no warnings. The variable silences a notice about Material's successor.
site: .venv/complete
	@NO_MKDOCS_2_WARNING=1 $(bin)/mkdocs build --strict --config-file ops/setup/mkdocs.yml

lock: .venv/installed
	@sh ops/setup/lock.sh

sbom: .venv/installed
	@sh ops/setup/sbom.sh

audit: .venv/installed
	@sh ops/setup/audit.sh

clean:
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site sluice.cdx.json *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv: .venv/complete

# Each stamp is younger than what it was installed from, or the environment is brought up to date.
.venv/installed: requirements.lock pyproject.toml ops/setup/venv.sh
	@PYTHON="$(PYTHON)" sh ops/setup/venv.sh running
	@touch $@

.venv/tested: .venv/installed
	@sh ops/setup/venv.sh testing
	@touch $@

.venv/complete: .venv/tested
	@sh ops/setup/venv.sh complete
	@touch $@

.PHONY: demo test check night lint servers site lock sbom audit clean .venv
